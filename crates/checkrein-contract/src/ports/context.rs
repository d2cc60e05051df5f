//! Context policies: what of the history a request shows.

use std::sync::Arc;

use serde_json::Value;

use crate::{Message, TrimmedResult};

/// What a policy made of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trimmed {
    /// The messages that the request shows.
    pub messages: Vec<Arc<Message>>,
    /// The results that were left out, oldest first.
    pub left_out: Vec<TrimmedResult>,
    /// Leaving out results is not enough: the beginning should be put away. The session sees to it, and asks again.
    pub summarise: Option<Summarise>,
}

/// What a policy wants to have put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summarise {
    /// The first so many messages. The message behind them is no result, so that no call is parted from its own.
    pub upto: usize,
    /// The most that a request for a summary of them may have, estimated tokens.
    pub within: u64,
    /// The most that the summary may have, tokens.
    pub tokens: u32,
}

/// A pure function of the history, applied afresh at each request.
///
/// Whatever it does, it keeps a call and its result together, keeps every message that is no tool result, and says what
/// it left out. It recognises results by their role, never by how their text begins.
///
/// `room` is set where a model did not take as much as the policy showed: the most that all messages may have together,
/// estimated tokens. A policy that can not keep to it by leaving out results says so in [`Trimmed::summarise`].
///
/// ```
/// use std::sync::Arc;
/// use checkrein_contract::{ContextPolicy, Message, Trimmed};
///
/// struct Everything;
/// impl ContextPolicy for Everything {
///     fn name(&self) -> &str { "everything" }
///     fn parameters(&self) -> serde_json::Value { serde_json::json!({}) }
///     fn apply(&self, history: &[Arc<Message>], _room: Option<u64>) -> Trimmed {
///         Trimmed { messages: history.to_vec(), ..Trimmed::default() }
///     }
/// }
/// ```
pub trait ContextPolicy: Send + Sync {
    /// The name in `[context]` and in trim events.
    fn name(&self) -> &str;

    /// Its numbers, as the session records them.
    fn parameters(&self) -> Value;

    /// What a request with this history shows.
    fn apply(&self, history: &[Arc<Message>], room: Option<u64>) -> Trimmed;
}
