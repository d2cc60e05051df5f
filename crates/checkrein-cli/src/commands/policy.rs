//! `policy`: ask it about one call, or about recorded ones.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use checkrein::contract::{Effect, Layer, Place, PolicySource, Verdict, Winner};
use checkrein::policy::fixtures::{self, Fixture, FixtureContext, Score};
use checkrein::policy::{Policy as Rules, Source, foreign_tools};
use checkrein::{CheckedCall, HarnessError, check_call, policy_for};
use serde_json::{Value, json};

use super::usage;
use crate::arguments::{Policy, PolicyCheck, PolicyTest};
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: Policy, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Policy::Check(arguments) => check(&arguments, context),
        Policy::Test(arguments) => test(&arguments, context),
    }
}

fn check(arguments: &PolicyCheck, context: &Context) -> Result<u8, HarnessError> {
    let cwd = arguments.cwd.as_deref().unwrap_or(context.folder());
    let cwd = cwd.canonicalize().map_err(|error| usage(format!("{}: {error}", cwd.display())))?;
    let folder = cwd.display().to_string();
    let place = Place { root: folder.clone(), cwd: folder, home: context.person_home().display().to_string() };
    let own: Vec<PolicySource> = arguments.policy.as_deref().map(source).transpose()?.into_iter().collect();
    let rules = policy_for(&context.policies()?, &own, &place)?;
    let (tool, args) = match (&arguments.command, &arguments.tool) {
        (Some(command), _) => ("bash".to_owned(), json!({ "command": command })),
        (None, tool) => {
            let args = serde_json::from_str(&arguments.args).map_err(|error| usage(format!("--args: {error}")))?;
            (tool.clone().unwrap_or_default(), args)
        }
    };
    let facts = match &arguments.facts {
        None => None,
        Some(path) => {
            let text = read(path)?;
            let facts: FixtureContext =
                serde_json::from_str(&text).map_err(|error| usage(format!("{}: {error}", path.display())))?;
            Some(facts)
        }
    };
    let checked = super::block_on(check_call(&rules, &tool, args, &place, facts.as_ref()))??;
    let mut out = context.out();
    if arguments.json {
        _ = writeln!(out, "{}", object(&checked));
    } else {
        print(&mut *out, &checked);
    }
    Ok(match checked.decision.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
    })
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
            "rule": rule.map(|rule| &rule.rule),
            "layer": rule.map(|rule| rule.layer),
            "file": rule.map(|rule| &rule.file),
            "line": rule.map(|rule| rule.line),
            "decision": step.decision,
            "also": step.also,
        })
    });
    json!({
        "decision": decision.verdict,
        "code": decision.code,
        "reason": decision.reason,
        "effects": checked.effects,
        "trace": trace.collect::<Vec<_>>(),
    })
}

fn print(out: &mut dyn std::io::Write, checked: &CheckedCall) {
    let decision = &checked.decision;
    _ = writeln!(out, "{}  {}", decision.verdict, printable(&decision.reason));
    for step in &decision.trace {
        let what = step.effect.as_ref().map(phrase).unwrap_or_default();
        let by = match &step.winner {
            Winner::Rule(rule) => format!("{} ({}:{})", rule.rule, rule.file, rule.line),
            Winner::Default => "no rule".to_owned(),
            Winner::NotUnderstood => "not understood".to_owned(),
            Winner::NoEffect => "nothing outside the session".to_owned(),
            Winner::Hook { name } | Winner::Guard { name } => name.clone(),
            Winner::Unconfined => "unconfined".to_owned(),
        };
        _ = writeln!(out, "  {:<6} {}  {}", step.decision.as_str(), printable(&what), by);
    }
}

fn phrase(effect: &Effect) -> String {
    match effect {
        Effect::Run { argv, .. } => format!("run {}", argv.join(" ")),
        Effect::Connect { host, port } => format!("connect {host}:{port}"),
        Effect::Tool { tool, args, .. } => format!("tool {tool} {args}"),
        Effect::Unknown { what } => what.clone(),
        other => format!("{} {}", other.word().as_str(), other.path().unwrap_or_default()),
    }
}

fn test(arguments: &PolicyTest, context: &Context) -> Result<u8, HarnessError> {
    let place = Place { root: arguments.root.clone(), cwd: arguments.root.clone(), home: arguments.home.clone() };
    let tools = foreign_tools()?;
    let mut policies: BTreeMap<Option<String>, std::sync::Arc<Rules>> = BTreeMap::new();
    let mut counts: BTreeMap<Score, u32> = BTreeMap::new();
    let mut out = context.out();
    let mut total = 0;
    for path in &arguments.fixtures {
        let text = read(path)?;
        let name = path.display().to_string();
        for fixture in fixtures::read(Source { file: &name, text: &text })? {
            if !policies.contains_key(&fixture.policy) {
                policies.insert(fixture.policy.clone(), rules_for(arguments, &fixture, &place)?);
            }
            let Some(rules) = policies.get(&fixture.policy) else { continue };
            let judged = fixture.judge(rules, &tools, &place);
            total += 1;
            *counts.entry(judged.score).or_default() += 1;
            report(&mut *out, &fixture, &judged, arguments.json);
        }
    }
    let count = |score| counts.get(&score).copied().unwrap_or(0);
    let summary = json!({
        "total": total,
        "right": count(Score::Right),
        "over_cautious": count(Score::OverCautious),
        "vulnerable": count(Score::Vulnerable),
        "wrong": count(Score::Wrong),
        "by_kind": {},
    });
    if arguments.json {
        _ = writeln!(out, "{summary}");
    } else {
        _ = writeln!(
            out,
            "{total} calls: {} right, {} over-cautious, {} wrong, {} vulnerable",
            count(Score::Right),
            count(Score::OverCautious),
            count(Score::Wrong),
            count(Score::Vulnerable)
        );
    }
    Ok(u8::from(count(Score::Right) != total))
}

fn report(out: &mut dyn std::io::Write, fixture: &Fixture, judged: &fixtures::Judged, json: bool) {
    let decision = &judged.decision;
    let word = match judged.score {
        Score::Right => "right",
        Score::OverCautious => "over_cautious",
        Score::Wrong => "wrong",
        Score::Vulnerable => "vulnerable",
    };
    if json {
        let line = json!({
            "note": fixture.note, "score": word, "expected": fixture.expected, "decision": decision.verdict,
            "code": decision.code, "reason": decision.reason,
        });
        _ = writeln!(out, "{line}");
    } else if judged.score != Score::Right {
        let (expected, got) = (fixture.expected, decision.verdict);
        let note = printable(&fixture.note);
        _ = writeln!(out, "{word}: {note}: expected {expected}, got {got}: {}", printable(&decision.reason));
    }
}

fn rules_for(arguments: &PolicyTest, fixture: &Fixture, place: &Place) -> Result<std::sync::Arc<Rules>, HarnessError> {
    let own = match (&fixture.policy, &arguments.policies, &arguments.policy) {
        (Some(name), Some(folder), _) => vec![source(&folder.join(format!("{name}.toml")))?],
        (Some(name), None, _) => {
            return Err(usage(format!(
                "`{}` names the policy `{name}`; say where it is with --policies DIR",
                fixture.note
            )));
        }
        (None, _, Some(path)) => vec![source(path)?],
        (None, _, None) => Vec::new(),
    };
    // Recorded calls are judged by the policy under test alone, not by whatever this person has configured.
    policy_for(&checkrein::PolicyFiles::default(), &own, place)
}

fn source(path: &Path) -> Result<PolicySource, HarnessError> {
    let text = read(path)?;
    Ok(PolicySource { layer: Layer::Project, file: path.display().to_string(), text, only_tightens: false })
}

fn read(path: &Path) -> Result<String, HarnessError> {
    std::fs::read_to_string(path)
        .map_err(|error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
