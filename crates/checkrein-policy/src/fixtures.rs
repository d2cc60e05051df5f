//! Fixtures: recorded calls with their expected decisions. Data, not code; the note is the test's name.

use std::collections::BTreeMap;

use checkrein_contract::{Answered, Call, CallId, Decision, Effect, Facts, Foreseen, Place, Question, Verdict};
use checkrein_toml::{FileError, Source};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Manifest, Policy, decide, paths};

/// One recorded call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// What it shows; the name of the test.
    #[serde(alias = "id")]
    pub note: String,
    /// The call.
    pub call: FixtureCall,
    /// The policy it is judged by; absent means the one given on the command line.
    #[serde(default)]
    pub policy: Option<String>,
    /// What the world looks like around it.
    #[serde(default)]
    pub ctx: FixtureContext,
    /// The decision it must get.
    pub expected: Verdict,
    /// Other decisions that are right too.
    #[serde(default)]
    pub accept: Vec<Verdict>,
    /// The decision that would be a vulnerability.
    #[serde(default)]
    pub never: Option<Verdict>,
}

/// The call of a fixture: `args`, or the two arguments most calls have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixtureCall {
    /// The tool.
    pub tool: String,
    /// Short for `args.command`.
    #[serde(default)]
    pub command: Option<String>,
    /// Short for `args.path`.
    #[serde(default)]
    pub path: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// Facts that a fixture states. What it does not state is as the call says: no links, everything resolves to itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixtureContext {
    /// Links, by path.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
}

/// How a fixture came out.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The decision it got.
    pub decision: Decision,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// How that compares.
    pub score: Score,
}

/// Right, or wrong in one of three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Score {
    /// As expected, or accepted.
    Right,
    /// Stricter than expected.
    OverCautious,
    /// Looser than expected, but not what `never` forbids.
    Wrong,
    /// What `never` forbids.
    Vulnerable,
}

/// Reads a JSON array, or one JSON object a line.
///
/// # Errors
/// The first mistake, with its line.
pub fn read(source: Source<'_>) -> Result<Vec<Fixture>, FileError> {
    if source.text.trim_start().starts_with('[') {
        return source.json();
    }
    let mut fixtures = Vec::new();
    for (index, line) in source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fixture = Source { file: source.file, text: line }.json();
        fixtures.push(fixture.map_err(|error: FileError| FileError { line: index + 1, ..error })?);
    }
    Ok(fixtures)
}

impl Fixture {
    /// Judges the recorded call, as the gate would, with the facts that the fixture states.
    pub fn judge(&self, policy: &Policy, tools: &[Manifest], place: &Place) -> Judged {
        let mut args = self.call.args.clone();
        for (name, value) in [("command", &self.call.command), ("path", &self.call.path)] {
            if let Some(value) = value {
                args.insert(name.to_owned(), Value::String(value.clone()));
            }
        }
        let call =
            Call { id: CallId::new("fixture"), tool: self.call.tool.clone(), server: None, args: Value::Object(args) };
        let foreseen = foresee(&call, tools, place);
        let facts = self.ctx.answer(&foreseen.questions);
        let decision = decide(policy, &call, &foreseen.effects, &facts);
        let score = self.score(decision.verdict);
        Judged { decision, effects: foreseen.effects, score }
    }

    fn score(&self, got: Verdict) -> Score {
        if got == self.expected || self.accept.contains(&got) {
            Score::Right
        } else if self.never == Some(got) {
            Score::Vulnerable
        } else if got > self.expected {
            Score::OverCautious
        } else {
            Score::Wrong
        }
    }
}

/// What a call of a tool that others own would do; a tool without a manifest acts through itself.
pub fn foresee(call: &Call, tools: &[Manifest], place: &Place) -> Foreseen {
    match tools.iter().find(|manifest| manifest.name == call.tool) {
        Some(manifest) => manifest.foresee(&call.args, place),
        None => Foreseen::of(vec![Effect::Tool {
            tool: call.tool.clone(),
            server: call.server.clone(),
            args: call.args.clone(),
        }]),
    }
}

impl FixtureContext {
    /// Answers questions from what the fixture states.
    pub fn answer(&self, questions: &[Question]) -> Facts {
        Facts(
            questions
                .iter()
                .map(|question| {
                    let Question::RealPath { path } = question;
                    Answered { question: question.clone(), answer: self.real_path(path) }
                })
                .collect(),
        )
    }

    /// Follows stated links, longest prefix first; `None` when they go round.
    fn real_path(&self, path: &str) -> Option<String> {
        let mut real = path.to_owned();
        for _ in 0..40 {
            let link =
                self.links.iter().filter(|(link, _)| paths::is_within(&real, link)).max_by_key(|(link, _)| link.len());
            let Some((link, target)) = link else { return Some(real) };
            let rest = real.strip_prefix(link.as_str()).unwrap_or_default();
            real = paths::normalise(&format!("{target}{rest}"));
        }
        None
    }
}
