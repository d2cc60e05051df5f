//! Quotes: `'...'`, `$'...'`, `"..."`, and text that is read as if it stood in double quotes.

use super::cursor::{Parser, Read};
use super::dollar::Quoting;
use super::words::Parts;
use crate::Part;

/// Text that is read as if it stood in double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Like {
    /// `"..."`.
    Quotes,
    /// The body of a here-document.
    Body,
    /// `${NAME:-...}` inside double quotes.
    Brace,
    /// `'...'` in such a brace: the quotes are plain text and hide a `}`, but expansions work.
    Fragment,
}

impl Parser<'_> {
    /// `'...'`.
    pub(super) fn single(&mut self, parts: &mut Parts) -> Read<()> {
        let close = self.closing_quote()?;
        parts.quoted(self.slice(self.pos + 1, close));
        self.pos = close + 1;
        Ok(())
    }

    /// Where the `'` is that closes the one here.
    fn closing_quote(&self) -> Read<usize> {
        let from = self.pos + 1;
        match self.slice(from, self.text.len()).find('\'') {
            Some(length) => Ok(from + length),
            None => Err(self.stop_at(self.pos, "a `'` is never closed")),
        }
    }

    /// `$'...'`, at its first quote.
    pub(super) fn ansi(&mut self, parts: &mut Parts, in_braces: bool) -> Read<()> {
        let start = self.pos;
        self.pos += 1;
        let from = self.pos;
        loop {
            match self.byte(self.pos) {
                0 if self.pos >= self.text.len() => return Err(self.stop_at(start, "a `$'` is never closed")),
                b'\'' => break,
                b'\\' => self.pos = self.text.len().min(self.pos + 2),
                _ => self.pos += 1,
            }
        }
        let decoded = decode(self.slice(from, self.pos));
        self.pos += 1;
        if in_braces && decoded.contains(['$', '`', '"', '\\']) {
            // Bash decodes first and expands then.
            return Err(self.stop_at(start, "an expansion in `$'...'` in a quoted `${...}`"));
        }
        parts.quoted(&decoded);
        Ok(())
    }

    /// The inside of `"..."`, and the closing quote.
    pub(super) fn double(&mut self) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        self.like_quoted(Like::Quotes, &mut parts)?;
        self.pos += 1;
        Ok(parts.finish())
    }

    /// The body of a here-document, up to the end of the text.
    pub(super) fn body_parts(&mut self) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        self.like_quoted(Like::Body, &mut parts)?;
        Ok(parts.finish())
    }

    /// What stands behind an operator in `${...}` inside double quotes, up to the `}`.
    pub(super) fn quoted_brace(&mut self) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        self.like_quoted(Like::Brace, &mut parts)?;
        Ok(parts.finish())
    }

    fn like_quoted(&mut self, like: Like, parts: &mut Parts) -> Read<()> {
        let start = self.pos;
        let mut from = self.pos;
        loop {
            let byte = self.byte(self.pos);
            let process =
                matches!(byte, b'<' | b'>') && like == Like::Brace && self.byte(self.joined(self.pos + 1)) == b'(';
            if process {
                // Bash looks for the end of a substitution here, but does not run it.
                return Err(self.stop_at(self.pos, "`<(` in a quoted `${...}`"));
            }
            if !matches!(byte, 0 | b'"' | b'\\' | b'$' | b'`' | b'\'' | b'}') {
                self.pos += 1;
                continue;
            }
            match (byte, like) {
                (0, Like::Body | Like::Fragment) | (b'"', Like::Quotes) | (b'}', Like::Brace) => break,
                (0, _) => {
                    self.shared.work += self.pos - start;
                    return Err(self.stop_at(start, "never closed"));
                }
                (b'"', Like::Body) | (b'}', _) | (b'\'', Like::Quotes | Like::Body | Like::Fragment) => {
                    self.pos += 1;
                    continue;
                }
                _ => {}
            }
            self.plain(from, parts);
            match byte {
                b'\\' => self.quoted_backslash(like, parts),
                b'\'' => self.fragment(parts)?,
                b'"' => {
                    self.pos += 1;
                    let inside = self.double()?;
                    parts.push(Part::Double(inside));
                }
                b'`' => {
                    let script = self.backquote(like == Like::Quotes)?;
                    parts.push(Part::Command(script));
                }
                _ => self.dollar(if like == Like::Brace { Quoting::Brace } else { Quoting::Double }, parts)?,
            }
            from = self.pos;
        }
        self.plain(from, parts);
        Ok(())
    }

    /// The plain text since `from`.
    fn plain(&self, from: usize, parts: &mut Parts) {
        if from < self.pos {
            parts.quoted(self.slice(from, self.pos));
        }
    }

    /// A backslash where only a few characters can be quoted with it.
    fn quoted_backslash(&mut self, like: Like, parts: &mut Parts) {
        let next = self.byte(self.pos + 1);
        let quotes = match next {
            b'$' | b'`' | b'\\' | b'\n' => true,
            b'"' => like != Like::Body,
            b'}' => matches!(like, Like::Brace | Like::Fragment),
            _ => false,
        };
        if !quotes {
            parts.quoted("\\");
            self.pos += 1;
            return;
        }
        if next != b'\n' {
            parts.quoted(self.slice(self.pos + 1, self.pos + 2));
        }
        self.pos += 2;
    }

    /// `'...'` inside of `"${NAME:-...}"`.
    fn fragment(&mut self, parts: &mut Parts) -> Read<()> {
        let close = self.closing_quote()?;
        parts.quoted("'");
        self.pos += 1;
        let whole = self.text;
        self.text = self.slice(0, close);
        let read = self.like_quoted(Like::Fragment, parts);
        self.text = whole;
        read?;
        parts.quoted("'");
        self.pos = close + 1;
        Ok(())
    }
}

/// What `$'...'` stands for. Bash counts in bytes; what is no UTF-8 in the end is replaced.
fn decode(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&letter, behind)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = behind;
        let ends = match letter {
            b'0'..=b'7' => {
                let (value, used) = number(text, text.len() - rest.len() - 1, 3, 8);
                rest = rest.get(used - 1..).unwrap_or_default();
                byte_or_end(&mut out, value)
            }
            b'x' => {
                let (value, used) = hexadecimal(text, text.len() - rest.len());
                rest = rest.get(used..).unwrap_or_default();
                if used == 0 { literal(&mut out, b'x') } else { byte_or_end(&mut out, value) }
            }
            b'u' | b'U' => {
                let digits = if letter == b'u' { 4 } else { 8 };
                let (value, used) = number(text, text.len() - rest.len(), digits, 16);
                rest = rest.get(used..).unwrap_or_default();
                if used == 0 { literal(&mut out, letter) } else { letter_or_end(&mut out, value) }
            }
            b'c' => match rest.split_first() {
                Some((&of, behind)) => {
                    rest = if of == b'\\' && behind.first() == Some(&b'\\') {
                        behind.get(1..).unwrap_or_default()
                    } else {
                        behind
                    };
                    byte_or_end(&mut out, if of == b'?' { 0x7f } else { u32::from(of & 0x1f) })
                }
                None => literal(&mut out, b'c'),
            },
            letter => simple_escape(&mut out, letter),
        };
        if ends {
            break;
        }
    }
    String::from_utf8(out).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
}

/// `\n` and the like. As all of these: whether it ends the string.
fn simple_escape(out: &mut Vec<u8>, letter: u8) -> bool {
    out.push(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' | b'E' => 0x1b,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'\'' | b'"' | b'?' => letter,
        other => return literal(out, other),
    });
    false
}

/// A backslash that quotes nothing.
fn literal(out: &mut Vec<u8>, letter: u8) -> bool {
    out.extend([b'\\', letter]);
    false
}

/// A byte; a NUL ends the string.
fn byte_or_end(out: &mut Vec<u8>, value: u32) -> bool {
    let [byte, ..] = value.to_le_bytes();
    if byte != 0 {
        out.push(byte);
    }
    byte == 0
}

/// A character; a NUL ends the string.
fn letter_or_end(out: &mut Vec<u8>, value: u32) -> bool {
    let letter = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    if value != 0 {
        out.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    value == 0
}

/// Up to `most` digits at `from`: their value, and how many there were.
fn number(text: &str, from: usize, most: usize, base: u32) -> (u32, usize) {
    let mut value = 0_u32;
    let mut used = 0;
    for byte in text.bytes().skip(from).take(most) {
        let Some(digit) = char::from(byte).to_digit(base) else { break };
        value = value.wrapping_mul(base).wrapping_add(digit);
        used += 1;
    }
    (value, used)
}

/// `\xHH`, or `\x{H...}` with any number of digits.
fn hexadecimal(text: &str, from: usize) -> (u32, usize) {
    if text.as_bytes().get(from) != Some(&b'{') {
        return number(text, from, 2, 16);
    }
    let (value, used) = number(text, from + 1, usize::MAX, 16);
    let closed = text.as_bytes().get(from + 1 + used) == Some(&b'}');
    (value, used + 1 + usize::from(closed))
}
