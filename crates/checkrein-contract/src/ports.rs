//! The two ports that stand on nothing but the shared words: who answers a request, and what a request may leave out.

mod context;
mod provider;

use std::future::Future;
use std::pin::Pin;

pub use context::{ContextPolicy, Summarise, Trimmed};
pub use provider::{
    Delta, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, RawCall, StopReason, ToolChoice,
};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
