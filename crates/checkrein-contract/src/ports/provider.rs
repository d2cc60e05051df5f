//! Providers: whatever answers a request. Untrusted: what comes back is a proposal, never an action.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::BoxFuture;
use crate::{Code, Lane, Message, ToolSpec, Usage};

/// A request, whole. Its canonical JSON, with its lane, is what cassettes key on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRequest {
    /// The model.
    pub model: String,
    /// Instructions.
    pub system: String,
    /// What may be called, in a fixed order.
    pub tools: Vec<ToolSpec>,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// Whether calls are welcome.
    pub tool_choice: ToolChoice,
    /// Ceiling of the reply in tokens; never 0.
    pub max_output_tokens: u32,
    /// Which conversation it belongs to. Not part of what the model sees.
    #[serde(skip)]
    pub lane: Lane,
    /// What the provider asked to get back last. Not part of what the model sees, so not part of the request's identity.
    #[serde(skip)]
    pub provider: Value,
}

/// Whether a reply may call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// Not at all: the last request of a session whose budget is spent, or a request for a summary.
    None,
}

/// A piece of a reply while it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// What came before in this attempt does not count: the attempt failed.
    Void,
}

/// A call as the wire carried it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall {
    /// The tool it names.
    pub tool: String,
    /// The arguments, not parsed yet.
    pub arguments: String,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It reached its length limit: what it holds may be cut anywhere.
    Length,
}

/// A whole reply. A stream that broke off is a [`ProviderError`], never one of these.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// Its text.
    pub text: String,
    /// Its calls, in order.
    pub calls: Vec<RawCall>,
    /// Why it ended.
    pub stop: StopReason,
    /// Tokens, where the provider counts them.
    pub usage: Option<Usage>,
    /// Milliseconds that the clock is to be moved by, for a provider with virtual time; else 0.
    pub virtual_ms: u64,
    /// What the provider wants back with the next request.
    pub provider: Value,
}

/// What went wrong between us and a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFault {
    /// Too many requests.
    RateLimited,
    /// The other side is broken or overloaded.
    Server,
    /// The stream ended without saying why.
    Broken,
    /// The request was refused; sending it again will not help.
    Refused,
    /// The request is longer than the model takes.
    TooLong,
    /// A script has no step for this request.
    ScriptExhausted,
    /// A script has a step that no request reached.
    ScriptUnused,
    /// A cassette has nothing recorded for this request.
    CassetteMiss,
    /// A cassette has something recorded that no request reached.
    CassetteUnused,
    /// What a cassette holds does not read as it did when it was recorded.
    CassetteBroken,
    /// What is recorded and what happened are not the same.
    CassetteDiffers,
}

impl ProviderFault {
    /// Whether the same request may be sent again.
    pub fn can_retry(self) -> bool {
        matches!(self, Self::RateLimited | Self::Server | Self::Broken)
    }
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}")]
pub struct ProviderError {
    /// Which kind.
    pub fault: ProviderFault,
    /// For the operator.
    pub message: String,
    /// How long the other side wants us to wait, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What the provider wants back with the next request.
    pub provider: Value,
}

impl ProviderError {
    /// Whether the same request may be sent again.
    pub fn can_retry(&self) -> bool {
        self.fault.can_retry()
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self.fault {
            ProviderFault::ScriptExhausted => Code::ScriptExhausted,
            ProviderFault::ScriptUnused => Code::ScriptUnused,
            ProviderFault::CassetteMiss => Code::CassetteMiss,
            ProviderFault::CassetteUnused => Code::CassetteUnused,
            ProviderFault::CassetteBroken => Code::CassetteBroken,
            ProviderFault::CassetteDiffers => Code::CassetteDiffers,
            ProviderFault::RateLimited | ProviderFault::Server | ProviderFault::Broken | ProviderFault::Refused => {
                Code::ProviderFailed
            }
            ProviderFault::TooLong => Code::ContextOverflow,
        }
    }
}

/// Something that answers requests.
///
/// A provider keeps nothing between requests that the next process would miss: what it must remember travels in
/// `provider`, which the harness records and hands back.
///
/// ```
/// use checkrein_contract::{BoxFuture, Delta, ModelReply, ModelRequest, Provider, ProviderError, StopReason};
///
/// struct Parrot;
/// impl Provider for Parrot {
///     fn model(&self) -> &str { "parrot" }
///     fn complete<'a>(
///         &'a self,
///         request: &'a ModelRequest,
///         on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
///     ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
///         Box::pin(async move {
///             on_delta(Delta::Text("hello"));
///             Ok(ModelReply { text: "hello".into(), calls: vec![], stop: StopReason::End, usage: None, virtual_ms: 0,
///                             provider: request.provider.clone() })
///         })
///     }
/// }
/// ```
pub trait Provider: Send + Sync {
    /// The model, as sessions record it.
    fn model(&self) -> &str;

    /// Sends one request and waits for the whole reply; pieces are handed on as they come.
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>>;

    /// Called when a session completed, with what the provider asked to get back last. A script complains here about
    /// steps that no request reached, a cassette about rows.
    ///
    /// # Errors
    /// A [`ProviderError`] makes the session fail with its code.
    fn close(&self, _provider: &Value) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Called behind [`Provider::close`] when a session completed that is no part of another, with what was handed back last
    /// on every lane that there was: its own and those of its sub-sessions. What was meant for a sub-session that there never
    /// was is complained of here.
    ///
    /// # Errors
    /// A [`ProviderError`] makes the session fail with its code.
    fn ended(&self, _lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Who answers the requests of a session's sub-session, counted from 1; `None` is this one as well.
    fn delegate(&self, _number: u32) -> Option<Arc<dyn Provider>> {
        None
    }

    /// Time is virtual here: the clock moves by `virtual_ms` of a reply and by the waits before a retry, and nobody
    /// sleeps.
    fn virtual_time(&self) -> bool {
        false
    }
}
