//! Detectors of secrets: rules for shapes (`rules.rs`, its data in the `.txt` files), private keys, and values that are known.
//!
//! A detector looks at one place of a text, where its keyword stands, and says what is there by the bytes around it alone.
//! So it makes no difference how a text comes: whole, or in pieces that are cut anywhere.

pub(crate) mod entropy;
pub(crate) mod files;
pub(crate) mod forms;
pub(crate) mod known;
pub(crate) mod private_key;
pub(crate) mod rules;
#[cfg(test)]
mod samples;
pub(crate) mod tail;
pub(crate) mod value;

/// What is seen at one place of a text.
#[derive(Clone, Debug)]
pub(crate) enum Look {
    /// No secret.
    Nothing,
    /// It depends on what comes behind the end of what is there so far.
    Undecided,
    /// A secret.
    Secret {
        /// Its bytes.
        range: std::ops::Range<usize>,
        /// What it is, for the marker.
        name: std::sync::Arc<str>,
        /// How it goes on behind its range, when it does.
        tail: Option<tail::Tail>,
    },
}
