//! Literal replacing in a text: a unique match or all of them, line ends as they were. Pure; it reads and writes
//! nothing.

use std::borrow::Cow;

use checkrein_contract::Code;
use checkrein_gate::Failure;

use crate::files::MAX_WHOLE_BYTES;

/// Matches that are counted; more are "at least" so many.
const MAX_COUNTED: usize = 1_000;
/// Lines that a message names.
const MAX_NAMED: usize = 5;
/// The mark some editors put in front of a text. It stays, and nobody needs to quote it.
const BOM: char = '\u{feff}';

/// One replacement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) all: bool,
}

/// A text that is being edited.
#[derive(Debug)]
pub(crate) struct Text {
    bom: bool,
    text: String,
    /// What new line breaks look like: those that the text mostly had.
    line_end: &'static str,
}

impl Text {
    pub(crate) fn new(content: String) -> Self {
        let bom = content.starts_with(BOM);
        let text = if bom { content.chars().skip(1).collect() } else { content };
        let crlf = text.matches("\r\n").count();
        let lf = text.matches('\n').count() - crlf;
        Self { bom, text, line_end: if crlf > lf { "\r\n" } else { "\n" } }
    }

    pub(crate) fn into_content(self) -> String {
        if self.bom { format!("{BOM}{}", self.text) } else { self.text }
    }

    /// Replaces, and says how often. `at` is the place of the replacement in the arguments, for messages.
    ///
    /// Line ends do not count in the comparison. Only what is replaced changes: a text with mixed line ends keeps them
    /// everywhere else.
    pub(crate) fn replace(&mut self, edit: Replacement<'_>, at: &str, shown: &str) -> Result<u64, Failure> {
        let (old, new) = (with_lf(edit.old), with_lf(edit.new));
        if old.is_empty() {
            return Err(Failure::new(Code::EditEmpty, format!("`{at}/old` is empty")));
        }
        if old == new {
            return Err(Failure::new(Code::EditEmpty, format!("`{at}/new` is the same as `{at}/old`")));
        }
        let (plain, crs) = without_crs(&self.text);
        let starts: Vec<usize> = if edit.all {
            plain.match_indices(old.as_ref()).map(|(start, _)| start).collect()
        } else {
            occurrences(&plain, &old)
        };
        match starts.as_slice() {
            [] => return Err(not_found(&plain, &old, at, shown)),
            [_, _, ..] if !edit.all => return Err(ambiguous(&plain, &starts, at, shown)),
            _ => {}
        }
        let new = if self.line_end == "\n" { new } else { Cow::Owned(new.replace('\n', self.line_end)) };
        let length = self.text.len() as u64 + starts.len() as u64 * new.len() as u64;
        if length > MAX_WHOLE_BYTES * 2 {
            let message = format!("`{at}` would make `{shown}` larger than {MAX_WHOLE_BYTES} bytes");
            return Err(Failure::new(Code::FsTooLarge, message));
        }
        let mut result = String::with_capacity(self.text.len());
        let mut from = 0;
        for start in &starts {
            let (begin, end) = (in_original(*start, &crs), in_original(start + old.len(), &crs));
            result.push_str(self.text.get(from..begin).unwrap_or_default());
            result.push_str(&new);
            from = end;
        }
        result.push_str(self.text.get(from..).unwrap_or_default());
        self.text = result;
        Ok(starts.len() as u64)
    }
}

fn with_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// The text with plain line breaks, and where in it those are that had a carriage return.
fn without_crs(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let plain = with_lf(text);
    let crs = text.match_indices("\r\n").enumerate().map(|(taken, (at, _))| at - taken).collect();
    (plain, crs)
}

/// From a place in the plain text to the same place in the original: every carriage return before it counts.
fn in_original(at: usize, crs: &[usize]) -> usize {
    at + crs.partition_point(|cr| *cr < at)
}

/// Where `old` begins, overlaps included: a text that fits twice is no unique match.
fn occurrences(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(old)) {
        starts.push(from + found);
        from += found + step;
        if starts.len() == MAX_COUNTED {
            break;
        }
    }
    starts
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn ambiguous(text: &str, starts: &[usize], at: &str, shown: &str) -> Failure {
    let lines: Vec<_> = starts.iter().take(MAX_NAMED).map(|start| line_of(text, *start).to_string()).collect();
    let least = if starts.len() == MAX_COUNTED { "at least " } else { "" };
    let more = if starts.len() > MAX_NAMED { " and more" } else { "" };
    let times = starts.len();
    let message = format!("`{at}/old` occurs {least}{times} times in `{shown}`, at line {}{more}", lines.join(", "));
    Failure::new(Code::EditAmbiguous, message)
}

fn not_found(text: &str, old: &str, at: &str, shown: &str) -> Failure {
    let mut message = format!("`{at}/old` is not in `{shown}`");
    if let Some(line) = with_other_blanks(text, old) {
        message.push_str(&format!("; the same text with other blanks is at line {line}"));
    }
    Failure::new(Code::EditNotFound, message)
}

/// The line at which the wanted lines stand, blanks at both ends of each aside.
fn with_other_blanks(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if wanted.is_empty() {
        return None;
    }
    lines.windows(wanted.len()).position(|window| window == wanted).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(content: &str, old: &str, new: &str, all: bool) -> Result<String, Failure> {
        let mut text = Text::new(content.to_owned());
        text.replace(Replacement { old, new, all }, "/edits/0", "a.rs")?;
        Ok(text.into_content())
    }

    #[test]
    fn line_ends_and_the_mark_in_front_are_kept() {
        for (content, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\r\nb\r\n", "\n", "", "ab\r\n"),
            ("\u{feff}a\nb\n", "a\n", "x\n", "\u{feff}x\nb\n"),
            ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
            // Mixed: what is not replaced stays as it is, new breaks are like most.
            ("a\r\nb\nc\r\nd\r\n", "c", "c\nc", "a\r\nb\nc\r\nc\r\nd\r\n"),
            ("a\r\n", "a\n", "a\nb\n", "a\r\nb\r\n"),
            ("é\r\nü\r\nö", "ü\nö", "ü", "é\r\nü"),
        ] {
            let all = old == "\n";
            let done = edited(content, old, new, all);
            if all {
                assert_eq!(done.unwrap(), "ab");
            } else {
                assert_eq!(done.unwrap(), expected, "{content:?}");
            }
        }
    }

    #[test]
    fn a_match_is_unique_or_refused() {
        for (content, old, code) in [
            ("aaa", "aa", Code::EditAmbiguous),
            ("x\ny\nx\n", "x", Code::EditAmbiguous),
            ("abc", "d", Code::EditNotFound),
            ("abc", "", Code::EditEmpty),
            ("abc", "new", Code::EditEmpty),
        ] {
            assert_eq!(edited(content, old, "new", false).unwrap_err().code, code, "{content:?} {old:?}");
        }
        assert_eq!(edited("x\ny\nx\n", "x", "z", true).unwrap(), "z\ny\nz\n");
        assert_eq!(edited("aaaa", "aa", "a", true).unwrap(), "aa");
        let many = edited(&"x\n".repeat(2_000), "x", "y", false).unwrap_err();
        assert_eq!(many.message, "`/edits/0/old` occurs at least 1000 times in `a.rs`, at line 1, 2, 3, 4, 5 and more");
    }

    #[test]
    fn a_near_miss_is_pointed_out() {
        let failure = edited("fn a() {\n    b();\n}\n", "fn a() {\n\tb();", "x", false).unwrap_err();
        assert_eq!(failure.message, "`/edits/0/old` is not in `a.rs`; the same text with other blanks is at line 1");
    }

    #[test]
    fn a_result_can_not_grow_without_bound() {
        let failure = edited(&"x".repeat(100_000), "x", &"y".repeat(1_000), true).unwrap_err();
        assert_eq!(failure.code, Code::FsTooLarge);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// With one kind of line end everywhere, an edit is the plain replacement with that line end.
        #[test]
        fn line_ends_make_no_difference(content in "[ab\n]{0,30}", old in "[ab\n]{1,3}", new in "[ab\n]{0,4}") {
            let plain = edited(&content, &old, &new, true);
            let crlf = edited(&content.replace('\n', "\r\n"), &old, &new.replace('\n', "\r\n"), true);
            match (plain, crlf) {
                (Ok(plain), Ok(crlf)) => {
                    proptest::prop_assert_eq!(&plain, &content.replace(&old, &new));
                    // A text without any line end says nothing about which to use.
                    if content.contains('\n') {
                        proptest::prop_assert_eq!(plain.replace('\n', "\r\n"), crlf);
                    }
                }
                (plain, crlf) => proptest::prop_assert_eq!(plain.unwrap_err().code, crlf.unwrap_err().code),
            }
        }
    }
}
