//! Panics of code that is not ours (tools, hooks, guards) become values here.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

/// The text of a panic.
pub(crate) struct Panicked(pub(crate) String);

/// Calls a function; a panic becomes a value.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| Panicked(text_of(&*payload)))
}

/// Begins a future and drives it; a panic becomes a value, also one before there is a future at all.
pub(crate) async fn catch_async<T, F: Future<Output = T>>(begin: impl FnOnce() -> F) -> Result<T, Panicked> {
    let mut future = pin!(catch(begin)?);
    poll_fn(|context| match catch(|| future.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(panicked) => std::task::Poll::Ready(Err(panicked)),
    })
    .await
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}
