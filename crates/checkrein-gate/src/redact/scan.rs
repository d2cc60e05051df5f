//! Looks at a text, or at what is there of one: where secrets are, and how far that can be said.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::detectors::Look;
use crate::detectors::known::Known;
use crate::detectors::rules::{self, MOST_BACK};
use crate::detectors::tail::Tail;

/// A secret in a text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: Arc<str>,
    pub(super) tail: Option<Tail>,
    /// Where the keyword stands by which it was found.
    at: usize,
    /// Found by its value, which says more than a shape.
    known: bool,
}

/// What a look at a text has shown.
pub(super) struct Scan {
    /// Secrets, by where they begin.
    pub(super) found: Vec<Found>,
    /// From here on the next look begins: what stands here depends on what comes.
    pub(super) next: usize,
    /// Up to here nothing that comes can make a difference.
    pub(super) settled: usize,
}

/// Looks from `from` on. `last`: nothing comes any more.
pub(super) fn scan(text: &[u8], from: usize, last: bool, known: Option<&Known>) -> Scan {
    let all = rules::all();
    let by_shape = all.looks(text, from, last).map(|(at, look)| (at, look, false));
    let by_value = known.into_iter().flat_map(|known| known.looks(text, from)).map(|(at, look)| (at, look, true));
    let mut next = if last { text.len() } else { beginning(text, known).max(from) };
    let mut found = Vec::new();
    for (at, look, known) in by_shape.chain(by_value) {
        match look {
            Look::Nothing => {}
            Look::Undecided => next = next.min(at),
            Look::Secret { range, name, tail } => {
                found.push(Found { start: range.start, end: range.end, name, tail, at, known });
            }
        }
    }
    let mut settled = if last { next } else { before(text, next) };
    // One that is found here may begin where it is not settled yet what begins before it: it is found again then.
    while let Some(again) =
        found.iter().filter(|one| one.at < next && one.start >= settled && !last).map(|one| one.at).min()
    {
        next = again;
        settled = before(text, next);
    }
    found.retain(|one| one.at < next || last);
    found.sort_by_key(|one| (one.start, !one.known, Reverse(one.end)));
    Scan { found, next, settled }
}

/// Where the end of a text may be the beginning of a keyword or of a value.
fn beginning(text: &[u8], known: Option<&Known>) -> usize {
    let keyword = rules::all().begins(text);
    known.map_or(keyword, |known| keyword.min(known.begins(text)))
}

/// How far before a place nothing can belong to a secret that is found there, nor be half a character.
fn before(text: &[u8], at: usize) -> usize {
    let run =
        text.get(..at).unwrap_or_default().iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).take(MOST_BACK);
    let mut settled = at - run.count();
    while settled > 0 && text.get(settled).is_some_and(|byte| byte & 0xC0 == 0x80) {
        settled -= 1;
    }
    settled
}
