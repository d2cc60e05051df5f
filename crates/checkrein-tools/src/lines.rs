//! A window of numbered lines out of a stream of bytes, in bounded memory: long lines are cut, the rest is counted.

/// Characters of one line that are shown. Longer lines are mostly data that no model needs to see whole.
pub(crate) const MAX_LINE_CHARS: usize = 2_000;
/// Bytes of rendered lines in one result. 50 KiB: some twelve thousand tokens.
pub(crate) const MAX_BYTES: usize = 51_200;

/// Bytes of one line that are held: more than [`MAX_LINE_CHARS`] characters of four bytes.
const HELD: usize = MAX_LINE_CHARS * 4 + 4;
/// The mark some editors put in front of UTF-8 text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line as it is rendered, without its line break.
pub(crate) fn numbered(number: u64, text: &str) -> String {
    format!("{number}: {text}")
}

/// Where a text of more than `most` bytes is cut: behind a line, or, where there is none, behind a character.
pub(crate) fn beginning(text: &str, most: usize) -> usize {
    let end = text.floor_char_boundary(most);
    text.get(..end).and_then(|head| head.rfind('\n')).map_or(end, |at| at + 1)
}

/// What was found in the window.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// The lines, cut where they are long, the first being line `offset`.
    pub(crate) lines: Vec<String>,
    /// Lines of the whole text.
    pub(crate) total: u64,
    /// The next line did not fit into [`MAX_BYTES`].
    pub(crate) full: bool,
    /// Lines of the window that were cut.
    pub(crate) cut_lines: u64,
    /// The first of them.
    pub(crate) first_cut: Option<u64>,
    /// A shown line held bytes that are no UTF-8.
    pub(crate) lossy: bool,
}

/// Takes the pieces of a text and keeps the lines from `offset` on, `limit` at most.
#[derive(Debug)]
pub(crate) struct Lines {
    offset: u64,
    limit: u64,
    window: Window,
    used: usize,
    line: Line,
}

/// The line that is coming in.
#[derive(Debug, Default)]
struct Line {
    begun: bool,
    held: Vec<u8>,
    /// Characters, counted by their first bytes.
    chars: u64,
    bytes: u64,
    ends_with_cr: bool,
}

impl Lines {
    pub(crate) fn new(offset: u64, limit: u64) -> Self {
        Self { offset, limit, window: Window::default(), used: 0, line: Line::default() }
    }

    /// The next piece.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.extend(line);
            self.end_line();
            rest = after.get(1..).unwrap_or_default();
        }
        if !rest.is_empty() {
            self.extend(rest);
        }
    }

    /// The end of the text.
    pub(crate) fn finish(mut self) -> Window {
        if self.line.begun {
            self.end_line();
        }
        self.window
    }

    fn wanted(&self) -> bool {
        let number = self.window.total + 1;
        !self.window.full && number >= self.offset && number - self.offset < self.limit
    }

    fn extend(&mut self, bytes: &[u8]) {
        let wanted = self.wanted();
        let line = &mut self.line;
        line.begun = true;
        let Some(last) = bytes.last() else { return };
        line.ends_with_cr = *last == b'\r';
        line.bytes += bytes.len() as u64;
        if wanted {
            line.chars += bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
            let room = HELD.saturating_sub(line.held.len()).min(bytes.len());
            line.held.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
    }

    fn end_line(&mut self) {
        let wanted = self.wanted();
        let line = std::mem::take(&mut self.line);
        self.window.total += 1;
        if !wanted {
            return;
        }
        let number = self.window.total;
        let (text, missing, lossy) = line.shown(number == 1);
        let size = numbered(number, &text).len() + 1;
        if self.used + size > MAX_BYTES {
            self.window.full = true;
            return;
        }
        self.used += size;
        self.window.lossy |= lossy;
        if missing > 0 {
            self.window.cut_lines += 1;
            self.window.first_cut.get_or_insert(number);
        }
        self.window.lines.push(text);
    }
}

impl Line {
    /// The text, how many characters it lacks, and whether bytes of it are no UTF-8.
    fn shown(self, first: bool) -> (String, u64, bool) {
        let Self { mut held, mut chars, bytes, ends_with_cr, .. } = self;
        let complete = held.len() as u64 == bytes;
        if ends_with_cr {
            chars = chars.saturating_sub(1);
            if complete {
                held.pop();
            }
        }
        let mut start = 0;
        if first && held.starts_with(BOM) {
            start = BOM.len();
            chars = chars.saturating_sub(1);
        }
        let bytes = held.get(start..).unwrap_or_default();
        let lossy = match std::str::from_utf8(bytes) {
            Ok(_) => false,
            // What is held may end within a character; that is no fault of the text.
            Err(error) => complete || error.error_len().is_some(),
        };
        let decoded = String::from_utf8_lossy(bytes);
        match decoded.char_indices().nth(MAX_LINE_CHARS) {
            None => (decoded.into_owned(), 0, lossy),
            Some((end, _)) => {
                // Of a text that is no UTF-8 the count is a guess, but never none.
                let missing = chars.saturating_sub(MAX_LINE_CHARS as u64).max(1);
                let kept = decoded.get(..end).unwrap_or_default();
                (format!("{kept} [cut at {MAX_LINE_CHARS} characters, {missing} more]"), missing, lossy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(text: &[u8], offset: u64, limit: u64, piece: usize) -> Window {
        let mut lines = Lines::new(offset, limit);
        text.chunks(piece).for_each(|piece| lines.take(piece));
        lines.finish()
    }

    #[test]
    fn lines_do_not_depend_on_where_the_pieces_end() {
        let text = "\u{feff}eins\r\nzwei é\n\n\rvier\r\n".as_bytes();
        for piece in 1..=text.len() {
            let all = window(text, 1, 10, piece);
            assert_eq!(
                (all.lines.as_slice(), all.total),
                (["eins", "zwei é", "", "\rvier"].map(str::to_owned).as_slice(), 4)
            );
            assert_eq!(window(text, 2, 1, piece).lines, ["zwei é"]);
        }
        assert_eq!(window(b"", 1, 10, 1), Window::default());
        assert_eq!(window(b"\n", 1, 10, 1).total, 1);
        assert_eq!(window(b"a\nb", 1, 10, 1).total, 2);
    }

    /// Shows R66, R74: the cap is per character, so no character is split, and the suffix says how many are missing.
    #[test]
    fn a_long_line_is_cut_between_characters() {
        for filler in ["x", "é", "\u{1f980}"] {
            let line = filler.repeat(MAX_LINE_CHARS);
            assert_eq!(window(line.as_bytes(), 1, 1, 7).lines, std::slice::from_ref(&line));
            let cut = window(format!("{line}{filler}{filler}\r\n").as_bytes(), 1, 1, 1_000);
            assert_eq!(cut.lines, [format!("{line} [cut at 2000 characters, 2 more]")]);
            assert_eq!((cut.cut_lines, cut.first_cut, cut.lossy), (1, Some(1), false));
        }
    }

    #[test]
    fn what_is_no_utf8_is_marked_only_where_it_is_shown() {
        let text = b"good\nb\xffd\n";
        assert!(!window(text, 1, 1, 3).lossy);
        let bad = window(text, 2, 1, 3);
        assert_eq!((bad.lines.as_slice(), bad.lossy), (["b\u{fffd}d".to_owned()].as_slice(), true));
        assert!(window(b"half \xc3", 1, 1, 3).lossy);
    }
}
