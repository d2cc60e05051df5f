//! `replay`: a session again from its journal, and under another policy.

use std::io::Write;
use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{Body, Event, SessionId};
use checkrein::journal::{JournalError, read_export, verify_export};
use checkrein::past::{Difference, Past, differences};
use checkrein::replay::{Divergence, Replayed, replay};
use serde_json::json;

use super::policy_file::{read, source};
use crate::arguments::Replay;
use crate::context::Context;
use crate::view::{of_rule, printable, recorded_call};

pub(super) fn run(arguments: &Replay, context: &Context) -> Result<u8, HarnessError> {
    let mut out = context.out();
    if let Some(path) = &arguments.file {
        let text = read(path)?;
        let no_export = |error: JournalError| {
            let why = match error {
                JournalError::Damaged(fault) => format!("line {}: {}", fault.seq, fault.problem),
                other => other.to_string(),
            };
            super::usage(format!("{}: this is no exported journal: {why}", path.display()))
        };
        let events = read_export(text.lines()).map_err(no_export)?;
        let session = session_of(&events);
        if let Some(policy) = &arguments.policy {
            return under(policy, &Past::of(&session, events), arguments.json, &mut *out);
        }
        let code = one(&session, &events, arguments.json, &mut *out);
        // Whoever changed a line may have kept everything else in order.
        if let Err(fault) = verify_export(text.lines(), None) {
            context.complain(&format!("the chain is broken: {fault}"));
            return Ok(1);
        }
        return Ok(code);
    }
    let store = context.store()?;
    let sessions = match &arguments.session {
        Some(prefix) => vec![store.find(prefix)?],
        None => store.sessions()?.into_iter().rev().map(|row| row.id).collect(),
    };
    if let Some(policy) = &arguments.policy {
        return under(policy, &Past::read(&*store, &sessions)?, arguments.json, &mut *out);
    }
    let mut code = 0;
    for session in &sessions {
        match store.read(session, 1) {
            Ok(events) => code = one(session, &events, arguments.json, &mut *out).max(code),
            // Of all sessions, those are done again that are whole.
            Err(JournalError::MissingBlob { .. }) if arguments.session.is_none() => {
                let line = json!({ "session": session, "pruned": true });
                _ = if arguments.json { writeln!(out, "{line}") } else { writeln!(out, "{session}  was pruned") };
            }
            Err(error) => return Err(error.into()),
        }
    }
    if sessions.is_empty() && !arguments.json {
        _ = writeln!(out, "the journal is empty");
    }
    Ok(code)
}

fn session_of(events: &[Event]) -> SessionId {
    match events.first().map(|event| &event.body) {
        Some(Body::Session(opened)) => opened.session.clone(),
        _ => SessionId::new("this file"),
    }
}

/// One session again; the exit code.
fn one(session: &SessionId, events: &[Event], json: bool, out: &mut dyn Write) -> u8 {
    match (replay(events), json) {
        (Ok(replayed), true) => {
            let Replayed { events, requests, proposals, decisions, results, taken } = replayed;
            let line = json!({
                "session": session, "same": true, "events": events, "requests": requests, "proposals": proposals,
                "decisions": decisions, "results": results, "results_taken": taken,
            });
            _ = writeln!(out, "{line}");
            0
        }
        (Ok(replayed), false) => {
            _ = writeln!(out, "{session}  the same again: {}", summary(&replayed));
            0
        }
        (Err(divergence), true) => {
            let Divergence { seq, kind, pointer, expected, found, note, .. } = *divergence;
            let line = json!({
                "session": session, "same": false, "seq": seq, "type": kind, "pointer": pointer, "expected": expected,
                "found": found, "note": note,
            });
            _ = writeln!(out, "{line}");
            1
        }
        (Err(divergence), false) => {
            let Divergence { seq, kind, pointer, expected, found, note, .. } = *divergence;
            let place = if pointer.is_empty() { String::new() } else { format!(" at {}", printable(&pointer)) };
            _ = writeln!(out, "{session}  NOT the same: event {seq}, {kind}{place}");
            _ = writeln!(out, "  expected  {}", printable(&expected));
            _ = writeln!(out, "  found     {}", printable(&found));
            if let Some(note) = note {
                _ = writeln!(out, "  note      {note}");
            }
            1
        }
    }
}

fn summary(replayed: &Replayed) -> String {
    let Replayed { events, requests, proposals, decisions, results, taken } = replayed;
    let count = |number: &usize, what: &str| format!("{number} {what}{}", if *number == 1 { "" } else { "s" });
    let of_tools = if *taken > 0 { format!(" ({taken} as tools gave them)") } else { String::new() };
    format!(
        "{}, {}, {}, {}{of_tools}, in {}",
        count(requests, "request"),
        count(proposals, "proposal"),
        count(decisions, "decision"),
        count(&(results + taken), "result"),
        count(events, "event")
    )
}

/// The first decision that another policy would give otherwise. What would have come after it, nobody knows.
fn under(policy: &Path, past: &Past, json: bool, out: &mut dyn Write) -> Result<u8, HarnessError> {
    let (before, after) = (past.judged(None)?, past.judged(Some(&source(policy)?))?);
    let found = differences(&before, &after);
    let first = found.iter().filter_map(|one| Some((*one.calls.iter().min()?, one))).min_by_key(|(call, _)| *call);
    let Some((at, Difference { from, to, old, new, .. })) = first else {
        let total = past.calls().len();
        let line = json!({ "same": true, "decisions": total });
        _ = if json { writeln!(out, "{line}") } else { writeln!(out, "all {total} decisions would be the same") };
        return Ok(0);
    };
    let Some(call) = past.calls().get(at) else { return Ok(0) };
    if json {
        let line = json!({
            "same": false, "session": call.session, "seq": call.seq, "call": call.call, "tool": call.tool,
            "args": call.args, "from": from, "to": to, "old": old, "new": new, "same_before": at,
        });
        _ = writeln!(out, "{line}");
    } else {
        _ = writeln!(out, "{from} -> {to}  {}", printable(&recorded_call(call)));
        _ = writeln!(out, "  before  {}", of_rule(old.as_ref()));
        _ = writeln!(out, "  after   {}", of_rule(new.as_ref()));
        _ = writeln!(out, "  event {}; {at} before it would be the same", call.seq);
    }
    Ok(if to < from { 11 } else { 10 })
}
