//! `fork`: a new session that begins with the first events of another.

use std::io::Write;

use checkrein::{Fork, ForkOptions, ForkedWorkspace, HarnessError};
use serde_json::json;

use super::usage;
use crate::arguments::ForkArguments;
use crate::context::Context;
use crate::view::{call_in_a_line, printable};

/// Calls that are named of those which came later.
const SHOWN: usize = 6;

pub(super) fn run(arguments: &ForkArguments, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let (session, upto) = match arguments.session.split_once('@') {
        None => (arguments.session.as_str(), None),
        Some((session, number)) => {
            let wrong = || usage(format!("{}: write SESSION@N, N the number of an event", arguments.session));
            (session, Some(number.parse().map_err(|_| wrong())?))
        }
    };
    let from = harness.store.find(session)?;
    let options = ForkOptions {
        person: arguments.by.clone().unwrap_or_else(|| context.person.clone()),
        upto,
        model: arguments.model.clone(),
        policy: arguments.policy.clone(),
        words: (!arguments.words.is_empty()).then(|| arguments.words.join(" ")),
    };
    let fork = harness.fork(&from, &options)?;
    let mut out = context.out();
    if arguments.json {
        let later: Vec<_> = fork.later.iter().map(|touch| json!({ "call": touch.call, "tool": touch.tool })).collect();
        let workspace = match fork.workspace {
            ForkedWorkspace::Fresh => "fresh",
            ForkedWorkspace::Copy => "copy",
            ForkedWorkspace::Same => "same",
        };
        let line = json!({
            "session": fork.session, "from": fork.from, "seq": fork.seq, "workspace": workspace, "later": later,
            "next": fork.next,
        });
        _ = writeln!(out, "{line}");
    } else {
        print(&mut *out, &fork, context);
    }
    Ok(0)
}

fn print(out: &mut dyn Write, fork: &Fork, context: &Context) {
    let bold = anstyle::Style::new().bold();
    let Fork { session, from, seq, events, .. } = fork;
    _ = writeln!(out, "{bold}{session}{bold:#}  forked from {from} behind event {seq} of {events}");
    let workspace = match fork.workspace {
        ForkedWorkspace::Fresh => "a fresh copy of the task folder: by then nothing had been changed".to_owned(),
        ForkedWorkspace::Copy => format!("a copy of what {from} has now"),
        ForkedWorkspace::Same => "the same folder, as it is now".to_owned(),
    };
    let mut row = |name: &str, value: &str| _ = writeln!(out, "  {name:<10} {value}");
    row("workspace", &workspace);
    for (index, touch) in fork.later.iter().take(SHOWN).enumerate() {
        let lead = if index == 0 { "with" } else { "" };
        let call = format!("{} {}", printable(&touch.tool), call_in_a_line(&touch.args));
        row(lead, &format!("what {} did later: {call}", touch.call));
    }
    if fork.later.len() > SHOWN {
        row("", &format!("and {} more", fork.later.len() - SHOWN));
    }
    row("comes next", &printable(&fork.next));
    row("next", &format!("{bold}{} resume {session}{bold:#}", context.program));
}
