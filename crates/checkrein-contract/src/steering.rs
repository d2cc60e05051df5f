//! Characters that steer whoever shows a text instead of being shown. It names them; how they are made visible is for
//! those who show.

/// Whether a terminal or a page obeys this character: control characters, and those that turn the direction of what
/// follows, so that a line reads as another one than it is. Line ends and tabs are shown like letters.
pub fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (turns || c.is_control()) && !matches!(c, '\n' | '\t')
}
