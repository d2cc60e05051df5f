//! Characters that steer whoever shows a text instead of being shown. It names them; how they are made visible is for
//! those who show.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a terminal or a page obeys this character, or shows nothing of it: control characters, those that turn the direction
/// of what follows or break its line, and those that can not be seen, so that a text reads as another one than it is. Line ends and
/// tabs are shown like letters; so is U+FE0F, without which many signs would not be the ones that are meant.
pub fn steers(c: char) -> bool {
    let unseen = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    (unseen || c.is_control()) && !matches!(c, '\n' | '\t')
}

/// The text with what steers written as `\u{...}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            // Writing to a string can not fail.
            _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What turns a line round, and what can not be seen at all: both make a name look like another one.
    #[test]
    fn nothing_unseen_stays_unseen() {
        for c in
            "\u{61c}\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{e0000}\u{e0041}\u{e007f}\u{202e}\u{2028}\u{ad}\u{1b}\r"
                .chars()
        {
            assert!(steers(c), "{c:?}");
            let text = format!("pay{c}pal");
            assert_eq!(visible(&text), format!("pay\\u{{{:x}}}pal", u32::from(c)));
        }
        for plain in ["line\n\tnext", "é ü ß 漢字 عربي עברית हिन्दी 👍🏽 ✔\u{fe0f}"] {
            assert_eq!(visible(plain), plain);
        }
    }
}
