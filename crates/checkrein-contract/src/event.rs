//! Events: what the journal holds. The state of a session is a fold of these and of nothing else.
//!
//! Every event has a sequence number, a time, an actor (`by`) and a body. Bodies are versioned together by
//! [`EVENT_VERSION`]: a field may be added with a default; anything else needs a new version. A kind that a reader does not
//! know is refused: it may change what follows. What may be passed over is a [`Note`].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::{
    Answer, ApprovalId, ApprovalRequest, Budget, CallId, CallKind, Code, Compacted, Decision, Digest, Facts, Limit,
    ProposedCall, Recomposed, Remembered, RuleId, SessionId, SessionOpened, Settlement, Spend, Stop, Usage,
};

/// The version of all event bodies (`"v"` in every line).
pub const EVENT_VERSION: u32 = 1;

/// Who did it. A veto, a trim or a cap is never credited to the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The language model: only proposals.
    Model,
    /// The harness.
    Code,
    /// A person, by name.
    Person(String),
    /// A hook, by name.
    Hook(String),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Code => f.write_str("code"),
            Self::Person(name) => write!(f, "person:{name}"),
            Self::Hook(name) => write!(f, "hook:{name}"),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once(':') {
            None if text == "model" => Ok(Self::Model),
            None if text == "code" => Ok(Self::Code),
            Some(("person", name)) => Ok(Self::Person(name.to_owned())),
            Some(("hook", name)) => Ok(Self::Hook(name.to_owned())),
            _ => Err(de::Error::custom(format_args!("`{text}` is no actor (model, code, person:NAME, hook:NAME)"))),
        }
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`EVENT_VERSION`] when it was written.
    pub v: u32,
    /// Position in its session, from 1.
    pub seq: u64,
    /// Milliseconds since 1970, from the harness's clock.
    pub at: u64,
    /// Who did it.
    pub by: Actor,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened. The `type` in the line is the variant's name in snake case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// The session begins; everything that is in force.
    Session(Box<SessionOpened>),
    /// A process took the session up again.
    Resumed {
        /// Version of the harness that did.
        harness: String,
    },
    /// Something else is in force from here on.
    Recomposed(Box<Recomposed>),
    /// A person said something after the beginning.
    Input {
        /// The call that asked, when one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The words.
        text: String,
    },
    /// A request is about to be sent. Written before, so that a lost reply is still charged.
    Request {
        /// Number of the turn, from 1.
        turn: u32,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Digest of the whole request.
        digest: Digest,
        /// Digest of the part that earlier requests had too (instructions, tools, messages so far).
        prefix: Digest,
        /// Estimated input tokens, charged if no reply is recorded.
        estimate: u64,
        /// The ceiling given for the reply, tokens.
        max_output: u32,
        /// The last request, without tools, and the limit that made it the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<Limit>,
        /// The harness itself asks for a summary of the first so many messages that requests showed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summarises: Option<u64>,
    },
    /// A request failed.
    RequestFailed {
        /// Number of the turn.
        turn: u32,
        /// Why, for machines.
        code: Code,
        /// Why, for people.
        reason: String,
        /// It will be tried again.
        retry: bool,
        /// What it is charged with: the request, and as much of the reply as had come. Absent in older journals: then
        /// the request alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The model's reply, parsed.
    Proposal {
        /// Number of the turn.
        turn: u32,
        /// Which of the kinds it is.
        kind: ProposalKind,
        /// Its text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Its calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ProposedCall>,
        /// Tokens.
        usage: Usage,
        /// What the provider wants back with the next request.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        provider: Value,
        /// Why it is malformed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defect: Option<Code>,
    },
    /// The harness checks the work; the calls that follow with these ids are its own.
    Check(CheckRound),
    /// The harness reads instruction files; the calls that follow with these ids are its own.
    Instructions(CheckRound),
    /// A hook changed the arguments of a call.
    Hook(HookNote),
    /// One call was decided.
    Decision {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The decision with its trace.
        #[serde(flatten)]
        decision: Decision,
        /// The answers it rests on.
        #[serde(default, skip_serializing_if = "facts_are_empty")]
        facts: Facts,
        /// What an approval of this call would have to bind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binds: Option<Digest>,
    },
    /// A person is asked.
    Ask(Box<ApprovalRequest>),
    /// The person answered.
    Approval {
        /// The request.
        id: ApprovalId,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
    },
    /// A person's answer did not count: it came too late, a second time, or from somebody who may not give it.
    AnswerRefused {
        /// The request.
        id: ApprovalId,
        /// Why, for machines.
        code: Code,
        /// Why, for people.
        reason: String,
    },
    /// A person wants a yes of theirs to count for more than the one call.
    Remembered(Box<Remembered>),
    /// A person does not want that any more.
    Forgotten {
        /// The remembered yes.
        rule: RuleId,
        /// Why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// Digest over all policy files without it.
        policy_digest: Digest,
    },
    /// A call is about to run. Flushed before anything that is not pure.
    Started {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What may be repeated.
        kind: CallKind,
        /// The approval it uses up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
        /// Idempotency key, given to tools that can use one.
        key: Digest,
    },
    /// A person said what became of a call that was started and has no end.
    Settled {
        /// The call.
        call: CallId,
        /// What became of it.
        #[serde(rename = "as")]
        settlement: Settlement,
        /// In the person's words; the model reads them.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A call is over, one way or another.
    Finished(Box<Finished>),
    /// Results were left out of a request.
    Trim {
        /// Number of the turn.
        turn: u32,
        /// The context policy that did.
        policy: String,
        /// What was newly left out.
        results: Vec<TrimmedResult>,
    },
    /// The beginning of the conversation was put away.
    Compacted(Box<Compacted>),
    /// A person set other limits. A session that a limit ended goes on with these.
    Budget {
        /// All limits that hold from now on; what was used before counts against them.
        budget: Budget,
    },
    /// The session stops, for good or until somebody answers.
    Stop(Stop),
    /// Something worth keeping that changes nothing of the session: readers that do not know it pass it over.
    Note(Note),
}

impl Body {
    /// The `type` of the line.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Resumed { .. } => "resumed",
            Self::Recomposed(_) => "recomposed",
            Self::Input { .. } => "input",
            Self::Request { .. } => "request",
            Self::RequestFailed { .. } => "request_failed",
            Self::Proposal { .. } => "proposal",
            Self::Check(_) => "check",
            Self::Instructions(_) => "instructions",
            Self::Hook(_) => "hook",
            Self::Decision { .. } => "decision",
            Self::Ask(_) => "ask",
            Self::Approval { .. } => "approval",
            Self::AnswerRefused { .. } => "answer_refused",
            Self::Remembered(_) => "remembered",
            Self::Forgotten { .. } => "forgotten",
            Self::Started { .. } => "started",
            Self::Settled { .. } => "settled",
            Self::Finished(_) => "finished",
            Self::Trim { .. } => "trim",
            Self::Compacted(_) => "compacted",
            Self::Budget { .. } => "budget",
            Self::Stop(_) => "stop",
            Self::Note(_) => "note",
        }
    }
}

fn facts_are_empty(facts: &Facts) -> bool {
    facts.is_empty()
}

/// Something worth keeping that no state follows from. Names that a version does not know are kept as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// What kind of note it is, such as `pruned`.
    pub name: String,
    /// What it says.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// One round of checks, or of instruction files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRound {
    /// Number of the round, from 1.
    pub round: u32,
    /// The harness's own calls.
    pub calls: Vec<ProposedCall>,
}

/// The kinds of proposal: exactly three, and what is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// Tool calls.
    Calls,
    /// A skill to load, and nothing else.
    Skill,
    /// An answer.
    Answer,
    /// None of these.
    Malformed,
}

/// A hook changed the arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookNote {
    /// The call.
    pub call: CallId,
    /// Arguments before.
    pub old: Value,
    /// Arguments after.
    pub new: Value,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishedAs {
    /// It ran and gave a result.
    Ok,
    /// It was refused and never ran.
    Refused,
    /// It ran and failed.
    Failed,
    /// It was started, and nobody knows.
    Unknown,
    /// It was never started.
    NotStarted,
    /// A hook answered in its place; nothing ran.
    Answered,
    /// It was let through to the agent that asked for it; what became of it is not known here.
    Left,
}

/// The end of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// How it ended.
    #[serde(rename = "as")]
    pub ended: FinishedAs,
    /// Why it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Why, for the operator: the chain of causes behind the code. No model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What the model reads.
    pub text: String,
    /// Something was left out of the text, and the text says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Digest of the canonical value; the value itself stays out of the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Digest>,
    /// What a person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Presentation>,
    /// Where the result comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// File versions that this call saw or made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
    /// What it changes in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<SessionChange>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
}

impl Finished {
    /// The end of a call of which nothing is kept but how it ended and what is said of it.
    pub fn bare(call: CallId, tool: String, ended: FinishedAs, code: Option<Code>, text: String) -> Self {
        Self {
            call,
            tool,
            ended,
            code,
            cause: None,
            text,
            cut: false,
            value: None,
            shown: None,
            sources: Vec::new(),
            seen: Vec::new(),
            change: None,
            duration_ms: 0,
        }
    }
}

/// What a person is shown beside the text for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "show", rename_all = "snake_case")]
pub enum Presentation {
    /// A unified diff.
    Diff {
        /// The path, relative to the workspace.
        path: String,
        /// The diff, bounded.
        text: String,
    },
    /// One line instead of the text.
    Line {
        /// The line.
        text: String,
    },
}

/// A version of a file that the model has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Absolute real path.
    pub path: String,
    /// Digest of its content; `None` when it was seen to be absent.
    pub version: Option<Digest>,
}

/// What a session tool changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum SessionChange {
    /// A skill was loaded: its tools are visible from now on.
    SkillLoaded {
        /// The skill.
        skill: String,
    },
    /// A sub-session is over, and what it used counts here as well.
    Delegated {
        /// The sub-session.
        session: SessionId,
        /// What it used.
        spend: Spend,
    },
}

/// A result that was left out of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimmedResult {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Estimated tokens that it saves.
    pub tokens: u64,
}

/// A source that a result rests on, for the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// A path relative to the workspace, or another name for the source.
    pub source: String,
    /// The call that brought it.
    pub call: CallId,
}
