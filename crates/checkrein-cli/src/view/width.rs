//! How wide a line may be where a person reads it.

use std::io::IsTerminal as _;

use rustix::termios::tcgetwinsize;
use textwrap::{Options, WordSplitter};

/// Widest line, columns, also where the terminal is wider or is none: longer ones are hard to read.
const WIDEST: usize = 120;
/// Narrowest line, columns: below, columns of their own make no sense.
const NARROWEST: usize = 40;

/// Columns of standard output.
pub(crate) fn columns() -> usize {
    let out = std::io::stdout();
    let columns = if out.is_terminal() { tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col)) } else { 0 };
    if columns == 0 { WIDEST } else { columns.clamp(NARROWEST, WIDEST) }
}

/// A line broken at blanks, where it is longer than that; what follows stands this far in. Styles take no room, and a word that
/// is longer than a line stays whole: it may be a path that somebody copies.
pub(crate) fn wrapped(line: &str, columns: usize, indent: &str) -> Vec<String> {
    let options =
        Options::new(columns).subsequent_indent(indent).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_and_styles_take_no_room() {
        assert_eq!(wrapped("one two-three four", 10, "  "), ["one", "  two-three", "  four"]);
        assert_eq!(wrapped("\u{1b}[1mone\u{1b}[0m two", 7, ""), ["\u{1b}[1mone\u{1b}[0m two"]);
        assert_eq!(wrapped("/a/path/that/is/long x", 5, ""), ["/a/path/that/is/long", "x"]);
        assert_eq!(wrapped("", 5, ""), [""]);
    }
}
