//! `${...}`.

use super::arithmetic;
use super::cursor::{Parser, Read, Stop};
use super::dollar::Quoting;
use super::words::Stretch;
use crate::{Operation, Parameter, Part, Word};

/// A name, without digits in front.
fn starts_name(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'_')
}

/// A parameter with a name of one character.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

impl Parser<'_> {
    /// `${...}`, behind the brace, and the closing one.
    pub(super) fn parameter(&mut self, quoting: Quoting) -> Read<Parameter> {
        let start = self.pos;
        let mut found = self.name_and_subscript()?;
        if !matches!(found.operation, Operation::Plain) {
            return if self.eat(b'}') { Ok(found) } else { Err(self.bad(start)) };
        }
        found.operation = match self.operation(quoting)? {
            Some(operation) => operation,
            None => return Err(self.bad(start)),
        };
        if self.eat(b'}') { Ok(found) } else { Err(self.bad(start)) }
    }

    fn bad(&mut self, start: usize) -> Stop {
        let reason = if self.peek() == 0 { "a `${` is never closed" } else { "a bad substitution" };
        self.stop_at(start, reason)
    }

    /// The front: `NAME`, `#NAME`, `!NAME`, with a subscript. The operation is set if the front says it all.
    fn name_and_subscript(&mut self) -> Read<Parameter> {
        let mut found =
            Parameter { name: String::new(), indirect: false, subscript: None, operation: Operation::Plain };
        let first = self.peek();
        let second = self.second();
        let third = self.third();
        let length =
            first == b'#' && (starts_name(second) || second.is_ascii_digit() || (is_special(second) && third == b'}'));
        let indirect = first == b'!'
            && (starts_name(second)
                || second.is_ascii_digit()
                || second == b'#'
                || (matches!(second, b'?' | b'@' | b'*') && third == b'}'));
        if length || indirect {
            self.pos += 1;
        }
        found.indirect = indirect;
        self.name_into(&mut found)?;
        if length {
            found.operation = Operation::Length;
        } else if indirect && self.names_only(&mut found) {
            found.operation = Operation::Names;
        }
        Ok(found)
    }

    fn third(&mut self) -> u8 {
        self.peek();
        let second = self.joined(self.pos + 1);
        self.byte(self.joined(second + 1))
    }

    fn name_into(&mut self, found: &mut Parameter) -> Read<()> {
        let first = self.peek();
        let start = self.pos;
        if starts_name(first) {
            found.name = self.name();
            if self.eat(b'[') {
                let subscript = self.stretch(Stretch::KEY)?;
                if subscript.parts.is_empty() {
                    return Err(self.bad(start));
                }
                if !self.eat(b']') {
                    return Err(self.bad(start));
                }
                found.subscript = Some(subscript);
            }
        } else if first.is_ascii_digit() {
            while self.peek().is_ascii_digit() {
                found.name.push(char::from(self.peek()));
                self.pos += 1;
            }
        } else if is_special(first) {
            found.name.push(char::from(first));
            self.pos += 1;
        } else {
            return Err(self.bad(self.pos));
        }
        Ok(())
    }

    /// Behind `${!NAME`: `*}`, `@}`, or `[@]` and `[*]` in front of the brace. Leaves the brace.
    fn names_only(&mut self, found: &mut Parameter) -> bool {
        if matches!(self.peek(), b'*' | b'@') && self.second() == b'}' && found.subscript.is_none() {
            self.pos += 1;
            return true;
        }
        let all = |word: &Word| matches!(word.parts.as_slice(), [Part::Bare(text)] if text == "@" || text == "*");
        self.peek() == b'}' && found.subscript.as_ref().is_some_and(all)
    }

    /// What is done with the value; `None` where it makes no sense. Leaves the brace.
    fn operation(&mut self, quoting: Quoting) -> Read<Option<Operation>> {
        let operator = self.peek();
        if operator == b'}' {
            return Ok(Some(Operation::Plain));
        }
        if operator == b':' && !matches!(self.second(), b'-' | b'=' | b'?' | b'+') {
            return self.slice_of_value();
        }
        if operator == b':' {
            self.pos += 1;
        }
        let operator = self.peek();
        if operator == 0 || operator >= 0x80 {
            return Ok(None);
        }
        self.pos += 1;
        Ok(Some(match operator {
            b'-' => Operation::Default(self.replacement_value(quoting)?),
            b'=' => Operation::Assign(self.replacement_value(quoting)?),
            b'?' => Operation::Require(self.replacement_value(quoting)?),
            b'+' => Operation::Alternative(self.replacement_value(quoting)?),
            b'#' | b'%' => {
                self.eat(operator);
                Operation::Trim(self.stretch(Stretch::BRACE.within(quoting))?)
            }
            b'^' | b',' | b'~' => {
                self.eat(operator);
                Operation::Case(self.stretch(Stretch::BRACE.within(quoting))?)
            }
            b'/' => self.replace(quoting)?,
            b'@' => match self.peek() {
                letter @ (b'U' | b'u' | b'L' | b'Q' | b'E' | b'P' | b'A' | b'K' | b'a' | b'k') => {
                    self.pos += 1;
                    Operation::Transform(char::from(letter))
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// The word behind `:-` and the like.
    fn replacement_value(&mut self, quoting: Quoting) -> Read<Word> {
        if quoting == Quoting::Bare {
            return self.stretch(Stretch::BRACE);
        }
        let start = self.pos;
        let parts = self.quoted_brace()?;
        Ok(Word { parts, span: self.span(start) })
    }

    /// `/PATTERN/WORD`, behind the first slash.
    fn replace(&mut self, quoting: Quoting) -> Read<Operation> {
        if matches!(self.peek(), b'/' | b'#' | b'%') {
            self.pos += 1;
        }
        let pattern = self.stretch(Stretch::REPLACED.within(quoting))?;
        let replacement = if self.eat(b'/') { self.stretch(Stretch::BRACE.within(quoting))? } else { Word::default() };
        Ok(Operation::Replace(pattern, replacement))
    }

    /// `:OFFSET:LENGTH`.
    fn slice_of_value(&mut self) -> Read<Option<Operation>> {
        self.pos += 1;
        if self.peek() == b'}' {
            return Ok(None);
        }
        let offset = self.stretch(Stretch::OFFSET)?;
        let extent = if self.eat(b':') { Some(self.stretch(Stretch::EXTENT)?) } else { None };
        Ok(Some(Operation::Slice(arithmetic::of(offset.parts), extent.map(|word| arithmetic::of(word.parts)))))
    }
}
