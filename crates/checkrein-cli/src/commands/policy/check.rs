//! One call: the decision, and why.

use std::io::Write;

use checkrein::contract::{Identity, Layer, PolicySource, Verdict, Winner};
use checkrein::policy::explain::needed;
use checkrein::policy::fixtures::FixtureContext;
use checkrein::{CheckedCall, HarnessError, check_call, policy_for};
use serde_json::{Value, json};

use super::super::policy_file::{models_for, own, read};
use super::super::{block_on, identity, usage};
use crate::arguments::PolicyCheck;
use crate::context::Context;
use crate::view::{by, printable, trace, what};

pub(super) fn check(arguments: &PolicyCheck, context: &Context) -> Result<u8, HarnessError> {
    told(arguments, context, print)
}

pub(super) fn explain(arguments: &PolicyCheck, context: &Context) -> Result<u8, HarnessError> {
    told(arguments, context, |out, checked| trace(out, &checked.decision, &checked.facts))
}

fn told(
    arguments: &PolicyCheck,
    context: &Context,
    print: fn(&mut dyn Write, &CheckedCall),
) -> Result<u8, HarnessError> {
    let (checked, sources) = judged(arguments, context)?;
    let mut out = context.out();
    if arguments.json {
        _ = writeln!(out, "{}", object(&checked, &sources));
    } else {
        print(&mut *out, &checked);
        _ = writeln!(out, "rules of {}", sources.iter().map(named).collect::<Vec<_>>().join(", "));
    }
    Ok(code(&checked))
}

fn code(checked: &CheckedCall) -> u8 {
    match checked.decision.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
    }
}

/// A file that counted.
fn named(source: &PolicySource) -> String {
    let found = if source.only_tightens { ": not trusted, so it only tightens" } else { "" };
    format!("{} ({}{found})", printable(&source.file), source.layer.as_str())
}

/// The call as it was judged, and the files by whose rules.
fn judged(arguments: &PolicyCheck, context: &Context) -> Result<(CheckedCall, Vec<PolicySource>), HarnessError> {
    let cwd = arguments.cwd.as_deref().unwrap_or(context.folder());
    let cwd = cwd.canonicalize().map_err(|error| usage(format!("{}: {error}", cwd.display())))?;
    let place = context.place(&cwd);
    let (files, own) = (context.policies()?, own(arguments.policy.as_deref(), &cwd)?);
    let rules = policy_for(&files, &own, &place, &Identity(identity(&arguments.identity)?))?;
    let models = models_for(arguments.policy.as_deref(), context)?;
    let (tool, args) = match (&arguments.command, &arguments.tool) {
        (Some(command), _) => ("bash".to_owned(), json!({ "command": command })),
        (None, tool) => {
            let args = serde_json::from_str(&arguments.args).map_err(|error| usage(format!("--args: {error}")))?;
            (tool.clone().unwrap_or_default(), args)
        }
    };
    let facts: Option<FixtureContext> = match &arguments.facts {
        None => None,
        Some(path) => {
            let text = read(path)?;
            Some(serde_json::from_str(&text).map_err(|error| usage(format!("{}: {error}", path.display())))?)
        }
    };
    let checked = block_on(check_call(&rules, &tool, args, &place, &models, facts.as_ref()))??;
    // What the harness itself supplies is there in every session and nobody's file.
    let sources = files.in_force(&own).into_iter().filter(|source| source.layer != Layer::Session).collect();
    Ok((checked, sources))
}

fn object(checked: &CheckedCall, sources: &[PolicySource]) -> Value {
    let decision = &checked.decision;
    let trace = decision.trace.iter().map(|step| {
        let rule = match &step.winner {
            Winner::Rule(rule) => Some(rule),
            _ => None,
        };
        json!({
            "effect": step.effect,
            "part": step.part,
            "rule": rule.map(|rule| &rule.rule),
            "layer": rule.map(|rule| rule.layer),
            "file": rule.map(|rule| &rule.file),
            "line": rule.map(|rule| rule.line),
            "decision": step.decision,
            "also": step.also,
            "needed": needed(step),
        })
    });
    let policies = sources
        .iter()
        .map(|source| json!({ "file": source.file, "layer": source.layer, "only_tightens": source.only_tightens }));
    json!({
        "decision": decision.verdict,
        "code": decision.code,
        "reason": decision.reason,
        "effects": checked.effects,
        "facts": checked.facts,
        "trace": trace.collect::<Vec<_>>(),
        "policies": policies.collect::<Vec<_>>(),
    })
}

fn print(out: &mut dyn Write, checked: &CheckedCall) {
    let decision = &checked.decision;
    _ = writeln!(out, "{}  {}", decision.verdict, printable(&decision.reason));
    for step in &decision.trace {
        _ = writeln!(out, "  {:<6} {}  {}", step.decision.as_str(), printable(&what(step)), by(step));
    }
}
