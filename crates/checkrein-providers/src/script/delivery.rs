//! How a reply gets to whoever asked: whole or cut, at once or slowly. Steps say it, and so does whoever serves a script
//! over a wire.

use std::num::NonZeroUsize;

use serde::Deserialize;

/// How a reply is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) cut: Option<Cut>,
    /// Milliseconds before anything of it.
    pub(crate) delay_ms: u64,
    /// Milliseconds before each piece of its text.
    pub(crate) piece_ms: u64,
    /// On a wire: at most so many bytes at a time.
    pub(crate) chunk_bytes: Option<NonZeroUsize>,
    pub(crate) ids: Ids,
}

/// Where a reply breaks off, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Behind so many bytes of its text.
    pub(crate) after: usize,
    pub(crate) by: CutBy,
}

impl Cut {
    /// A cut as its two keys say it.
    ///
    /// # Errors
    /// What is wrong: a way to cut without a place for it.
    pub(crate) fn new(after: Option<usize>, by: Option<CutBy>) -> Result<Option<Self>, String> {
        match (after, by) {
            (None, Some(_)) => Err("`cut_by` says how a reply breaks off; say where, with `cut_after`".to_owned()),
            (after, by) => Ok(after.map(|after| Self { after, by: by.unwrap_or_default() })),
        }
    }
}

/// How a reply breaks off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CutBy {
    /// The connection breaks.
    #[default]
    Drop,
    /// It ends as if that were all.
    End,
    /// Something comes that is no JSON, and then it ends.
    Garbage,
    /// Nothing more comes, and it does not end.
    Stall,
}

/// Ids of calls on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ids {
    /// Each call has its own. What a step says by saying nothing.
    #[default]
    #[serde(skip)]
    Own,
    /// All calls of all replies have one and the same.
    Same,
    /// Every id is the empty text.
    Empty,
}
