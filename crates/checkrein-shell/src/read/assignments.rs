//! `NAME=VALUE`, `NAME[...]=VALUE`, `NAME=(...)`.

use super::cursor::{Parser, Read};
use super::words::{Parts, Stretch, ends_word};
use crate::{Assignment, Value, Word};

/// What stands where an assignment may.
pub(super) enum Front {
    /// An assignment.
    Assignment(Assignment),
    /// Some word.
    Word(Word),
}

/// The builtins behind which `NAME=(...)` is an array, even as an argument. Bash takes one behind `eval`, `let` and
/// `alias` too, but makes a text of it; that is refused here.
pub(super) fn takes_arrays(command: &str) -> bool {
    matches!(command, "declare" | "export" | "local" | "readonly" | "typeset")
}

impl Parser<'_> {
    /// An assignment, or a word, in front of a command.
    pub(super) fn front(&mut self) -> Read<Front> {
        self.peek();
        let start = self.pos;
        let Some(end) = self.name_end() else { return Ok(Front::Word(self.word(Stretch::WORD)?)) };
        if self.byte(end) != b'[' {
            return match self.equals(end) {
                Some((append, behind)) => {
                    let name = self.name();
                    self.pos = behind;
                    let value = self.value()?;
                    Ok(Front::Assignment(Assignment { name, subscript: None, append, value, span: self.span(start) }))
                }
                None => Ok(Front::Word(self.word(Stretch::WORD)?)),
            };
        }
        // Whatever is between the brackets belongs to the word, blanks too, and even where no `=` follows.
        let name = self.name();
        self.pos = end + 1;
        let subscript = self.stretch(Stretch::SUBSCRIPT)?;
        self.expect(b']')?;
        self.peek();
        if let Some((append, behind)) = self.equals(self.pos) {
            self.pos = behind;
            let value = self.value()?;
            let subscript = Some(subscript);
            return Ok(Front::Assignment(Assignment { name, subscript, append, value, span: self.span(start) }));
        }
        Ok(Front::Word(self.subscripted_word(&name, subscript, start)?))
    }

    /// The rest of a word that began with `NAME[...]`.
    fn subscripted_word(&mut self, name: &str, subscript: Word, start: usize) -> Read<Word> {
        let mut parts = Parts::default();
        parts.bare(name);
        parts.bare("[");
        parts.extend(subscript.parts);
        parts.bare("]");
        self.stretch_into(Stretch::WORD, &mut parts)?;
        Ok(Word { parts: parts.finish(), span: self.span(start) })
    }

    /// `NAME=(...)` as an argument of a builtin that takes it.
    pub(super) fn array_argument(&mut self) -> Read<Option<Assignment>> {
        self.peek();
        let start = self.pos;
        let Some((append, behind)) = self.name_end().and_then(|end| self.equals(end)) else { return Ok(None) };
        if self.byte(self.joined(behind)) != b'(' {
            return Ok(None);
        }
        let name = self.name();
        self.pos = behind;
        let value = self.value()?;
        Ok(Some(Assignment { name, subscript: None, append, value, span: self.span(start) }))
    }

    /// Behind the name that begins here, with continued lines joined.
    fn name_end(&self) -> Option<usize> {
        if !matches!(self.byte(self.pos), b'a'..=b'z' | b'A'..=b'Z' | b'_') {
            return None;
        }
        let mut at = self.pos;
        loop {
            at = self.joined(at);
            if !matches!(self.byte(at), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') {
                return Some(at);
            }
            at += 1;
        }
    }

    /// `=` or `+=` at `at`: whether it appends, and where it ends.
    fn equals(&self, at: usize) -> Option<(bool, usize)> {
        match self.byte(at) {
            b'=' => Some((false, at + 1)),
            b'+' => {
                let at = self.joined(at + 1);
                (self.byte(at) == b'=').then_some((true, at + 1))
            }
            _ => None,
        }
    }

    /// What stands behind the `=`.
    fn value(&mut self) -> Read<Value> {
        if self.peek() != b'(' {
            return Ok(Value::Word(self.stretch(Stretch::WORD)?));
        }
        self.pos += 1;
        let start = self.pos;
        let mut elements = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                b'\n' => self.newline()?,
                b')' => break,
                b'[' => elements.push(self.element()?),
                _ => elements.push((None, self.word(Stretch::WORD)?)),
            }
        }
        // Bash 5.2 reads an array in a substitution a second time, without some of its backslashes.
        let quotes = |(at, _): (usize, &str)| self.byte(start + at + 1) != b'\n';
        if self.in_parentheses && self.slice(start, self.pos).match_indices('\\').any(quotes) {
            return Err(self.stop_at(start, "a backslash in an array in a substitution"));
        }
        self.pos += 1;
        // Bash reads `a=(1)2` as an assignment too, and makes something odd of it.
        if ends_word(self.peek()) { Ok(Value::Array(elements)) } else { Err(self.unexpected()) }
    }

    /// `[...]=VALUE` inside an array, or a word that begins with a bracket.
    fn element(&mut self) -> Read<(Option<Word>, Word)> {
        let start = self.pos;
        self.pos += 1;
        let subscript = self.stretch(Stretch::ELEMENT)?;
        self.expect(b']')?;
        self.peek();
        if let Some((_, behind)) = self.equals(self.pos) {
            self.pos = behind;
            return Ok((Some(subscript), self.stretch(Stretch::WORD)?));
        }
        Ok((None, self.subscripted_word("", subscript, start)?))
    }
}
