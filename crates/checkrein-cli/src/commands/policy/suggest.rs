//! Rules that would have spared questions.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{PolicySource, Verdict, Winner};
use checkrein::past::{Past, Suggested, Suggestion, Unspared, suggest};
use checkrein::policy::fixtures::{self, Fixtures, Judge};
use checkrein::policy::{Models, Source, floor, foreign_tools};
use serde_json::json;

use super::super::policy_file::{read, source};
use super::diff::sessions;
use crate::arguments::PolicySuggest;
use crate::context::Context;
use crate::view::{by, call_in_a_line, printable, recorded_call, what};

/// Calls that are shown of each kind.
const SHOWN: usize = 5;

pub(super) fn run(arguments: &PolicySuggest, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let past = Past::read(&*store, &sessions(&*store, arguments.sessions.iter().map(String::as_str), context)?)?;
    let policy = arguments.to.as_deref().filter(|path| path.exists()).map(source).transpose()?;
    let Suggested { rules: found, unspared } = suggest(&past, policy.as_ref())?;
    let approved = past.calls().iter().filter(|call| call.approved).count();
    let mut out = context.out();
    for one in &found {
        let through = cases(arguments, &one.rule)?;
        if arguments.json {
            let named = |calls: &[usize]| -> Vec<String> {
                calls.iter().filter_map(|at| past.calls().get(*at)).map(recorded_call).collect()
            };
            let line = json!({
                "rule": one.rule, "spares": named(&one.spares), "also": named(&one.also), "cases": through,
            });
            _ = writeln!(out, "{line}");
            continue;
        }
        _ = writeln!(out, "{}", printable(one.rule.trim_end()));
        list(&mut *out, "spares", &one.spares, &past);
        list(&mut *out, "also lets through", &one.also, &past);
        if !arguments.cases.is_empty() {
            _ = writeln!(out, "  # cases that it alone lets through: {}", through.len());
            for name in through.iter().take(SHOWN) {
                _ = writeln!(out, "  #   {}", printable(name));
            }
        }
        _ = writeln!(out);
    }
    not_spared(&mut *out, &unspared, &past, arguments.json);
    let spared: usize = found.iter().map(|one| one.spares.len()).sum();
    if !arguments.json {
        let rules = if found.len() == 1 { "1 rule".to_owned() } else { format!("{} rules", found.len()) };
        _ = writeln!(out, "{rules} would have spared {spared} of {approved} questions that were answered with yes");
    }
    match &arguments.to {
        Some(path) if !found.is_empty() => add(arguments, path, &found, context),
        _ => Ok(0),
    }
}

/// The yeses that no rule would have spared, as comments too.
fn not_spared(out: &mut dyn std::io::Write, unspared: &[Unspared], past: &Past, json: bool) {
    let shown = if json { unspared.len() } else { SHOWN };
    for one in unspared.iter().take(shown) {
        let (Some(call), why) = (past.calls().get(one.call).map(recorded_call), why(one)) else { continue };
        if json {
            _ = writeln!(out, "{}", json!({ "call": call, "not_spared": why }));
        } else {
            _ = writeln!(out, "# not spared: {}: {}", printable(&call), printable(&why));
        }
    }
    if unspared.len() > shown {
        _ = writeln!(out, "# not spared: {} more", unspared.len() - shown);
    }
}

/// Why no suggestion spares the question about a call.
fn why(one: &Unspared) -> String {
    let Some(step) = &one.step else { return format!("it is {} now", one.verdict) };
    match (one.verdict, &step.winner) {
        (Verdict::Allow, _) => format!("it is not asked about any more, by {}", by(step)),
        (Verdict::Deny, _) => format!("it is denied now, by {}", by(step)),
        (Verdict::Ask, Winner::Rule(rule)) => {
            let place = format!("{}:{}", rule.file, rule.line);
            format!("rule {} ({place}) asks, which an allow beside it does not change", rule.rule)
        }
        (Verdict::Ask, Winner::Default) => format!("no rule that is narrow enough speaks of {}", what(step)),
        (Verdict::Ask, _) => format!("{}: {}", what(step), by(step)),
    }
}

/// Calls as comments, so that the whole print is a policy.
fn list(out: &mut dyn std::io::Write, what: &str, calls: &[usize], past: &Past) {
    _ = writeln!(out, "  # {what}: {}", calls.len());
    for call in calls.iter().take(SHOWN).filter_map(|at| past.calls().get(*at)) {
        _ = writeln!(out, "  #   {}", printable(&recorded_call(call)));
    }
    if calls.len() > SHOWN {
        _ = writeln!(out, "  #   and {} more", calls.len() - SHOWN);
    }
}

/// Cases that must not be allowed and that this rule, alone, lets through.
fn cases(arguments: &PolicySuggest, rule: &str) -> Result<Vec<String>, HarnessError> {
    let mut through = Vec::new();
    for path in &arguments.cases {
        let (text, file) = (read(path)?, path.display().to_string());
        let Fixtures { world, all, .. } = fixtures::read(Source { file: &file, text: &text })?;
        let text = format!("version = 1\n{rule}");
        let own = PolicySource {
            layer: checkrein::contract::Layer::Project,
            file: "suggested.toml".to_owned(),
            text,
            only_tightens: false,
        };
        let policies = BTreeMap::from([(String::new(), vec![floor(), own])]);
        let mut judge = Judge::new(policies, foreign_tools()?, Models::built_in().clone(), world);
        for mut fixture in all {
            fixture.policy = None;
            let judged = judge.judge(&fixture)?;
            if judged.is_some_and(|judged| judged.decision.verdict == Verdict::Allow)
                && fixture.expected != Verdict::Allow
            {
                let call = fixture.call();
                through.push(format!("{}  {} {}", fixture.note, call.tool, call_in_a_line(&call.args)));
            }
        }
    }
    Ok(through)
}

/// Adds the rules to a policy, once a person said yes.
fn add(arguments: &PolicySuggest, path: &Path, found: &[Suggestion], context: &Context) -> Result<u8, HarnessError> {
    if !arguments.yes && !context.confirmed(&format!("Add them to {}?", path.display()))? {
        return Ok(1);
    }
    let before = if path.exists() { read(path)? } else { "version = 1\n".to_owned() };
    let mut text = before.trim_end().to_owned();
    for one in found {
        text.push_str("\n\n");
        text.push_str(one.rule.trim_end());
    }
    text.push('\n');
    checkrein::replace_file(path, &text)?;
    _ = writeln!(context.out(), "added to {}", path.display());
    Ok(0)
}
