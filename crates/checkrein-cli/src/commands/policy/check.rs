//! One call: the decision, and why.

use std::io::Write;
use std::path::PathBuf;

use checkrein::contract::{PolicySource, Verdict, Winner};
use checkrein::policy::explain::needed;
use checkrein::policy::fixtures::FixtureContext;
use checkrein::{CheckedCall, HarnessError, check_call, models, policy_for};
use serde_json::{Value, json};

use super::super::policy_file::{read, source};
use super::super::{block_on, usage};
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
    let checked = judged(arguments, context)?;
    let mut out = context.out();
    if arguments.json {
        _ = writeln!(out, "{}", object(&checked));
    } else {
        print(&mut *out, &checked);
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

fn judged(arguments: &PolicyCheck, context: &Context) -> Result<CheckedCall, HarnessError> {
    let cwd = arguments.cwd.as_deref().unwrap_or(context.folder());
    let cwd = cwd.canonicalize().map_err(|error| usage(format!("{}: {error}", cwd.display())))?;
    let place = context.place(&cwd);
    let own: Vec<PolicySource> = arguments.policy.as_deref().map(source).transpose()?.into_iter().collect();
    let rules = policy_for(&context.policies()?, &own, &place)?;
    // A person's own command models lie beside the policy.
    let beside = arguments.policy.as_deref().and_then(|policy| policy.parent()).map(|folder| folder.join("commands"));
    let models = models(&beside.or_else(|| context.commands()).unwrap_or_else(|| PathBuf::from("commands")))?;
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
    block_on(check_call(&rules, &tool, args, &place, &models, facts.as_ref()))?
}

fn object(checked: &CheckedCall) -> Value {
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
    json!({
        "decision": decision.verdict,
        "code": decision.code,
        "reason": decision.reason,
        "effects": checked.effects,
        "facts": checked.facts,
        "trace": trace.collect::<Vec<_>>(),
    })
}

fn print(out: &mut dyn Write, checked: &CheckedCall) {
    let decision = &checked.decision;
    _ = writeln!(out, "{}  {}", decision.verdict, printable(&decision.reason));
    for step in &decision.trace {
        _ = writeln!(out, "  {:<6} {}  {}", step.decision.as_str(), printable(&what(step)), by(step));
    }
}
