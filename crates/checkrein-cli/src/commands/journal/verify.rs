//! `journal verify`: what holds of each session, or the first event that does not, and why.

use std::io::Write;
use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{Digest, SessionId};
use checkrein::journal::Head;
use checkrein::verify::{Anchors, Fault, Report, verify, verify_lines};
use serde_json::json;

use super::sessions;
use crate::arguments::JournalVerify;
use crate::commands::policy_file::read;
use crate::commands::usage;
use crate::context::Context;
use crate::view::printable;

type Found = Result<Report, Fault>;

pub(super) fn run(arguments: &JournalVerify, context: &Context) -> Result<u8, HarnessError> {
    let anchors = match &arguments.against {
        Some(path) => Anchors::read(&read(path)?)?,
        None => Anchors::default(),
    };
    let found = match &arguments.file {
        Some(path) => of_file(path, &anchors)?,
        None => of_journal(arguments, anchors, context)?,
    };
    let mut out = context.out();
    for one in &found {
        _ = writeln!(out, "{}", if arguments.json { in_json(one) } else { in_words(one) });
    }
    if found.is_empty() && !arguments.json {
        _ = writeln!(out, "the journal is empty");
    }
    Ok(u8::from(found.iter().any(Result::is_err)))
}

fn of_journal(arguments: &JournalVerify, anchors: Anchors, context: &Context) -> Result<Vec<Found>, HarnessError> {
    let store = context.store()?;
    let named: Vec<String> = arguments.session.iter().cloned().collect();
    let sessions = sessions(&*store, &named)?;
    let anchors = match (&arguments.anchor, sessions.first()) {
        (Some(text), Some(session)) => Anchors::of(session.clone(), noted(text)?),
        _ => anchors,
    };
    let mut found = sessions.iter().map(|session| verify(&*store, session, &anchors)).collect::<Result<Vec<_>, _>>()?;
    if arguments.session.is_none() {
        found.extend(gone(&anchors, &sessions));
    }
    Ok(found)
}

fn of_file(path: &Path, anchors: &Anchors) -> Result<Vec<Found>, HarnessError> {
    let found = verify_lines(&read(path)?, anchors)?;
    if found.is_empty() {
        return Err(usage(format!("{}: there is no line in it", path.display())));
    }
    let session = |one: &Found| match one {
        Ok(report) => report.session.clone(),
        Err(fault) => fault.session.clone(),
    };
    let there: Vec<SessionId> = found.iter().map(session).collect();
    // A file holds what was exported, and kept heads may be of more.
    let found = if there.len() > 1 { found.into_iter().chain(gone(anchors, &there)).collect() } else { found };
    Ok(found)
}

/// The sessions that heads were kept of and that are not there.
fn gone(anchors: &Anchors, there: &[SessionId]) -> Vec<Found> {
    let missing = anchors.sessions().into_iter().filter(|session| !there.contains(session));
    missing.filter_map(|session| anchors.gone(&session)).map(Err).collect()
}

fn in_json(found: &Found) -> String {
    let line = match found {
        Ok(report) => json!({
            "session": report.session, "ok": true, "events": report.events, "holds": report.holds,
            "head": format!("{}:{}", report.head.seq, report.head.hash),
            "signed_by": report.signed.as_ref().map(|signed| &signed.key), "pruned": report.pruned,
            "notes": report.notes,
        }),
        Err(fault) => json!({
            "session": fault.session, "ok": false, "seq": fault.seq, "invariant": fault.invariant,
            "problem": fault.problem,
        }),
    };
    line.to_string()
}

fn in_words(found: &Found) -> String {
    match found {
        Ok(report) => {
            let signed = if report.signed.is_some() { "" } else { "; no signed head" };
            let pruned = match report.pruned.as_slice() {
                [] => String::new(),
                events => {
                    let events: Vec<String> = events.iter().map(u64::to_string).collect();
                    format!(
                        "; payloads of events {} were pruned, so invariants can not be looked at",
                        events.join(", ")
                    )
                }
            };
            let (session, events, holds) = (&report.session, report.events, report.holds.join(" "));
            let notes: String = report.notes.iter().map(|note| format!("; {note}")).collect();
            format!("{session}  ok, {events} events: {holds}{signed}{pruned}{notes}")
        }
        Err(fault) => {
            let (session, invariant, seq) = (printable(fault.session.as_str()), fault.invariant, fault.seq);
            format!("{session}  NOT ok, {invariant} broken at event {seq}: {}", printable(&fault.problem))
        }
    }
}

fn noted(text: &str) -> Result<Head, HarnessError> {
    let parsed =
        text.split_once(':').and_then(|(seq, hash)| Some(Head { seq: seq.parse().ok()?, hash: Digest::parse(hash)? }));
    parsed.ok_or_else(|| usage(format!("--anchor {text}: write SEQ:HASH, as `journal verify --json` prints it")))
}
