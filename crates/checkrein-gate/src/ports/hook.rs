//! Hooks: code of the host around a call. They may change arguments and results, answer in a tool's place, ask or deny.
//! They can not allow: the policy is asked whatever they say.

use checkrein_contract::{BoxFuture, Call};
use serde_json::Value;
use thiserror::Error;

use super::Failure;

/// A hook that failed. Before a call that is a refusal, after it an error result.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct HookFailure(pub String);

/// What a hook says before a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Nothing. The policy decides.
    Continue,
    /// Other arguments. They are journaled, validated again, and everything is computed from them.
    Change(Value),
    /// A person should say yes first.
    Ask(String),
    /// No.
    Deny(String),
}

/// What a hook says after a call that gave a value.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// Nothing.
    Keep,
    /// Another value; it is checked against the output schema like the tool's own.
    Change(Value),
    /// The result must not be used.
    Fail(String),
}

/// The result of the tool's body, or of a hook in its place.
pub type Around = Result<Value, Failure>;

/// The rest of the way: inner hooks and the tool itself. Taken by value, so that it runs at most once.
pub struct Next<'a> {
    run: Box<dyn FnOnce() -> BoxFuture<'a, Around> + Send + 'a>,
}

impl<'a> Next<'a> {
    pub(crate) fn new(run: impl FnOnce() -> BoxFuture<'a, Around> + Send + 'a) -> Self {
        Self { run: Box::new(run) }
    }

    /// Goes on.
    pub async fn run(self) -> Around {
        (self.run)().await
    }
}

/// Code of the host around a call; every part has a default that does nothing.
///
/// Hooks run in the order they are listed, before and around; after the call in the reverse order.
///
/// ```
/// use checkrein_contract::{BoxFuture, Call};
/// use checkrein_gate::{Before, Hook, HookFailure};
///
/// /// Allows the first calls of a tool and denies the rest.
/// struct FirstOnly(std::sync::atomic::AtomicU32);
/// impl Hook for FirstOnly {
///     fn name(&self) -> &str { "first-only" }
///     fn before<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Before, HookFailure>> {
///         let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         Box::pin(async move { Ok(if n == 0 { Before::Continue } else { Before::Deny("once is enough".into()) }) })
///     }
/// }
/// ```
pub trait Hook: Send + Sync {
    /// The name that events give (`hook:NAME`).
    fn name(&self) -> &str;

    /// Before the call is judged. Also asked again when a paused call is judged anew.
    fn before<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Before, HookFailure>> {
        Box::pin(async { Ok(Before::Continue) })
    }

    /// Around the run. Not calling `next` answers in the tool's place; that is recorded as an answer, not as a run.
    fn around<'a>(&'a self, _call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Around> {
        Box::pin(next.run())
    }

    /// After a run that gave a value.
    fn after<'a>(&'a self, _call: &'a Call, _value: &'a Value) -> BoxFuture<'a, Result<After, HookFailure>> {
        Box::pin(async { Ok(After::Keep) })
    }
}
