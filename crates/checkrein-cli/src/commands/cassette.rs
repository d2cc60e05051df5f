//! `cassette`: recorded answers of models, checked, recorded anew, and made from sessions.

mod refresh;

use std::io::Write as _;

use checkrein::HarnessError;
use checkrein::cassette::{self, Report};
use serde_json::json;

use super::duration_ms;
use crate::arguments::{Cassette, CassetteCheck, CassetteFromSession, CassetteReKey};
use crate::context::Context;
use crate::view::printable;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

pub(super) fn run(arguments: Cassette, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Cassette::Check(arguments) => check(&arguments, context),
        Cassette::Refresh(arguments) => refresh::run(&arguments, context),
        Cassette::ReKey(arguments) => re_key(&arguments, context),
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
        "rekeyed": report.rekeyed,
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
    for (word, all) in [("re-keyed", &report.rekeyed), ("stale", &report.stale), ("wrong", &report.wrong)] {
        for what in all {
            _ = writeln!(out, "  {word}: {}", printable(what));
        }
    }
}

fn re_key(arguments: &CassetteReKey, context: &Context) -> Result<u8, HarnessError> {
    let file = &arguments.file;
    let (made, tools) = cassette::re_keyed(&context.harness()?, file)?;
    let mut out = context.out();
    if tools.is_empty() {
        _ = writeln!(out, "the keys of {} are what they were", file.display());
        return Ok(0);
    }
    checkrein::replace_file(file, &made.text())?;
    let (attempts, _) = made.size();
    _ = writeln!(
        out,
        "{}: {attempts} answers have new keys, for other words or schemas of {}; no model gave them to these requests, and the \
         file says so",
        file.display(),
        printable(&tools.join(", "))
    );
    Ok(0)
}

fn from_session(arguments: &CassetteFromSession, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let session = harness.store.find(&arguments.session)?;
    harness.cassette_from(&session, &context.folder().join(&arguments.file))?;
    let (attempts, calls) = cassette::load(&arguments.file)?.size();
    _ = writeln!(context.out(), "{}: {attempts} attempts, {calls} calls", arguments.file.display());
    Ok(0)
}
