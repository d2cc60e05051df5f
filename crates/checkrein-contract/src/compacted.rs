//! What stands for the beginning of a conversation from some point on. The journal keeps all of it; requests show this.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, Code, Usage};

/// The first messages of what requests show were put away. What the person said among them stays, word for word, and so do the
/// instruction files; what holds besides is said again by the harness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// Number of the turn: that of the request for the summary, or of the request that comes next.
    pub turn: u32,
    /// The context policy that wanted it.
    pub policy: String,
    /// So many messages were put away, from the first that requests showed.
    pub upto: u64,
    /// Estimated tokens of what is not shown any more.
    pub tokens: u64,
    /// The calls whose exchanges are not shown any more, since the time before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallId>,
    /// What stands for them, in the words of a model that was shown them. Without one the harness lists the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why there is no summary, for machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Code>,
    /// Why there is no summary, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the reply used; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the provider wants back with the next request.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub provider: Value,
}
