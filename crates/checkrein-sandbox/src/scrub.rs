//! Keeps the secrets of a call out of what its programs print, by their values, wherever a stream is cut into pieces.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use checkrein_gate::SandboxFailure;

/// What must not come out. Nothing, for most calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scrub {
    finds: Option<AhoCorasick>,
    markers: Vec<String>,
    longest: usize,
}

impl Scrub {
    /// Secrets by name.
    pub(crate) fn new(secrets: &BTreeMap<String, String>) -> Result<Self, SandboxFailure> {
        if secrets.is_empty() {
            return Ok(Self::default());
        }
        // A secret may hold another one.
        let finds = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(secrets.values());
        let finds = finds.map_err(|error| SandboxFailure::NotStarted { reason: error.to_string() })?;
        let markers = secrets.keys().map(|name| format!("[redacted:secret {name}]")).collect();
        Ok(Self { finds: Some(finds), markers, longest: secrets.values().map(String::len).max().unwrap_or(0) })
    }

    /// A whole text.
    pub(crate) fn text(&self, text: &mut String) {
        if let Some(finds) = &self.finds {
            *text = finds.replace_all(text, &self.markers);
        }
    }

    /// The pieces of a stream, one after the other.
    pub(crate) fn stream(&self) -> Pieces {
        Pieces { scrub: self.clone(), held: Vec::new() }
    }
}

/// A stream on its way. What could be the beginning of a secret is held back until it is seen how it goes on.
#[derive(Debug)]
pub(crate) struct Pieces {
    scrub: Scrub,
    held: Vec<u8>,
}

impl Pieces {
    /// Takes a piece, and gives what can be shown.
    pub(crate) fn push<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(finds) = &self.scrub.finds else { return Cow::Borrowed(piece) };
        self.held.extend_from_slice(piece);
        let keep = self.held.len().saturating_sub(self.scrub.longest - 1);
        let (mut shown, mut from) = (Vec::new(), 0);
        for found in finds.find_iter(&self.held) {
            // One that ends at the very end could be the beginning of a longer one.
            if found.start() >= keep {
                break;
            }
            shown.extend_from_slice(self.held.get(from..found.start()).unwrap_or_default());
            shown.extend(
                self.scrub.markers.get(found.pattern().as_usize()).into_iter().flat_map(|marker| marker.bytes()),
            );
            from = found.end();
        }
        let upto = keep.max(from);
        shown.extend_from_slice(self.held.get(from..upto).unwrap_or_default());
        self.held.drain(..upto);
        Cow::Owned(shown)
    }

    /// The end: everything that was still held back.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.scrub.finds.as_ref().map_or_else(Vec::new, |finds| finds.replace_all_bytes(&held, &self.scrub.markers))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scrub() -> Scrub {
        let secrets = [("A", "abcabd"), ("LONG", "abcabdabc"), ("B", "ddcabc")];
        Scrub::new(&secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into()).unwrap()
    }

    fn streamed(pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = scrub().stream();
        let mut all = Vec::new();
        for piece in pieces {
            all.extend_from_slice(&stream.push(piece));
        }
        all.extend(stream.finish());
        all
    }

    #[test]
    fn a_secret_leaves_its_name() {
        assert_eq!(streamed(&[b"x abc", b"abd y"]), b"x [redacted:secret A] y");
        assert_eq!(streamed(&[b"abcabdab", b"c"]), b"[redacted:secret LONG]");
        assert_eq!(streamed(&[b"abcab"]), b"abcab");
        let mut text = "to abcabd.example".to_owned();
        scrub().text(&mut text);
        assert_eq!(text, "to [redacted:secret A].example");
    }

    proptest! {
        /// Wherever a stream is cut, what comes out is the same as if it had come whole.
        #[test]
        fn cuts_change_nothing(text in "[abcd]{0,60}", cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let scrub = scrub();
            let whole = scrub.finds.as_ref().unwrap().replace_all_bytes(bytes, &scrub.markers);
            prop_assert_eq!(streamed(&pieces), whole);
        }
    }
}
