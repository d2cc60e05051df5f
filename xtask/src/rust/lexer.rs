//! Splits a Rust text into code and comments. Literals and comments are blanked in the code, byte for byte, so that
//! offsets and lines stay what they were. It must never fail: a text that does not lex is blanked to its end.

use super::{Comment, CommentKind};

/// The code with literals and comments blanked, and the comments.
pub(super) fn split(text: &str) -> (String, Vec<Comment>) {
    let mut lexer = Lexer { bytes: text.as_bytes(), code: text.as_bytes().to_vec(), comments: Vec::new(), at: 0 };
    while lexer.at < lexer.bytes.len() {
        lexer.step(text);
    }
    // Only whole literals and comments are blanked, so what is left is still UTF-8.
    (String::from_utf8_lossy(&lexer.code).into_owned(), lexer.comments)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    code: Vec<u8>,
    comments: Vec<Comment>,
    at: usize,
}

impl Lexer<'_> {
    fn step(&mut self, text: &str) {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"//") {
            let end = self.find(b"\n", self.at).unwrap_or(self.bytes.len());
            self.comment(text, end);
        } else if rest.starts_with(b"/*") {
            let end = self.block_end();
            self.comment(text, end);
        } else if let Some(end) = self.raw_string_end() {
            self.blank(self.at, end);
        } else if rest[0] == b'"' {
            let end = self.quoted_end(b'"');
            self.blank(self.at + 1, end.saturating_sub(1).max(self.at + 1));
            self.at = end;
        } else if rest[0] == b'\'' && is_char(&text[self.at..]) {
            let end = self.quoted_end(b'\'');
            self.blank(self.at, end);
        } else if is_word(rest[0]) {
            self.at += rest.iter().take_while(|byte| is_word(**byte)).count();
        } else {
            self.at += 1;
        }
    }

    fn find(&self, needle: &[u8], from: usize) -> Option<usize> {
        self.bytes[from..].windows(needle.len()).position(|window| window == needle).map(|found| from + found)
    }

    fn blank(&mut self, from: usize, to: usize) {
        for byte in &mut self.code[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        self.at = to;
    }

    fn comment(&mut self, text: &str, end: usize) {
        let first = 1 + self.bytes[..self.at].iter().filter(|byte| **byte == b'\n').count();
        let comment = &text[self.at..end];
        let (kind, skip) = kind_of(comment);
        for (index, line) in comment[skip..].lines().enumerate() {
            self.comments.push(Comment { line: first + index, kind, text: line.to_owned() });
        }
        self.blank(self.at, end);
    }

    /// Block comments nest.
    fn block_end(&self) -> usize {
        let (mut depth, mut at) = (0_usize, self.at);
        while at < self.bytes.len() {
            if self.bytes[at..].starts_with(b"/*") {
                (depth, at) = (depth + 1, at + 2);
            } else if self.bytes[at..].starts_with(b"*/") {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            } else {
                at += 1;
            }
        }
        self.bytes.len()
    }

    /// `r"..."`, `r#"..."#`, also of bytes and C strings; not `r#name`.
    fn raw_string_end(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let prefix = [&b"r"[..], b"br", b"cr"].into_iter().find(|prefix| rest.starts_with(prefix))?.len();
        let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
        if rest.get(prefix + hashes) != Some(&b'"') {
            return None;
        }
        let mut close = vec![b'"'];
        close.resize(1 + hashes, b'#');
        let found = self.find(&close, self.at + prefix + hashes + 1);
        Some(found.map_or(self.bytes.len(), |found| found + close.len()))
    }

    fn quoted_end(&self, quote: u8) -> usize {
        let mut at = self.at + 1;
        while let Some(byte) = self.bytes.get(at) {
            match *byte {
                b'\\' => at += 2,
                byte if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        self.bytes.len()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// A character, not a lifetime.
fn is_char(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// The kind of a comment, and how many bytes open it.
fn kind_of(comment: &str) -> (CommentKind, usize) {
    let open = |sign: &str| comment.starts_with(sign);
    if open("//!") || open("/*!") {
        (CommentKind::File, 3)
    } else if (open("///") && !open("////")) || (open("/**") && !open("/***") && !open("/**/")) {
        (CommentKind::Item, 3)
    } else {
        (CommentKind::Plain, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_blanked_and_lines_stay() {
        let text =
            "let a = \"}\\\"{\"; // }\nlet b = r#\"\"}\"#; /* { /* } */ */ let c = '{';\nlet d: &'a str = b\"{\";";
        let (code, comments) = split(text);
        assert_eq!(code.len(), text.len());
        assert!(!code.contains(['{', '}']), "{code}");
        assert!(code.contains("&'a str"), "{code}");
        assert_eq!(code.lines().count(), 3);
        assert_eq!(comments.len(), 2);
        assert_eq!((comments[0].line, comments[0].text.as_str()), (1, " }"));
    }

    #[test]
    fn characters_are_told_from_lifetimes_and_raw_names() {
        for (text, left) in [
            ("fn f<'a, 'b>(x: &'a str)", "fn f<'a, 'b>(x: &'a str)"),
            ("let x = '\\'' ;", "let x =      ;"),
            ("r#fn + 'é'", "r#fn +     "),
            ("for_r \"x\"", "for_r \" \""),
        ] {
            assert_eq!(split(text).0, left);
        }
    }

    #[test]
    fn comments_have_kinds() {
        let (_, comments) = split("//! a\n/// b\n//// c\n/** d\n e */ // f");
        let kinds: Vec<_> = comments.iter().map(|comment| (comment.line, comment.kind)).collect();
        use CommentKind::{File, Item, Plain};
        assert_eq!(kinds, [(1, File), (2, Item), (3, Plain), (4, Item), (5, Item), (5, Plain)]);
    }

    #[test]
    fn what_does_not_end_is_blanked_to_the_end() {
        for text in ["a \"bc", "a /* bc", "a r#\"bc", "a '\\"] {
            assert_eq!(split(text).0.len(), text.len(), "{text}");
        }
    }
}
