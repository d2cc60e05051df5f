//! The lane of a request: which conversation of a session it belongs to. It must hold nothing that differs between two runs
//! (no id, no time), so that what was recorded of several conversations at once is found again in any order.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `main` for the session itself; for the N-th sub-session of a lane, that lane and `/N`: `main/2`.
///
/// ```
/// use checkrein_contract::Lane;
///
/// assert_eq!(Lane::main().child(2).child(1).to_string(), "main/2/1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lane(String);

impl Lane {
    /// The session's own.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// That of a sub-session; `number` counts the sub-sessions of this lane, from 1, in the order of the calls that asked
    /// for them.
    pub fn child(&self, number: u32) -> Self {
        Self(format!("{}/{number}", self.0))
    }

    /// The lane as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self::main()
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
