//! `approvals`: list and answer requests.

use std::io::Write as _;

use checkrein::approvals::{Listed, Word, answer, find, list};
use checkrein::contract::ApprovalState;
use checkrein::gate::Clock as _;
use checkrein::{HarnessError, SystemClock};
use serde_json::{Value, json};

use super::duration_ms;
use crate::arguments::{Approvals, Approve, Deny, ListApprovals, OneApproval};
use crate::context::Context;
use crate::view::{arguments_in_lines, call_in_a_line, printable, time_of};

pub(super) fn run(arguments: Approvals, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Approvals::List(arguments) => list_all(&arguments, context),
        Approvals::Show(arguments) => show(&arguments, context),
        Approvals::Approve(arguments) => approve(&arguments, context),
        Approvals::Deny(arguments) => {
            let word = Word::Deny { reason: arguments.reason.clone() };
            record(&arguments, &word, context)
        }
        Approvals::Revoke(arguments) => {
            let word = Word::Revoke { reason: arguments.reason.clone() };
            record(&arguments, &word, context)
        }
        Approvals::Withdraw(arguments) => {
            let word = Word::Withdraw { reason: arguments.reason.clone() };
            record(&arguments, &word, context)
        }
    }
}

fn now() -> u64 {
    SystemClock::new().now_ms()
}

fn object(listed: &Listed) -> Value {
    let request = listed.request();
    json!({
        "id": request.id,
        "session": request.session,
        "tool": request.tool,
        "arguments": request.arguments,
        "effects": request.effects,
        "reason": request.reason,
        "identity": request.identity,
        "approvers": request.approvers,
        "answered_by": listed.approval.answered_by(),
        "binds": request.binds,
        "rests_on": request.rests_on,
        "policy": request.policy,
        "requested_at": request.requested_at,
        "expires_at": request.expires_at,
        "uses_left": listed.uses_left(),
        "state": listed.state,
    })
}

fn list_all(arguments: &ListApprovals, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let mut out = context.out();
    let mut shown = 0;
    for listed in list(&*store, now())? {
        let waits = matches!(listed.state, ApprovalState::Pending | ApprovalState::Approved);
        if arguments.json {
            _ = writeln!(out, "{}", object(&listed));
        } else if waits || arguments.all {
            let request = listed.request();
            _ = writeln!(
                out,
                "{}  {:<9} {}  {} {}",
                request.id,
                listed.state.as_str(),
                time_of(request.requested_at),
                printable(&request.tool),
                call_in_a_line(&request.arguments)
            );
            shown += 1;
        }
    }
    if shown == 0 && !arguments.json {
        _ = writeln!(out, "nothing waits for approval");
    }
    Ok(0)
}

fn show(arguments: &OneApproval, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let listed = find(&*store, &arguments.id, now())?;
    let mut out = context.out();
    if arguments.json {
        _ = writeln!(out, "{}", object(&listed));
        return Ok(0);
    }
    let request = listed.request();
    let mut row = |name: &str, value: &str| _ = writeln!(out, "  {name:<12} {value}");
    row("request", request.id.as_str());
    row("state", listed.state.as_str());
    row("session", request.session.as_str());
    row("why", &printable(&request.reason));
    row("tool", &printable(&request.tool));
    for (name, value) in arguments_in_lines(&request.arguments) {
        row(&format!("  {name}"), &value);
    }
    for effect in &request.effects {
        row("would do", &printable(&serde_json::to_string(effect).unwrap_or_default()));
    }
    for (name, value) in &request.identity.0 {
        row("for", &format!("{}: {}", printable(name), printable(value)));
    }
    for who in request.approvers.words() {
        row("who may", &printable(&who));
    }
    if let Some(by) = listed.approval.answered_by() {
        row("answered by", &printable(&by.to_string()));
    }
    row("asked", &time_of(request.requested_at));
    row("expires", &time_of(request.expires_at));
    for dependency in &request.rests_on {
        row("rests on", &printable(&dependency.what));
    }
    row("binds", request.binds.as_str());
    Ok(0)
}

fn approve(arguments: &Approve, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let for_ms = arguments.expires.as_deref().map(|text| duration_ms("--expires", text)).transpose()?;
    let session = arguments.session.as_deref().map(|prefix| store.find(prefix)).transpose()?;
    let by = arguments.by.as_deref().unwrap_or(&context.person);
    let word = Word::Approve { for_ms };
    let listed = answer(&*store, &arguments.id, session.as_ref(), by, &word, now())?;
    said(&listed, arguments.json, context);
    Ok(0)
}

fn record(arguments: &Deny, word: &Word, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let by = arguments.by.as_deref().unwrap_or(&context.person);
    let listed = answer(&*store, &arguments.id, None, by, word, now())?;
    said(&listed, arguments.json, context);
    Ok(0)
}

fn said(listed: &Listed, json: bool, context: &Context) {
    let mut out = context.out();
    if json {
        _ = writeln!(out, "{}", object(listed));
        return;
    }
    let request = listed.request();
    let call = format!("{} {}", printable(&request.tool), call_in_a_line(&request.arguments));
    _ = writeln!(out, "{}: {} is {}", request.id, call, listed.state.as_str());
    _ = writeln!(out, "next: {} resume {}", context.program, request.session);
}
