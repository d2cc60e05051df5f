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
}

/// A pure function of the history, applied afresh at each request.
///
/// Whatever it does, it keeps a call and its result together, keeps every message that is no tool result, and says what
/// it left out. It recognises results by their role, never by how their text begins.
///
/// ```
/// use std::sync::Arc;
/// use checkrein_contract::{ContextPolicy, Message, Trimmed};
///
/// struct Everything;
/// impl ContextPolicy for Everything {
///     fn name(&self) -> &str { "everything" }
///     fn parameters(&self) -> serde_json::Value { serde_json::json!({}) }
///     fn apply(&self, history: &[Arc<Message>]) -> Trimmed {
///         Trimmed { messages: history.to_vec(), left_out: Vec::new() }
///     }
/// }
/// ```
pub trait ContextPolicy: Send + Sync {
    /// The name in `[context]` and in trim events.
    fn name(&self) -> &str;

    /// Its numbers, as the session records them.
    fn parameters(&self) -> Value;

    /// What a request with this history shows.
    fn apply(&self, history: &[Arc<Message>]) -> Trimmed;
}
