//! Recorded calls as tests.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use checkrein::contract::{Verdict, digest_json};
use checkrein::policy::fixtures::{self, Fixture, Fixtures, Judge, Judged, Report, Score, Suite, World};
use checkrein::policy::{Manifest, Source, floor, foreign_tools};
use checkrein::session::tools::session_tools;
use checkrein::{HarnessError, PolicyFolder, replace_file, tools};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Value, json};

use super::super::change::agreed;
use super::super::policy_file::{models_for, own, read, source};
use super::super::usage;
use crate::arguments::PolicyTest;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyTest, context: &Context) -> Result<u8, HarnessError> {
    let folder = arguments.policies.as_deref().map(PolicyFolder::read).transpose()?;
    let mut policies = folder.as_ref().map(|folder| folder.policies.clone()).unwrap_or_default();
    let named = arguments.policy.as_deref();
    let unnamed = match named {
        // A policy under test counts alone, not with whatever this person has configured.
        Some(path) => vec![floor(), source(path)?],
        None => context.policies()?.in_force(&own(None, context.folder())?),
    };
    policies.insert(String::new(), unnamed);
    let (tools, models) = match (folder, named.and_then(Path::parent)) {
        (Some(folder), _) => (folder.tools, folder.models),
        // As in a task folder, the tools lie beside the policy.
        (None, Some(beside)) => (tools(&beside.join("tools"))?, models_for(named, context)?),
        (None, None) => (foreign_tools()?, models_for(None, context)?),
    };
    let mut out = context.out();
    let mut all = Report::default();
    let now = Schemas::of(&tools)?;
    let mut stale = 0;
    for path in arguments.fixtures.iter().chain(&arguments.cases) {
        let text = read(path)?;
        let name = path.display().to_string();
        let Fixtures { world, described, all: calls } = fixtures::read(Source { file: &name, text: &text })?;
        let stated = described || arguments.cases.contains(path) || calls.iter().any(|fixture| fixture.kind.is_some());
        let world = if stated { world } else { recorded_in(arguments) };
        let judge = Judge::new(policies.clone(), tools.clone(), models.clone(), world);
        let mut suite = Suite::new(judge);
        let mut came_out = Vec::new();
        for fixture in &calls {
            let Some(judged) = suite.run(fixture)? else {
                let policy = fixture.policy.as_deref().unwrap_or_default();
                return Err(usage(format!(
                    "`{}` names the policy `{policy}`; say where it is with --policies DIR",
                    fixture.note
                )));
            };
            report(&mut *out, fixture, &judged, arguments.json);
            if let Some(why) = now.stale(fixture) {
                stale += 1;
                tell_stale(&mut *out, fixture, &why, arguments.json);
            }
            let right = judged.score == Score::Right;
            came_out.push((fixture.expected, if right { fixture.expected } else { judged.decision.verdict }));
        }
        if arguments.update {
            let new = updated(&text, &came_out)?;
            if new != text && agreed(context, path, &text, &new, arguments.yes)? {
                replace_file(path, &new)?;
            }
        }
        all.add(suite.finish());
    }
    summary(&mut *out, &all, stale, arguments.json);
    Ok(u8::from(all.count(Score::Right) != all.total()))
}

/// Where fixtures without a header were recorded.
fn recorded_in(arguments: &PolicyTest) -> World {
    World {
        root: arguments.root.clone(),
        cwd: arguments.root.clone(),
        home: arguments.home.clone(),
        files: Vec::new(),
        ..World::default()
    }
}

const SCORES: [(Score, &str); 4] = [
    (Score::Right, "right"),
    (Score::OverCautious, "over_cautious"),
    (Score::Wrong, "wrong"),
    (Score::Vulnerable, "vulnerable"),
];

fn report(out: &mut dyn Write, fixture: &Fixture, judged: &Judged, json: bool) {
    let decision = &judged.decision;
    let word = SCORES.iter().find(|(score, _)| *score == judged.score).map_or("", |(_, word)| *word);
    if json {
        let line = json!({
            "note": fixture.note, "score": word, "expected": fixture.expected, "decision": decision.verdict,
            "code": decision.code, "reason": decision.reason, "kind": fixture.kind, "policy": fixture.policy,
        });
        _ = writeln!(out, "{line}");
        return;
    }
    let sign = if judged.score == Score::Right { "ok" } else { "NO" };
    let expected: Vec<&str> =
        std::iter::once(fixture.expected).chain(fixture.accept.iter().copied()).map(Verdict::as_str).collect();
    let note = printable(&fixture.note);
    if judged.score == Score::Right {
        _ = writeln!(out, "{sign}  {note}  {}", decision.verdict);
    } else {
        let expected = expected.join(" or ");
        let reason = printable(&decision.reason);
        _ = writeln!(out, "{sign}  {note}  {word}: expected {expected}, got {}: {reason}", decision.verdict);
        if let Some(why) = &fixture.why {
            _ = writeln!(out, "      {}", printable(why));
        }
    }
}

fn summary(out: &mut dyn Write, all: &Report, stale: usize, json: bool) {
    let count = |score| all.count(score);
    if json {
        let by = |name: &dyn Fn(&(String, String)) -> String| {
            let mut all_of: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
            for (key, counts) in &all.kinds {
                let entry = all_of.entry(name(key)).or_default();
                for (score, word) in SCORES {
                    *entry.entry(word).or_default() += counts.get(&score).copied().unwrap_or(0);
                }
            }
            all_of
        };
        let unused: Vec<_> = all.unused.iter().map(|(policy, rule)| json!({"policy": policy, "rule": rule})).collect();
        let line = json!({
            "total": all.total(), "right": count(Score::Right), "over_cautious": count(Score::OverCautious),
            "vulnerable": count(Score::Vulnerable), "wrong": count(Score::Wrong), "by_kind": by(&|(kind, _)| kind.clone()),
            "by_direction": by(&|(_, direction)| direction.clone()),
            "rules_unused": unused, "stale": stale,
        });
        _ = writeln!(out, "{line}");
        return;
    }
    if !all.kinds.is_empty() {
        _ = writeln!(
            out,
            "\n{:<24} {:<3} {:>6} {:>13} {:>6} {:>10}",
            "kind", "dir", "right", "over-cautious", "wrong", "vulnerable"
        );
        for ((kind, direction), counts) in &all.kinds {
            let count = |score| counts.get(&score).copied().unwrap_or(0);
            let [right, cautious, wrong, vulnerable] = SCORES.map(|(score, _)| count(score));
            _ = writeln!(out, "{kind:<24} {direction:<3} {right:>6} {cautious:>13} {wrong:>6} {vulnerable:>10}");
        }
    }
    if !all.unused.is_empty() {
        _ = writeln!(
            out,
            "\nrules that decided nothing here: {} of {}",
            all.unused.len(),
            all.unused.len() + all.used()
        );
        for (policy, rule) in &all.unused {
            let policy = if policy.is_empty() { String::new() } else { format!("{policy}: ") };
            _ = writeln!(out, "  {policy}{rule}");
        }
    }
    _ = writeln!(
        out,
        "\n{} calls: {} right, {} over-cautious, {} wrong, {} vulnerable",
        all.total(),
        count(Score::Right),
        count(Score::OverCautious),
        count(Score::Wrong),
        count(Score::Vulnerable)
    );
    if stale > 0 {
        _ = writeln!(out, "{stale} of them are stale: record them anew");
    }
}

/// The tools there are now, with the digests of their schemas.
struct Schemas(BTreeMap<String, String>);

impl Schemas {
    /// Those that ship, those that sessions have only sometimes, and those of a folder.
    fn of(tools: &[Manifest]) -> Result<Self, HarnessError> {
        let shipped = checkrein::shipped_tools()?.into_iter().map(|spec| (spec.name, spec.parameters));
        let own = tools.iter().filter(|tool| tool.argv.is_some()).map(|tool| (tool.name.clone(), tool.schema()));
        let of_sessions = session_tools().into_iter().map(|tool| (tool.name().to_owned(), tool.parameters()));
        Ok(Self(
            own.chain(shipped)
                .chain(of_sessions)
                .map(|(name, schema)| (name, digest_json(&schema).to_string()))
                .collect(),
        ))
    }

    /// Why a recorded call is not what it was any more. One that no schema was recorded with can not be told.
    fn stale(&self, fixture: &Fixture) -> Option<String> {
        let (recorded, tool) = (fixture.schema.as_ref()?, fixture.call().tool);
        match self.0.get(&tool) {
            None => Some(format!("there is no tool `{tool}` any more")),
            Some(now) if now != recorded => Some(format!("the tool `{tool}` takes other arguments now")),
            Some(_) => None,
        }
    }
}

fn tell_stale(out: &mut dyn Write, fixture: &Fixture, why: &str, json: bool) {
    if json {
        _ = writeln!(out, "{}", json!({ "note": fixture.note, "stale": why }));
    } else {
        _ = writeln!(out, "      stale: {}", printable(why));
    }
}

/// The text of a file of fixtures, one a line, with what came out in the place of what was expected. Nothing else of it
/// changes.
fn updated(text: &str, came_out: &[(Verdict, Verdict)]) -> Result<String, HarnessError> {
    if text.trim_start().starts_with('[') {
        return Err(usage("only a file of JSON lines can be updated, one call a line"));
    }
    let is_header = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line.get("format").is_some());
    let mut left = came_out.iter();
    let mut new = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_call = !(line.trim().is_empty() || number == 0 && is_header(line));
        match if is_call { left.next() } else { None } {
            Some((expected, got)) if expected != got => new.push_str(&expecting(line, *got)?),
            _ => new.push_str(line),
        }
    }
    Ok(new)
}

/// A line with another expectation.
fn expecting(line: &str, verdict: Verdict) -> Result<String, HarnessError> {
    let root = CstRootNode::parse(line, &ParseOptions::default()).map_err(|error| usage(error.to_string()))?;
    if let Some(expected) = root.object_value().and_then(|object| object.get("expected")) {
        expected.set_value(CstInputValue::String(verdict.to_string()));
    }
    Ok(root.to_string())
}
