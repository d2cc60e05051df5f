//! Guards that ship.

mod repeat;

pub use repeat::{REFUSE_AT, RepeatedFailures, STOP_AT};

/// The name of the guard whose refusals have a code of their own.
pub(crate) const REPEAT: &str = "repeated-failures";
