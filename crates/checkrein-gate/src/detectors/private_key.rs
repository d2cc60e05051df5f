//! Private keys in PEM form, first line to last, over any number of lines, also where the last one is missing.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::Look;
use super::tail::{Key, Tail};

/// How such a key begins, in lower case.
pub(crate) const KEYWORD: &str = "-----begin";
/// Bytes from there on that decide whether it is one: its first line and the headers that may follow.
const WINDOW: usize = 400;
/// As much base64 in one piece is no prose: a line of a key has 64.
const RUN: usize = 24;

/// The first line. Its words are bounded.
const FIRST_LINE: &str = r"\A(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----";

pub(crate) fn look(text: &[u8], at: usize, last: bool) -> Look {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(FIRST_LINE).ok());
    let rest = text.get(at..).unwrap_or_default();
    let whole = rest.len() >= WINDOW;
    if !whole && !last {
        return Look::Undecided;
    }
    let window = rest.get(..WINDOW).unwrap_or(rest);
    let Some(first) = SHAPE.as_ref().and_then(|shape| shape.find(window)) else { return Look::Nothing };
    let body = window.get(first.end()..).unwrap_or_default();
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let runs = || body.split(|byte| !base64(*byte)).map(<[u8]>::len);
    let ends = body.windows(8).any(|bytes| bytes == b"-----END");
    // A text that ends within the first line of base64 was cut there.
    let piece = |byte: &u8| base64(*byte) || b"\r\n\\=".contains(byte);
    let cut = !whole && body.iter().any(|byte| base64(*byte)) && body.iter().all(piece);
    if !ends && !cut && runs().all(|run| run < RUN) {
        return Look::Nothing;
    }
    let range = at..at + first.end();
    Look::Secret { range, name: "private-key".into(), tail: Some(Tail::Key(Key::default())) }
}
