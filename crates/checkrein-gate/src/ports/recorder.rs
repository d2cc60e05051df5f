//! Where events go before anything happens because of them.

use checkrein_contract::{Actor, Body};
use thiserror::Error;

/// The journal could not be written. Nothing may run after this.
#[derive(Debug, Error)]
#[error("the journal could not be written: {reason}")]
pub struct RecordFailure {
    /// The whole chain, for the operator.
    pub reason: String,
}

/// The journal, as the gate sees it.
pub trait Recorder: Send {
    /// Adds an event. It may wait in memory until the next [`Recorder::flush`].
    ///
    /// # Errors
    /// [`RecordFailure`] when the event can not be taken.
    fn record(&mut self, by: Actor, body: Body) -> Result<(), RecordFailure>;

    /// Returns when every event so far is durable.
    ///
    /// # Errors
    /// [`RecordFailure`] when they are not, or another process wrote to the session in between.
    fn flush(&mut self) -> Result<(), RecordFailure>;
}
