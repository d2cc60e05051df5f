//! `journal prune`: what would go is shown, and goes after a yes.

use std::io::Write;

use checkrein::gate::Clock as _;
use checkrein::journal::Pruned;
use checkrein::prune::{Choice, choose, remove, would_remove};
use checkrein::{HarnessError, SystemClock};
use serde_json::json;

use super::sessions;
use crate::arguments::JournalPrune;
use crate::commands::duration_ms;
use crate::context::Context;
use crate::view::{printable, time_of};

pub(super) fn run(arguments: &JournalPrune, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let older_than = duration_ms("--older-than", &arguments.older_than)?;
    let named = if arguments.sessions.is_empty() { Vec::new() } else { sessions(&*store, &arguments.sessions)? };
    let now = SystemClock::new().now_ms();
    let choice = choose(&*store, &named, older_than, now)?;
    let would = would_remove(&*store, &choice)?;
    let mut out = context.out();
    if !arguments.json {
        show(&mut *out, &choice, &would);
    }
    let done = !would.is_empty() && agreed(arguments, context)?;
    let lost = if done {
        let person = arguments.by.as_deref().unwrap_or(&context.person);
        remove(&*store, &context.state()?, &choice, person, now)?
    } else {
        would
    };
    if arguments.json {
        for loss in &lost {
            let line =
                json!({ "session": loss.session, "payloads": loss.payloads, "bytes": loss.bytes, "removed": done });
            _ = writeln!(out, "{line}");
        }
    } else if done {
        _ = writeln!(out, "removed; the events are all there, and `journal verify` says what they lost");
    } else if !lost.is_empty() {
        _ = writeln!(out, "nothing was removed; to do it, say --yes");
    }
    Ok(0)
}

fn agreed(arguments: &JournalPrune, context: &Context) -> Result<bool, HarnessError> {
    Ok(arguments.yes || context.interactive && !arguments.json && context.confirmed("Remove this for good?")?)
}

fn show(out: &mut dyn Write, choice: &Choice, would: &[Pruned]) {
    for loss in would {
        let row = choice.chosen.iter().find(|row| row.id == loss.session);
        let (since, task) = row.map_or_else(Default::default, |row| (time_of(row.created_at), printable(&row.task)));
        let (payloads, kilobytes) = (loss.payloads, loss.bytes.div_ceil(1_000));
        _ = writeln!(out, "{}  {since}  {payloads:>4} payloads {kilobytes:>6} KB  {task}", loss.session);
    }
    if would.is_empty() {
        _ = writeln!(out, "nothing is old enough, or nothing of it is left to remove");
    } else {
        _ = writeln!(out, "these sessions can be verified and exported then, and no longer shown or taken up again");
    }
    if !choice.waiting.is_empty() {
        let names: Vec<&str> = choice.waiting.iter().map(|session| session.as_str()).collect();
        _ = writeln!(out, "kept, since they can still be taken up again (name one to prune it): {}", names.join(", "));
    }
}
