//! `sessions`, `show`, `export`.

use std::io::Write as _;

use checkrein::contract::{Body, CallId};
use checkrein::prefix::prefixes;
use checkrein::{HarnessError, Observer as _};
use serde_json::json;

use crate::arguments::{Export, Listing, Show};
use crate::context::Context;
use crate::view::{JsonLines, of_call, prefix, prefix_lines, printable, story, time_of, why};

/// The status of a session that ended without a word: its process was killed, or the machine was.
const LEFT: &str = "broken off";

pub(super) fn list(arguments: &Listing, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let sessions = store.sessions()?;
    let mut out = context.out();
    if sessions.is_empty() && !arguments.json {
        _ = writeln!(out, "no sessions yet; begin one with `{} run TASK`", context.program);
    }
    let state = context.state()?;
    let mut some_left = false;
    for row in sessions {
        let left = row.status.is_none() && state.is_left(&row.id);
        if arguments.json {
            let line = json!({
                "session": row.id, "task": row.task, "model": row.model, "status": row.status_word(),
                "created_at": row.created_at, "events": row.head.seq, "journal_head": row.head.hash, "left": left,
            });
            _ = writeln!(out, "{line}");
        } else {
            let task = printable(&row.task);
            _ = writeln!(
                out,
                "{}  {}  {:<16} {:>4} events  {task}",
                row.id,
                time_of(row.created_at),
                if left { LEFT } else { row.status_word() },
                row.head.seq
            );
        }
        some_left |= left;
    }
    if some_left && !arguments.json {
        let program = &context.program;
        _ = writeln!(out, "what was {LEFT} has no process any more; go on with `{program} resume SESSION`");
    }
    Ok(0)
}

pub(super) fn show(arguments: &Show, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let session = store.find(&arguments.session)?;
    let events = store.read(&session, 1)?;
    if arguments.prefix {
        let rows = prefixes(&events)?;
        if arguments.json {
            prefix_lines(&mut *context.out(), &rows)
        } else {
            prefix(&mut *context.out(), &rows)
        }
        return Ok(0);
    }
    let call = arguments.why.as_ref().map(|call| CallId::new(call.as_str()));
    if arguments.json {
        let mut lines = JsonLines::new(context.out());
        let told = call.map_or_else(|| Ok(events.iter().collect()), |call| of_call(&events, &call))?;
        told.into_iter().for_each(|event| lines.event(event));
        return Ok(0);
    }
    let mut out = context.out();
    match call {
        Some(call) => why(&mut *out, &events, &call)?,
        None => {
            story(&mut *out, &events, arguments.full, &|session| store.read(session, 1).ok());
            let last = events.iter().rev().find(|event| matches!(event.body, Body::Stop(_) | Body::Resumed { .. }));
            if !last.is_some_and(|event| matches!(event.body, Body::Stop(_))) && context.state()?.is_left(&session) {
                let program = &context.program;
                _ = writeln!(out, "\n{LEFT}: no process drives it any more; go on with `{program} resume {session}`");
            }
        }
    }
    Ok(0)
}

pub(super) fn export(arguments: &Export, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let session = store.find(&arguments.session)?;
    let lines = if arguments.transcript {
        checkrein::journal::transcript_lines(&store.read(&session, 1)?)
    } else {
        checkrein::journal::export_lines(&*store, &session)?
    };
    let mut out = context.out();
    for line in lines {
        _ = writeln!(out, "{line}");
    }
    Ok(0)
}
