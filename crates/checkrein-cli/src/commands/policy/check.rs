//! One call: the decision, and why.

use std::io::Write;
use std::path::PathBuf;

use checkrein::contract::{Effect, Facts, Finding, PolicySource, Question, Remotes, TraceStep, Verdict, Winner};
use checkrein::policy::explain::needed;
use checkrein::policy::fixtures::FixtureContext;
use checkrein::{CheckedCall, HarnessError, check_call, models, policy_for};
use serde_json::{Value, json};

use super::super::{block_on, usage};
use super::{read, source};
use crate::arguments::PolicyCheck;
use crate::context::Context;
use crate::view::printable;

pub(super) fn check(arguments: &PolicyCheck, context: &Context) -> Result<u8, HarnessError> {
    told(arguments, context, print)
}

pub(super) fn explain(arguments: &PolicyCheck, context: &Context) -> Result<u8, HarnessError> {
    told(arguments, context, print_all)
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

fn what(step: &TraceStep) -> String {
    step.effect.as_ref().map(phrase).unwrap_or_default()
}

fn by(step: &TraceStep) -> String {
    match &step.winner {
        Winner::Rule(rule) => format!("{} ({}:{})", rule.rule, rule.file, rule.line),
        Winner::Default => "no rule".to_owned(),
        Winner::NotUnderstood => "not known before it runs".to_owned(),
        Winner::RestsOn { .. } => "what the rule rests on does not hold".to_owned(),
        Winner::Incidental => "kept in a place of its own".to_owned(),
        Winner::Own => "named by its settings: goes with the program".to_owned(),
        Winner::NoEffect => "nothing outside the session".to_owned(),
        Winner::Hook { name } | Winner::Guard { name } => name.clone(),
        Winner::Unconfined => "unconfined".to_owned(),
    }
}

/// Everything: each effect with its rules, what was found out, what would have to change.
fn print_all(out: &mut dyn Write, checked: &CheckedCall) {
    let decision = &checked.decision;
    _ = writeln!(out, "{}  {}", decision.verdict, printable(&decision.reason));
    let mut part = None;
    for step in &decision.trace {
        if part != Some(step.part) {
            part = Some(step.part);
            _ = writeln!(out, "\ncommand {}", step.part + 1);
        }
        _ = writeln!(out, "  {:<6} {}", step.decision.as_str(), printable(&what(step)));
        _ = writeln!(out, "         by {}", by(step));
        for also in &step.also {
            let layer = also.layer.as_str();
            _ = writeln!(out, "         also {} ({}:{}, {layer})", also.rule, also.file, also.line);
        }
        for detail in details(step) {
            _ = writeln!(out, "         {}", printable(&detail));
        }
        if let Some(needed) = needed(step) {
            let mut lines = needed.lines();
            _ = writeln!(out, "         to be allowed: {}", printable(lines.next().unwrap_or_default()));
            for line in lines {
                _ = writeln!(out, "         {}", printable(line));
            }
        }
    }
    let facts = shown_facts(&checked.facts);
    if !facts.is_empty() {
        _ = writeln!(out, "\nfound out");
        for fact in facts {
            _ = writeln!(out, "  {}", printable(&fact));
        }
    }
}

/// What is known of a program besides its words.
fn details(step: &TraceStep) -> Vec<String> {
    let Some(Effect::Run(run)) = &step.effect else { return Vec::new() };
    let mut details = Vec::new();
    if !run.words.is_empty() {
        details.push(format!("in the words of its model: {}", run.words.join(" ")));
    } else if !run.modelled {
        details.push("no model says what it does".to_owned());
    }
    if !run.deeds.is_empty() {
        let deeds: Vec<&str> = run.deeds.iter().map(|deed| deed.as_str()).collect();
        details.push(format!("does: {}", deeds.join(", ")));
    }
    if !run.env.is_empty() {
        details.push(format!("with {}", run.env.join(" ")));
    }
    details
}

const UNKNOWN: &str = "could not be found out";

/// The answers that say more than the question, for people.
fn shown_facts(facts: &Facts) -> Vec<String> {
    let shown = facts.iter().filter_map(|(question, answer)| {
        let answer = match answer {
            None => UNKNOWN.to_owned(),
            Some(Finding::Text(text)) => text.clone(),
            Some(Finding::List(list)) if list.is_empty() => return None,
            Some(Finding::List(list)) if list.len() > 5 => {
                format!("{} and {} more", list.iter().take(5).cloned().collect::<Vec<_>>().join(", "), list.len() - 5)
            }
            Some(Finding::List(list)) => list.join(", "),
        };
        Some(match question {
            Question::RealPath { path } if *path == answer => return None,
            Question::RealPath { path } => format!("{path} is really {answer}"),
            Question::Kind { path } => format!("{path}: {answer}"),
            Question::Matches { pattern } => format!("{pattern} matches {answer}"),
            Question::Holds { tree, .. } => format!("{} holds {answer}", tree.root),
            Question::CaseFolding { .. } if answer == "exact" => return None,
            Question::CaseFolding { path } => format!("{path} {answer} case"),
            Question::Addresses { host } => format!("{host} is at {answer}"),
            Question::GitHelpers { folder } => format!("the repository at {folder} starts {answer}"),
            Question::GitFolder { .. } if answer == UNKNOWN => return None,
            Question::GitFolder { folder } => format!("the repository at {folder} is kept in {answer}"),
            Question::GitRemotes { folder, which: Remotes::Named(name), .. } => {
                format!("{name} of the repository at {folder} leads to {answer}")
            }
            Question::GitRemotes { folder, .. } => format!("remotes of the repository at {folder} lead to {answer}"),
            Question::Changed { path } => format!("{path}: {answer} since the session began"),
            Question::Digest { path } => format!("{path} has the digest {answer}"),
            Question::Definition { server, tool } => format!("{tool} of {server}: {answer}"),
        })
    });
    shown.collect()
}

fn phrase(effect: &Effect) -> String {
    match effect {
        Effect::Run(run) => format!("run {}", run.argv.join(" ")),
        Effect::Connect(to) if to.host.is_empty() => "connect to an address that can be read in two ways".to_owned(),
        Effect::Connect(to) => format!("connect {}:{}", to.host, to.port),
        Effect::Tool { tool, args, .. } => format!("tool {tool} {args}"),
        Effect::Unknown { what } => what.clone(),
        Effect::ReadTree(tree) => format!("read everything below {}", tree.root),
        Effect::List { path, .. } => format!("look at {path}"),
        Effect::Delete { path, recursive: true, .. } => format!("delete {path} and all below"),
        other => format!("{} {}", other.word().as_str(), other.path().unwrap_or_default()),
    }
}
