//! The rows of a cassette, as they stand in its lines. Plain data; what they mean is said elsewhere.

use checkrein_contract::{CallId, CallKind, Digest, Lane, ProviderFault, StopReason, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub(crate) enum Row {
    /// The first line.
    Cassette(Header),
    /// One attempt at one request.
    Model(Box<Exchange>),
    /// What came of one call, as the model read it.
    Tool(ToolExchange),
}

/// The first line: what was in force when the cassette was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Version of the harness.
    pub harness: String,
    /// When it was begun, from the harness's clock, as `2026-12-01T00:00:00Z`.
    pub recorded_at: String,
    /// The model that was asked, as the session records it.
    pub model: String,
    /// The names that the servers gave themselves in their answers.
    pub answered: Vec<String>,
    /// Who answered.
    pub server: AnsweredBy,
    /// The task.
    pub task: TaskRef,
    /// What the session was made of.
    pub digests: Digests,
    /// Version of the detectors that took secrets out.
    pub detectors: String,
    /// Version of what reads the streams.
    pub parser: u32,
    /// When its answers were given new keys, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rekeyed: Vec<ReKeyed>,
}

/// The answers were kept while tools were described otherwise: no model gave them to these requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReKeyed {
    /// When, as `recorded_at`.
    pub at: String,
    /// The tools whose words or schemas were others.
    pub tools: Vec<String>,
}

impl Header {
    /// The version of the format that is written.
    pub const VERSION: u32 = VERSION;

    /// A time of the harness's clock, milliseconds since 1970, as `recorded_at` has it.
    pub fn time(ms: u64) -> String {
        let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_string()
    }

    /// When it was recorded, milliseconds since 1970; nothing where the header does not say it.
    pub fn recorded_ms(&self) -> Option<u64> {
        let at: Timestamp = self.recorded_at.parse().ok()?;
        u64::try_from(at.as_millisecond()).ok()
    }
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// A server of a vendor, or one at another address that is not this machine.
    Remote,
    /// A server on the machine that recorded it: no vendor's.
    Loopback,
    /// No server: a script, or a model of the host's own.
    None,
    /// It was made from a journal, which does not say.
    Journal,
}

/// Where the task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskRef {
    /// A task folder, relative to the folder that the cassette is in.
    Folder(String),
    /// Words that were typed.
    Words(String),
}

/// Digests of what a session is made of, to tell what has changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// `task.toml`, or the words.
    pub config: Digest,
    /// The tools, as requests show them.
    pub tools: Digest,
    /// The policy of the task.
    pub policy: Digest,
    /// The instructions.
    pub system: Digest,
}

/// One attempt at one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    pub(crate) lane: Lane,
    /// Which row of its lane, from 1.
    pub(crate) n: usize,
    /// Which attempt at this request, from 1.
    pub(crate) attempt: u32,
    /// Digest of lane and request.
    pub(crate) key: Digest,
    pub(crate) request: Change,
    pub(crate) credential: Credential,
    pub(crate) outcome: Outcome,
    /// The answer, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
}

/// A request, by what it has beside the one before it on its lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub(crate) enum Change {
    /// All of it: the first of a lane, and whenever what came before is not kept as it was.
    Whole { whole: Map<String, Value> },
    /// These messages at its end.
    More {
        more: Vec<Value>,
        /// Fields that are others, but for the messages.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        set: Map<String, Value>,
    },
}

/// What kind of key the request was sent with. What it was is written down nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Credential {
    Absent,
    Present,
    /// The server did not take it.
    Invalid,
    /// Nobody knows any more.
    Unknown,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Reply(Reply),
    Failed(Failure),
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<Block>,
    #[serde(with = "StopName")]
    pub(crate) stop: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    /// What the provider wants back.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) provider: Value,
    /// What the clock is moved by, of a model with virtual time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) virtual_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A part of a reply, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Block {
    Text(String),
    Call { tool: String, arguments: String },
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    #[serde(with = "FaultName")]
    pub(crate) fault: ProviderFault,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
    /// What the provider wants back with the next attempt.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) provider: Value,
    /// What was seen of the reply before it broke off.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) said: String,
}

/// An answer, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// It is a stream of events.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) streams: bool,
    /// What its headers said of a wait, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wait_ms: Option<u64>,
    /// Why nothing more came, where that was not its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) broke: Option<String>,
    /// The lengths of the pieces that it came in, bytes.
    pub(crate) pieces: Vec<usize>,
    pub(crate) body: Body,
}

/// Bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// As the text that they are.
    Text(String),
    /// In hexadecimal, where they are no text.
    Hex(String),
    /// Left out: a secret lies across its pieces.
    Withheld,
}

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolExchange {
    pub(crate) lane: Lane,
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// Digest of its arguments.
    pub(crate) args: Digest,
    /// Whether it may be repeated; nothing where no such tool is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<CallKind>,
    /// Digest of its result, as the model read it.
    pub(crate) result: Digest,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed: bool,
}

/// How a reply ended, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "StopReason", rename_all = "snake_case")]
enum StopName {
    End,
    Calls,
    Length,
}

/// What went wrong, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ProviderFault", rename_all = "snake_case")]
enum FaultName {
    RateLimited,
    Server,
    Broken,
    Refused,
    TooLong,
    ScriptExhausted,
    ScriptUnused,
    CassetteMiss,
    CassetteUnused,
    CassetteBroken,
    CassetteDiffers,
}
