//! Bytes of a program as text that is safe to show: characters that steer a terminal, also by turning the direction of
//! a line, become visible, and the end is kept where it is too long. Pure.

use std::borrow::Cow;
use std::fmt::Write;

use checkrein_contract::steers;

/// The end of some output as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printable {
    /// The text.
    pub(crate) text: String,
    /// Bytes of the output that the text does not show, all of them in front of it.
    pub(crate) missing: u64,
    /// Bytes that are no UTF-8 are shown as U+FFFD.
    pub(crate) lossy: bool,
}

/// The last `most` bytes of text, at most, of an output of `total` bytes that ends with `bytes`.
pub(crate) fn tail(bytes: &[u8], total: u64, most: usize) -> Printable {
    let whole = bytes.len() as u64 == total;
    // An output that was cut may begin within a character.
    let begin = if whole { 0 } else { bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count() };
    let bytes = bytes.get(begin..).unwrap_or_default();
    let mut text = String::with_capacity(bytes.len());
    let mut lossy = false;
    // Where each character begins: in the bytes, and in the text.
    let mut starts: Vec<(usize, usize)> = Vec::with_capacity(bytes.len());
    let mut raw = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            starts.push((raw, text.len()));
            push(&mut text, c);
            raw += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            starts.push((raw, text.len()));
            text.push(char::REPLACEMENT_CHARACTER);
            raw += chunk.invalid().len();
            lossy = true;
        }
    }
    let too_long = text.len().saturating_sub(most);
    let first = starts.partition_point(|(_, at)| *at < too_long);
    let (raw_begin, text_begin) = starts.get(first).copied().unwrap_or((bytes.len(), text.len()));
    let shown = (bytes.len() - raw_begin) as u64;
    let text = text.split_off(if too_long == 0 { 0 } else { text_begin });
    Printable { text, missing: total.saturating_sub(if too_long == 0 { bytes.len() as u64 } else { shown }), lossy }
}

/// A text that must stay one line, such as a path: line breaks become visible as well, so that a name can not look like
/// something the harness said.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| steers(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            c => push(&mut line, c),
        }
    }
    Cow::Owned(line)
}

/// A whole text, with its line breaks as they are in files of this system.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !(c == '\r' && chars.peek() == Some(&'\n')) {
            push(&mut out, c);
        }
    }
    out
}

fn push(text: &mut String, c: char) {
    match c {
        '\n' | '\t' => text.push(c),
        '\r' => text.push_str("\\r"),
        c if c.is_control() => {
            // Writing to a string can not fail.
            let _ = write!(text, "\\x{:02x}", u32::from(c));
        }
        c if steers(c) => {
            let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
        }
        c => text.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], total: u64, most: usize) -> (String, u64, bool) {
        let Printable { text, missing, lossy } = tail(bytes, total, most);
        (text, missing, lossy)
    }

    /// Shows R74: what is shown holds no control characters, and no character is split.
    #[test]
    fn control_characters_become_visible() {
        let (text, missing, lossy) = shown("a\t\x1b[31mred\x07\r\n\u{9b}é".as_bytes(), 16, 100);
        assert_eq!(text, "a\t\\x1b[31mred\\x07\\r\n\\x9bé");
        assert!(!lossy);
        assert_eq!(missing, 0);
    }

    #[test]
    fn a_name_stays_one_line() {
        assert_eq!(one_line("src/é.rs"), "src/é.rs");
        assert_eq!(one_line("a\n[end: 1 file]\x1b\tb"), "a\\n[end: 1 file]\\x1b\tb");
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        assert_eq!(shown(b"a\xff\xfeb", 4, 100), ("a\u{fffd}\u{fffd}b".to_owned(), 0, true));
    }

    #[test]
    fn a_cut_output_begins_with_a_whole_character() {
        let bytes = "éü".as_bytes();
        assert_eq!(shown(&bytes[1..], 4, 100), ("ü".to_owned(), 2, false));
        assert_eq!(shown(&bytes[1..], 3, 100), ("\u{fffd}ü".to_owned(), 0, true));
    }

    /// Shows R68, R69: what grows when it is made visible is cut in front, and every byte that is not shown is counted.
    #[test]
    fn the_text_is_bounded_whatever_it_is_made_of() {
        for unit in ["x", "é", "\x1b", "\u{1f980}"] {
            let bytes = unit.repeat(1_000);
            for most in [0, 1, 7, 64, 100_000] {
                let printed = tail(bytes.as_bytes(), bytes.len() as u64, most);
                assert!(printed.text.len() <= most, "{unit:?} {most}");
                let shown = printed.text.replace("\\x1b", "\x1b");
                assert_eq!(printed.missing as usize + shown.len(), bytes.len(), "{unit:?} {most}");
                assert!(bytes.ends_with(&shown));
            }
        }
    }
}
