//! Recorded calls as tests.

use std::collections::BTreeMap;
use std::io::Write;

use checkrein::contract::Verdict;
use checkrein::policy::fixtures::{self, Fixture, Fixtures, Judge, Judged, Report, Score, Suite, World};
use checkrein::policy::{Models, Source, floor, foreign_tools};
use checkrein::{HarnessError, PolicyFolder};
use serde_json::json;

use super::super::usage;
use super::{read, source};
use crate::arguments::PolicyTest;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyTest, context: &Context) -> Result<u8, HarnessError> {
    let folder = arguments.policies.as_deref().map(PolicyFolder::read).transpose()?;
    let mut policies = folder.as_ref().map(|folder| folder.policies.clone()).unwrap_or_default();
    // Recorded calls are judged by the policy under test alone, not by whatever this person has configured.
    policies.insert(
        String::new(),
        vec![match &arguments.policy {
            Some(path) => source(path)?,
            None => floor(),
        }],
    );
    let (tools, models) = match folder {
        Some(folder) => (folder.tools, folder.models),
        None => (foreign_tools()?, Models::built_in().clone()),
    };
    let mut out = context.out();
    let mut all = Report::default();
    for path in arguments.fixtures.iter().chain(&arguments.cases) {
        let text = read(path)?;
        let name = path.display().to_string();
        let Fixtures { world, all: calls } = fixtures::read(Source { file: &name, text: &text })?;
        let stated = arguments.cases.contains(path) || calls.iter().any(|fixture| fixture.kind.is_some());
        let world = if stated { world } else { recorded_in(arguments) };
        let judge = Judge::new(policies.clone(), tools.clone(), models.clone(), world);
        let mut suite = Suite::new(judge);
        for fixture in &calls {
            let Some(judged) = suite.run(fixture)? else {
                let policy = fixture.policy.as_deref().unwrap_or_default();
                return Err(usage(format!(
                    "`{}` names the policy `{policy}`; say where it is with --policies DIR",
                    fixture.note
                )));
            };
            report(&mut *out, fixture, &judged, arguments.json);
        }
        all.add(suite.finish());
    }
    summary(&mut *out, &all, arguments.json);
    Ok(u8::from(all.count(Score::Right) != all.total()))
}

/// Where fixtures without a header were recorded.
fn recorded_in(arguments: &PolicyTest) -> World {
    World { root: arguments.root.clone(), cwd: arguments.root.clone(), home: arguments.home.clone(), files: Vec::new() }
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

fn summary(out: &mut dyn Write, all: &Report, json: bool) {
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
            "rules_unused": unused,
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
}
