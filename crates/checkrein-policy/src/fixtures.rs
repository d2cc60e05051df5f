//! Fixtures: recorded calls with their expected decisions. Data, not code; the note is the test's name.

mod context;
mod suite;

use checkrein_contract::{Call, CallId, Connect, Decision, Effect, Facts, Foreseen, Verdict};
use checkrein_toml::{FileError, Source};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::url::{self, Url};
use crate::{Manifest, Scene};

pub use context::{FixtureContext, Hook, World};
pub use suite::{Judge, Report, Suite};

/// One recorded call.
#[derive(Clone, Debug, Deserialize)]
pub struct Fixture {
    /// What it shows; the name of the test.
    #[serde(alias = "id")]
    pub note: String,
    /// The tool; may stand in the call instead.
    #[serde(default)]
    pub tool: Option<String>,
    /// The call: `tool`, and `args` or the arguments themselves.
    pub call: Map<String, Value>,
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
    /// The kind of fault it guards against.
    #[serde(default)]
    pub kind: Option<String>,
    /// `a`: something dangerous got through; `b`: something harmless was stopped.
    #[serde(default)]
    pub direction: Option<String>,
    /// Why it is expected.
    #[serde(default)]
    pub why: Option<String>,
    /// What was found out for it when it was recorded: taken before anything that `ctx` states.
    #[serde(default)]
    pub facts: Facts,
    /// What it would have done when it was recorded; it counts for a tool that nothing else says anything of.
    #[serde(default)]
    pub effects: Option<Vec<Effect>>,
    /// The digest of the schema that its tool had when it was recorded.
    #[serde(default)]
    pub schema: Option<String>,
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

/// Fixtures with the world that their header describes.
#[derive(Clone, Debug, Default)]
pub struct Fixtures {
    /// The world.
    pub world: World,
    /// Whether a header describes it; else it is the usual one.
    pub described: bool,
    /// The calls.
    pub all: Vec<Fixture>,
}

/// Reads a JSON array, or one JSON object a line, of which the first may be a header that describes the `world`.
///
/// # Errors
/// The first mistake, with its line.
pub fn read(source: Source<'_>) -> Result<Fixtures, FileError> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "format")]
        _format: String,
        #[serde(default)]
        world: Option<World>,
    }
    if source.text.trim_start().starts_with('[') {
        return Ok(Fixtures { all: source.json()?, ..Fixtures::default() });
    }
    let mut fixtures = Fixtures::default();
    for (index, line) in source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if index == 0
            && let Ok(header) = serde_json::from_str::<Header>(line)
        {
            fixtures.described = header.world.is_some();
            fixtures.world = header.world.unwrap_or_default();
            continue;
        }
        let fixture = Source { file: source.file, text: line }.json();
        fixtures.all.push(fixture.map_err(|error: FileError| FileError { line: index + 1, ..error })?);
    }
    Ok(fixtures)
}

impl Fixture {
    /// The call as the gate would get it.
    pub fn call(&self) -> Call {
        let text = |key: &str| self.call.get(key).and_then(Value::as_str).map(str::to_owned);
        let tool = self.tool.clone().or_else(|| text("tool")).unwrap_or_default();
        let id = CallId::new("fixture");
        let nested = self.call.get("args").cloned();
        if tool == "mcp" {
            let args = nested.unwrap_or_default();
            return Call { id, tool: text("tool").unwrap_or_default(), server: text("server"), args };
        }
        let mut args = self.call.clone();
        args.remove("tool");
        if let Some(Value::Object(nested)) = nested {
            args.remove("args");
            args.extend(nested);
        }
        Call { id, tool, server: None, args: Value::Object(args) }
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
pub fn foresee(call: &Call, tools: &[Manifest], scene: Scene<'_>) -> Foreseen {
    let mine = |manifest: &&Manifest| manifest.is_for(call.server.as_deref(), &call.tool);
    match tools.iter().find(mine) {
        Some(manifest) => manifest.foresee(call.server.as_deref(), &call.tool, &call.args, scene),
        None => Foreseen::of(vec![Effect::Tool {
            tool: call.tool.clone(),
            server: call.server.clone(),
            args: call.args.clone(),
        }]),
    }
}

/// The connection that one more hop of a fetch is, from the one before.
fn hop(from: &Connect, address: &str) -> Connect {
    if address.starts_with('/') && !address.starts_with("//") {
        return Connect { path: Some(address.to_owned()), ..from.clone() };
    }
    let scheme = from.scheme.as_deref().unwrap_or("https");
    let whole = if address.starts_with("//") { format!("{scheme}:{address}") } else { address.to_owned() };
    Url::parse(&whole).map_or_else(|_| url::refused(), |url| Connect { via: from.via.clone(), ..url.connect() })
}
