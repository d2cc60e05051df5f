//! `journal`: prove what is in it.

use std::io::Write as _;

use checkrein::HarnessError;
use checkrein::contract::Digest;
use checkrein::journal::Head;
use checkrein::verify::verify;
use serde_json::json;

use super::usage;
use crate::arguments::{Journal, JournalVerify};
use crate::context::Context;

pub(super) fn run(arguments: Journal, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Journal::Verify(arguments) => verify_sessions(&arguments, context),
    }
}

fn verify_sessions(arguments: &JournalVerify, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let sessions = match &arguments.session {
        Some(prefix) => vec![store.find(prefix)?],
        None => store.sessions()?.into_iter().map(|row| row.id).collect(),
    };
    let anchor = arguments.anchor.as_deref().map(head).transpose()?;
    let mut out = context.out();
    let mut faults = 0;
    for session in &sessions {
        match verify(&*store, session, anchor.as_ref())? {
            Ok(report) if arguments.json => {
                let line = json!({
                    "session": session, "ok": true, "events": report.events, "holds": report.holds,
                    "head": format!("{}:{}", report.head.seq, report.head.hash),
                });
                _ = writeln!(out, "{line}");
            }
            Ok(report) => {
                _ = writeln!(out, "{session}  ok, {} events: {}", report.events, report.holds.join(" "));
            }
            Err(fault) => {
                faults += 1;
                if arguments.json {
                    let line = json!({
                        "session": session, "ok": false, "seq": fault.seq, "invariant": fault.invariant,
                        "problem": fault.problem,
                    });
                    _ = writeln!(out, "{line}");
                } else {
                    _ = writeln!(
                        out,
                        "{session}  NOT ok, {} broken at event {}: {}",
                        fault.invariant, fault.seq, fault.problem
                    );
                }
            }
        }
    }
    if sessions.is_empty() && !arguments.json {
        _ = writeln!(out, "the journal is empty");
    }
    Ok(u8::from(faults > 0))
}

fn head(text: &str) -> Result<Head, HarnessError> {
    let parsed =
        text.split_once(':').and_then(|(seq, hash)| Some(Head { seq: seq.parse().ok()?, hash: Digest::parse(hash)? }));
    parsed.ok_or_else(|| usage(format!("--anchor {text}: write SEQ:HASH, as `journal verify --json` prints it")))
}
