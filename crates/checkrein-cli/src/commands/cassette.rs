//! `cassette`: recorded answers of models, checked, recorded anew, and made from sessions.

use std::fs;
use std::io::Write as _;

use checkrein::cassette::{self, Report};
use checkrein::contract::{OnAsk, Status};
use checkrein::{HarnessError, RunOptions};
use serde_json::json;

use super::run::{drive, front};
use super::{duration_ms, usage};
use crate::arguments::{Cassette, CassetteCheck, CassetteFromSession, CassetteRefresh};
use crate::context::Context;
use crate::view::printable;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

pub(super) fn run(arguments: Cassette, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Cassette::Check(arguments) => check(&arguments, context),
        Cassette::Refresh(arguments) => refresh(&arguments, context),
        Cassette::FromSession(arguments) => from_session(&arguments, context),
    }
}

fn check(arguments: &CassetteCheck, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let most_days = duration_ms("--older-than", &arguments.older_than)? / DAY_MS;
    let mut files = Vec::new();
    for path in &arguments.paths {
        files.extend(cassette::find(path)?);
    }
    let (mut stale, mut wrong) = (0, 0);
    let mut out = context.out();
    for file in &files {
        let report = cassette::check(&harness, file, most_days);
        stale += usize::from(!report.stale.is_empty());
        wrong += usize::from(!report.wrong.is_empty());
        if arguments.json {
            _ = writeln!(out, "{}", line(&report));
        } else {
            tell(&mut out, &report);
        }
    }
    let bad = wrong > 0 || stale > arguments.stale;
    if arguments.json {
        let answer = json!({ "cassettes": files.len(), "stale": stale, "wrong": wrong, "ok": !bad });
        _ = writeln!(out, "{answer}");
    } else {
        _ = writeln!(out, "{} cassettes, {stale} stale, {wrong} with something wrong", files.len());
    }
    Ok(u8::from(bad))
}

fn line(report: &Report) -> serde_json::Value {
    json!({
        "file": report.file,
        "bytes": report.bytes,
        "attempts": report.rows.0,
        "calls": report.rows.1,
        "days": report.days,
        "prefix_moves": report.prefix_moves,
        "withheld": report.withheld,
        "stale": report.stale,
        "wrong": report.wrong,
    })
}

fn tell(out: &mut dyn std::io::Write, report: &Report) {
    let (attempts, calls) = report.rows;
    let days = report.days.map_or_else(String::new, |days| format!(", {days} days old"));
    let mut head =
        format!("{}: {attempts} attempts, {calls} calls, {} bytes{days}", report.file.display(), report.bytes);
    if report.prefix_moves > 0 {
        head.push_str(&format!(", {} prefix moves", report.prefix_moves));
    }
    if report.withheld > 0 {
        head.push_str(&format!(", {} answers without their bytes", report.withheld));
    }
    _ = writeln!(out, "{}", printable(&head));
    for (word, all) in [("stale", &report.stale), ("wrong", &report.wrong)] {
        for what in all {
            _ = writeln!(out, "  {word}: {}", printable(what));
        }
    }
}

fn refresh(arguments: &CassetteRefresh, context: &Context) -> Result<u8, HarnessError> {
    let old = cassette::load(&arguments.file)?;
    let beside = cassette::beside(&arguments.file);
    let fail = |error: std::io::Error| HarnessError::Unreadable { path: beside.clone(), reason: error.to_string() };
    let mut out = context.out();
    if arguments.reject {
        fs::remove_file(&beside).map_err(fail)?;
        _ = writeln!(out, "{} is gone, and {} is as it was", beside.display(), arguments.file.display());
        return Ok(0);
    }
    if !beside.exists() {
        if arguments.accept {
            return Err(usage(format!("{} is not there: record it first, without --accept", beside.display())));
        }
        if let Some(code) = record(arguments, &old, context)? {
            return Ok(code);
        }
    } else if arguments.model.is_some() {
        let wrong = "has a recording that nobody has accepted: accept or reject it first";
        return Err(usage(format!("{} {wrong}", beside.display())));
    }
    let changes = cassette::changes(&old, &cassette::load(&beside)?);
    for change in &changes {
        _ = writeln!(out, "{}", printable(change));
    }
    if changes.is_empty() {
        _ = writeln!(out, "nothing a session could tell is different");
    }
    if arguments.accept {
        fs::rename(&beside, &arguments.file).map_err(fail)?;
        _ = writeln!(out, "{} is the new recording", arguments.file.display());
        return Ok(0);
    }
    let program = &context.program;
    _ = writeln!(
        out,
        "the new recording is {}\nto put it in its place, or throw it away:\n  {program} cassette refresh {file} --accept\n  \
         {program} cassette refresh {file} --reject",
        beside.display(),
        file = arguments.file.display()
    );
    Ok(u8::from(!changes.is_empty()))
}

/// Runs the task of a cassette with its model; an exit code where it did not come to an end.
fn record(
    arguments: &CassetteRefresh,
    old: &cassette::Cassette,
    context: &Context,
) -> Result<Option<u8>, HarnessError> {
    let harness = context.harness()?;
    let task = cassette::task(old.header(), &arguments.file, context.folder())?;
    let (task, model) = match &arguments.model {
        Some(model) => (task, Some(model.clone())),
        None => (cassette::with_model(task, &old.header().model), None),
    };
    let record = Some(cassette::beside(&arguments.file));
    let on_ask = Some(task.on_ask.unwrap_or(OnAsk::Pause));
    let options = RunOptions { model, on_ask, record, ..RunOptions::default() };
    let mut session = harness.begin(&task, &options, front(context, false, &[]))?;
    let outcome = drive(&mut session)?;
    let mut out = context.out();
    match outcome.status {
        Status::Completed | Status::BudgetExhausted | Status::Blocked => Ok(None),
        status if status.can_resume() => {
            let (id, program) = (&outcome.session, &context.program);
            _ = writeln!(
                out,
                "{id} waits ({status}): {}\ngo on with `{program} resume {id}`; it is recorded to its end, and this command shows \
                 the differences then",
                printable(&outcome.reason)
            );
            Ok(Some(status.exit_code()))
        }
        status => {
            _ = fs::remove_file(cassette::beside(&arguments.file));
            _ = writeln!(out, "{status}: {}; nothing is kept of it", printable(&outcome.reason));
            Ok(Some(status.exit_code()))
        }
    }
}

fn from_session(arguments: &CassetteFromSession, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let session = harness.store.find(&arguments.session)?;
    harness.cassette_from(&session, &context.folder().join(&arguments.file))?;
    let (attempts, calls) = cassette::load(&arguments.file)?.size();
    _ = writeln!(context.out(), "{}: {attempts} attempts, {calls} calls", arguments.file.display());
    Ok(0)
}
