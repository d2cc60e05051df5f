//! The first event of a session: everything that is in force, so that the journal alone explains what follows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Budget, CallId, CassetteUse, Digest, Forked, Identity, Lane, Layer, Place, Price, SessionId, ToolSpec};

/// Everything in force when a session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// The session.
    pub session: SessionId,
    /// Version of the harness.
    pub harness: String,
    /// Name of the task: its folder's name, or `words`.
    pub task: String,
    /// The session that gave this one its part of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The session that this one goes on from, and how far it is that one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
    /// The folder that was typed after `run`, absolute; absent for words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The person's words.
    pub prompt: String,
    /// The instructions every request begins with.
    pub system: String,
    /// The tools that are registered, in the order requests show them.
    pub tools: Vec<ToolSpec>,
    /// Those of them that requests only name, until the model looks them up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// The skills on the menu.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// The model, as `script:FILE` or `provider:NAME`.
    pub model: String,
    /// The cassette that answers in the model's place, or that it is recorded into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cassette: Option<CassetteUse>,
    /// The ceiling of one reply, tokens.
    pub max_output: u32,
    /// The context policy, with its numbers.
    pub context: Value,
    /// Names under which a folder may have an instruction file, the first that is there counts; none: they are not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// The policy files in force.
    pub policy: Vec<PolicySource>,
    /// Digest over all of them.
    pub policy_digest: Digest,
    /// On whose behalf.
    pub identity: Identity,
    /// Limits.
    pub budget: Budget,
    /// What the model costs, where somebody knows; see [`SessionOpened::price`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What an *ask* does.
    pub on_ask: OnAsk,
    /// What ends the run instead of being told to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_on: Vec<StopOn>,
    /// What must hold before `completed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Check>,
    /// Where calls happen.
    pub place: Place,
    /// How what runs is confined: the sandbox's own words.
    pub confinement: String,
    /// Programs are confined to what was granted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// What can not be confined is refused, not asked about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confinement_required: bool,
    /// Somebody said that programs may run unconfined: who or what (`--unconfined`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfined_by: Option<String>,
    /// Version of the detectors that took secrets out of this journal; empty before there were versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detectors: String,
    /// Values that policies may name, such as `{spill}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
}

impl SessionOpened {
    /// The session is another agent's, seen through its hook: calls are proposed without requests of ours, and what is let
    /// through runs elsewhere.
    pub fn is_watched(&self) -> bool {
        self.model.starts_with("hook:")
    }

    /// Which conversation this is, among those of one run.
    pub fn lane(&self) -> Lane {
        self.parent.as_ref().map_or_else(Lane::main, |parent| parent.lane.child(parent.number))
    }

    /// What the model costs. A script costs nothing where no price is named, nor does what another agent pays for.
    pub fn price(&self) -> Option<Price> {
        let free = self.is_watched() || self.model.starts_with("script:");
        self.price.clone().or(free.then_some(Price::NOTHING))
    }
}

/// Where a sub-session comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The session.
    pub session: SessionId,
    /// Its call.
    pub call: CallId,
    /// Which of its sub-sessions this is, from 1, in the order of the calls that asked for them.
    pub number: u32,
    /// The lane of that session.
    #[serde(default, skip_serializing_if = "is_main")]
    pub lane: Lane,
}

fn is_main(lane: &Lane) -> bool {
    *lane == Lane::main()
}

/// One policy file in force, whole, so that decisions can be recomputed from the journal alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySource {
    /// The layer it counts as.
    pub layer: Layer,
    /// The name that traces give.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Found in a repository and not trusted: only *ask* and *deny* count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_tightens: bool,
}

/// A skill on the menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its name, which is its folder's name.
    pub name: String,
    /// One line for the menu.
    pub description: String,
    /// The tools that loading it reveals.
    pub tools: Vec<String>,
    /// Its instructions.
    pub body: String,
}

/// What an *ask* does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// A person at the terminal is asked.
    Prompt,
    /// The session stops as `needs_approval` and can be resumed.
    Pause,
    /// The model is told `DENIED_UNATTENDED`.
    Deny,
}

/// What ends a run instead of being told to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopOn {
    /// A refused call.
    Deny,
    /// A failed call.
    Error,
}

/// Something that must hold before a session may call itself completed. Run by the harness, never by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Check {
    /// A program that must end with exit code 0.
    Run {
        /// Its words; never a shell string.
        run: Vec<String>,
    },
    /// A file that must hold a text.
    File {
        /// Path, relative to the workspace.
        file: String,
        /// The text.
        contains: String,
    },
    /// A JSON file that must hold a value.
    Json {
        /// Path, relative to the workspace.
        json: String,
        /// JSON Pointer (RFC 6901).
        pointer: String,
        /// The value.
        equals: Value,
    },
}
