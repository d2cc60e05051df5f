//! What a person says of a call that a lost process left running.

use serde::{Deserialize, Serialize};

/// What a person says became of a call of which nobody else knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It may be run again, with the same idempotency key.
    Repeat,
    /// It took effect.
    Done,
    /// It did not take effect, and is not to be run again.
    Failed,
    /// The person can not tell either: the model is told that nobody knows.
    Unknown,
}

impl Settlement {
    /// All of them, in the order that people are offered them.
    pub const ALL: [Self; 4] = [Self::Repeat, Self::Done, Self::Failed, Self::Unknown];

    /// The word as people type it and events spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}
