//! How a tool or a program behaves, as the model asks for it by a word. One list, for both.

use checkrein::contract::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The behaviours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    /// It does it and says so.
    #[default]
    Well,
    /// It takes eight seconds.
    Slow,
    /// It does nothing and says so: an error, or exit code 3.
    Fails,
    /// It does it, and reports a failure.
    FailsAfter,
    /// It panics; of a program: a signal ends it.
    Breaks,
    /// It does nothing, and never ends.
    Hangs,
    /// It sends the effect off and never ends; the effect arrives after the harness gave up.
    Late,
    /// It says far more than fits.
    Huge,
    /// It says bytes that are no text, and terminal escapes; of a tool: a value that its schema does not allow.
    Odd,
}

impl How {
    /// With its name and how often a model asks for it.
    pub(crate) const ALL: [(Self, &'static str, u32); 9] = [
        (Self::Well, "well", 12),
        (Self::Slow, "slow", 2),
        (Self::Fails, "fails", 2),
        (Self::FailsAfter, "fails_after", 2),
        (Self::Breaks, "breaks", 1),
        (Self::Hangs, "hangs", 1),
        (Self::Late, "late", 1),
        (Self::Huge, "huge", 1),
        (Self::Odd, "odd", 1),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(how, _, _)| *how == self).map_or("?", |(_, name, _)| name)
    }

    pub(crate) fn of(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map_or(Self::Well, |(how, _, _)| *how)
    }
}

/// A text that fits no result, the same for the same word.
pub(crate) fn huge(word: &str) -> String {
    let digest = Digest::of(word.as_bytes());
    format!("{}\n", digest.as_str()).repeat(1_100)
}
