//! `$`, backquotes, and the scripts inside substitutions.

use super::cursor::{Origin, Parser, Read, Stop};
use super::heredoc::fill;
use super::words::Parts;
use crate::{Operation, Parameter, Part, Script};

/// What is around a `$`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// No quotes.
    Bare,
    /// Double quotes.
    Double,
    /// `${...}` inside double quotes, where `$'...'` works.
    Brace,
}

impl Parser<'_> {
    /// Whatever begins with the `$` here.
    pub(super) fn dollar(&mut self, quoting: Quoting, parts: &mut Parts) -> Read<()> {
        self.pos += 1;
        match self.peek() {
            b'(' | b'{' | b'[' => {
                let part = self.deeper(|parser| parser.bracketed(quoting))?;
                parts.push(part);
            }
            b'\'' if quoting != Quoting::Double => self.ansi(parts, quoting == Quoting::Brace)?,
            b'"' if quoting == Quoting::Bare => {
                self.pos += 1;
                let inside = self.double()?;
                parts.push(Part::Double(inside));
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let name = self.name();
                parts.push(plain(name));
            }
            b'$' if quoting != Quoting::Bare && self.at_bracket_behind() => {
                return Err(self.bracket_behind_pid());
            }
            byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.pos += 1;
                parts.push(plain(char::from(byte).to_string()));
            }
            _ if quoting == Quoting::Bare => parts.bare("$"),
            _ => parts.quoted("$"),
        }
        Ok(())
    }

    /// A bracket stands behind the next byte.
    fn at_bracket_behind(&mut self) -> bool {
        matches!(self.second(), b'(' | b'{' | b'[')
    }

    /// In quotes and brackets, bash reads `$$(` as if a substitution began, to find the end; but as it expands it, it is
    /// the number of the shell and a parenthesis. What it then takes the text for is anyone's guess.
    fn bracket_behind_pid(&self) -> Stop {
        self.stop_at(self.pos, "a bracket behind `$$`")
    }

    /// At a `$`, outside of quotes but in brackets of some kind.
    pub(super) fn check_pid(&mut self) -> Read<()> {
        let at = self.joined(self.pos + 1);
        if self.byte(at) == b'$' && matches!(self.byte(self.joined(at + 1)), b'(' | b'{' | b'[') {
            return Err(self.bracket_behind_pid());
        }
        Ok(())
    }

    /// `$(`, `${` or `$[`, at its bracket.
    fn bracketed(&mut self, quoting: Quoting) -> Read<Part> {
        match self.peek() {
            b'{' => {
                self.pos += 1;
                let parameter = self.parameter(quoting)?;
                Ok(Part::Parameter(Box::new(parameter)))
            }
            b'[' => {
                self.pos += 1;
                let expression = self.old_arithmetic()?;
                Ok(Part::Arithmetic(expression))
            }
            _ if self.second() == b'(' => self.arithmetic_or_substitution(),
            _ => {
                self.pos += 1;
                let script = self.substitution()?;
                Ok(Part::Command(script))
            }
        }
    }

    /// A name, which begins here.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let byte @ (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') = self.peek() {
            name.push(char::from(byte));
            self.pos += 1;
        }
        name
    }

    /// The script of `$(...)`, `<(...)` or `>(...)`, behind the parenthesis, and the closing one.
    pub(super) fn substitution(&mut self) -> Read<Script> {
        let outer_documents = std::mem::take(&mut self.heredocs);
        let outer = std::mem::replace(&mut self.in_parentheses, true);
        self.blanks();
        self.first = self.pos;
        let mut script = self.list(false)?;
        if self.peek() != b')' {
            return Err(self.unexpected());
        }
        self.pos += 1;
        self.late_documents()?;
        self.in_parentheses = outer;
        let documents = std::mem::replace(&mut self.heredocs, outer_documents);
        fill(&mut script.statements, documents);
        Ok(script)
    }

    /// `` `...` ``. Directly inside double quotes, a backslash also quotes `"`.
    pub(super) fn backquote(&mut self, in_quotes: bool) -> Read<Script> {
        let start = self.pos;
        let from = start + 1;
        let mut end = from;
        let mut backslashes = false;
        loop {
            match self.byte(end) {
                b'`' => break,
                b'\\' => {
                    backslashes = true;
                    end += 2;
                }
                0 if end >= self.text.len() => return Err(self.stop_at(start, "a backquote is never closed")),
                _ => end += 1,
            }
        }
        let inside = self.slice(from, end);
        self.pos = end + 1;
        self.deeper(|parser| {
            if !backslashes {
                return parser.inside(inside, parser.origin_from(from), |inner| inner.all_lines());
            }
            let (text, places) = parser.without_backslashes(inside, from, in_quotes);
            parser.inside(&text, Origin::Map(&places), |inner| inner.all_lines())
        })
    }

    /// The text between backquotes as bash reads it, and where its bytes come from.
    fn without_backslashes(&self, inside: &str, from: usize, in_quotes: bool) -> (String, Vec<usize>) {
        let mut text = String::with_capacity(inside.len());
        let mut places = Vec::with_capacity(inside.len() + 1);
        let mut letters = inside.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let mut keep = |at: usize, letter: char| {
                text.push(letter);
                places.extend((0..letter.len_utf8()).map(|byte| self.place(from + at + byte)));
            };
            if letter != '\\' {
                keep(at, letter);
                continue;
            }
            match letters.next() {
                Some((_, '\n')) => {}
                Some((at, quoted @ ('$' | '`' | '\\'))) => keep(at, quoted),
                Some((at, '"')) if in_quotes => keep(at, '"'),
                Some((behind, other)) => {
                    keep(at, '\\');
                    keep(behind, other);
                }
                None => keep(at, '\\'),
            }
        }
        places.push(self.place(from + inside.len()));
        (text, places)
    }

    /// A whole text as a script.
    fn all_lines(&mut self) -> Read<Script> {
        let mut script = Script::default();
        self.lines(&mut script)?;
        Ok(script)
    }
}

/// `$NAME`.
fn plain(name: String) -> Part {
    Part::Parameter(Box::new(Parameter { name, indirect: false, subscript: None, operation: Operation::Plain }))
}
