//! `approvals`: list and answer requests.

use std::io::Write as _;

use checkrein::approvals::{Listed, Offer, Rule, Word, answer, find, forget, list, offer, remember, rule, rules};
use checkrein::contract::{ApprovalState, SessionId};
use checkrein::gate::Clock as _;
use checkrein::journal::EventStore;
use checkrein::session::RecordedRule;
use checkrein::{HarnessError, SystemClock};
use serde_json::{Value, json};

use super::duration_ms;
use crate::arguments::{Approvals, Approve, Deny, ListApprovals, OneApproval};
use crate::context::Context;
use crate::view::{
    arguments_in_lines, call_in_a_line, hosts_in_plain_letters, print_offer, printable, recorded_call, time_of,
};

/// Keys of a rule that say what it is about.
const WHAT: [&str; 5] = ["program", "paths", "hosts", "tool", "effect"];

pub(super) fn run(arguments: Approvals, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Approvals::List(arguments) => list_all(&arguments, context),
        Approvals::Show(arguments) => show(&arguments, context),
        Approvals::Approve(arguments) => approve(&arguments, context),
        Approvals::Deny(arguments) => {
            let word = Word::Deny { reason: arguments.reason.clone() };
            record(&arguments, &word, context)
        }
        Approvals::Revoke(arguments) if is_rule(&arguments.id) => revoke_rule(&arguments, context),
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

/// Remembered yeses have names of their own.
fn is_rule(id: &str) -> bool {
    id.starts_with("r-")
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
    for rule in rules(&*store)? {
        let Rule { session, recorded } = &rule;
        if arguments.json {
            _ = writeln!(out, "{}", rule_object(&rule));
        } else if recorded.forgotten.is_none() || arguments.all {
            let (id, at) = (&recorded.remembered.rule, time_of(recorded.at));
            let what = summary(&recorded.remembered.text);
            _ = writeln!(out, "{id}  {:<10} {at}  {} in {session}", rule_state(&rule), printable(&what));
            shown += 1;
        }
    }
    if shown == 0 && !arguments.json {
        _ = writeln!(out, "nothing waits for approval");
    }
    Ok(0)
}

fn rule_state(rule: &Rule) -> &'static str {
    if rule.recorded.forgotten.is_some() { "revoked" } else { "remembered" }
}

/// What the rules are about: effect and the key that names what.
fn summary(text: &str) -> String {
    let named = |line: &&str| line.split(" = ").next().is_some_and(|key| WHAT.contains(&key));
    let mut all: Vec<String> = text.lines().filter(named).map(str::to_owned).collect();
    // The commands of a call stand in each of its rules.
    let commands = text
        .lines()
        .find_map(|line| line.split_once("commands = "))
        .and_then(|(_, rest)| serde_json::Deserializer::from_str(rest).into_iter::<Vec<Vec<String>>>().next()?.ok());
    all.extend(commands.into_iter().flatten().map(|words| format!("`{}`", words.join(" "))));
    all.dedup();
    all.join(", ")
}

fn rule_object(rule: &Rule) -> Value {
    let RecordedRule { remembered, by, at, forgotten } = &rule.recorded;
    json!({
        "id": remembered.rule,
        "session": rule.session,
        "request": remembered.request,
        "rules": remembered.text,
        "by": by,
        "at": at,
        "revoked_by": forgotten.as_ref().map(|(by, _)| by),
        "state": rule_state(rule),
    })
}

fn show_rule(rule: &Rule, json: bool, context: &Context) {
    let mut out = context.out();
    if json {
        _ = writeln!(out, "{}", rule_object(rule));
        return;
    }
    let RecordedRule { remembered, by, at, forgotten } = &rule.recorded;
    let mut row = |name: &str, value: &str| _ = writeln!(out, "  {name:<12} {}", printable(value));
    row("remembered", remembered.rule.as_str());
    row("state", rule_state(rule));
    row("session", rule.session.as_str());
    row("request", remembered.request.as_str());
    row("by", &format!("{by}, {}", time_of(*at)));
    if let Some((by, reason)) = forgotten {
        row("revoked by", &format!("{by} {reason}"));
    }
    for line in remembered.text.lines().filter(|line| !line.is_empty()) {
        row("", line);
    }
}

fn revoke_rule(arguments: &Deny, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let by = arguments.by.as_deref().unwrap_or(&context.person);
    let rule = forget(&*store, &context.state()?, &context.redactor()?, &arguments.id, by, &arguments.reason, now())?;
    if arguments.json {
        _ = writeln!(context.out(), "{}", rule_object(&rule));
    } else {
        let RecordedRule { remembered, .. } = &rule.recorded;
        _ = writeln!(context.out(), "{}: what it let run in {} is asked about again", remembered.rule, rule.session);
    }
    Ok(0)
}

fn show(arguments: &OneApproval, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    if is_rule(&arguments.id) {
        show_rule(&rule(&*store, &arguments.id)?, arguments.json, context);
        return Ok(0);
    }
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
    for host in hosts_in_plain_letters(&request.effects) {
        row("host", &host);
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
    if arguments.remember {
        return remembered(arguments, &*store, session.as_ref(), by, for_ms, context);
    }
    let word = Word::Approve { for_ms };
    let listed = answer(&*store, &context.redactor()?, &arguments.id, session.as_ref(), by, &word, now())?;
    said(&listed, arguments.json, context);
    Ok(0)
}

/// A yes that is to count for more: shown as what it is, and recorded once the person agrees to that.
fn remembered(
    arguments: &Approve,
    store: &dyn EventStore,
    session: Option<&SessionId>,
    by: &str,
    for_ms: Option<u64>,
    context: &Context,
) -> Result<u8, HarnessError> {
    let offer = offer(store, &arguments.id, session, by, now())?;
    if arguments.json {
        _ = writeln!(context.out(), "{}", offered(&offer));
    } else {
        print_offer(&mut *context.out(), &offer);
    }
    if !arguments.yes && !context.confirmed("Let it count from here on?")? {
        return Ok(1);
    }
    let listed = remember(store, &context.state()?, &offer, session, by, for_ms, now())?;
    said(&listed, arguments.json, context);
    Ok(0)
}

fn offered(offer: &Offer) -> Value {
    let named = |calls: &[usize]| -> Vec<String> {
        calls.iter().filter_map(|at| offer.past.calls().get(*at)).map(recorded_call).collect()
    };
    let changes = offer.differences.iter();
    let changes: Vec<Value> =
        changes.map(|one| json!({ "from": one.from, "to": one.to, "calls": named(&one.calls) })).collect();
    let remembered = &offer.remembered;
    json!({
        "rule": remembered.rule, "session": offer.session, "rules": remembered.text, "changes": changes,
        "total": offer.past.calls().len(),
    })
}

fn record(arguments: &Deny, word: &Word, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let by = arguments.by.as_deref().unwrap_or(&context.person);
    let listed = answer(&*store, &context.redactor()?, &arguments.id, None, by, word, now())?;
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
