//! What a session has to do with a cassette: it is recorded into one, or a cassette is its model.

use serde::{Deserialize, Serialize};

/// The cassette of a session. `model` of the session is the model that was recorded, in both cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CassetteUse {
    /// What is done with it.
    pub mode: CassetteMode,
    /// The file, absolute, or relative to the task folder.
    pub file: String,
}

/// What a session does with a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CassetteMode {
    /// It answers the requests; no model is asked.
    Replay,
    /// As [`CassetteMode::Replay`], but a request that is not recorded gets the answer of the row that stands next, and the
    /// session fails at its end.
    Lenient,
    /// What the model answers is written into it.
    Record,
    /// The model answers, and what it answers is held against what is recorded.
    Verify,
}
