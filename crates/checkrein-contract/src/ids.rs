//! Identifiers and digests: newtypes over text, so that one kind can not be given where another is meant.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a text as this kind of id; any text is accepted.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// One task from start to stop; `s-` and eight hex digits.
    SessionId
}
text_id! {
    /// One call. Always given by the harness (`c4-1`: first call of the fourth proposal; `v1-1`: first check of the first
    /// verification round), never by the model, so that it is unique in its session by construction.
    CallId
}
text_id! {
    /// One yes that a person wants remembered; `r-` and ten hex digits, derived from the request that it answers.
    RuleId
}
text_id! {
    /// One approval request; `a-` and ten hex digits, derived from session, call and position in the journal.
    ApprovalId
}

/// A SHA-256 digest in lower-case hex (64 characters).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts(&[bytes])
    }

    /// The digest of several byte strings one after the other. Callers that need the borders to count must write them.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = sha2::Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self::hex(&hasher.finalize())
    }

    /// The digest of whatever a function feeds in, piece by piece.
    ///
    /// # Errors
    /// The function's own.
    pub fn of_stream<E>(feed: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>) -> Result<Self, E> {
        let mut hasher = sha2::Sha256::new();
        feed(&mut |piece| hasher.update(piece))?;
        Ok(Self::hex(&hasher.finalize()))
    }

    fn hex(bytes: &[u8]) -> Self {
        let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Self(nibbles.map(|nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('0')).collect())
    }

    /// Takes a digest that was written down earlier; `None` unless it is 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let well_formed = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self(text.to_owned()))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
