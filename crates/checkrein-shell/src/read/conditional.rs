//! `[[ ... ]]`.

use super::cursor::{Parser, Read};
use super::reserved::Reserved;
use super::words::Stretch;
use crate::{Part, Test, Word};

impl Parser<'_> {
    /// `[[ ... ]]`, behind the first word.
    pub(super) fn test(&mut self) -> Read<Test> {
        let test = self.test_or()?;
        self.expect_reserved(Reserved::CloseTest)?;
        Ok(test)
    }

    fn test_or(&mut self) -> Read<Test> {
        let mut operands = vec![self.test_and()?];
        while self.eat_twice(b'|') {
            operands.push(self.test_and()?);
        }
        Ok(joined(operands, Test::Or))
    }

    fn test_and(&mut self) -> Read<Test> {
        let mut operands = vec![self.test_term()?];
        while self.eat_twice(b'&') {
            operands.push(self.test_term()?);
        }
        Ok(joined(operands, Test::And))
    }

    fn test_term(&mut self) -> Read<Test> {
        let mut negated = false;
        loop {
            self.newlines()?;
            if !self.eat_reserved(Reserved::Bang) {
                break;
            }
            negated = !negated;
        }
        let term = if self.eat(b'(') { self.deeper(Parser::test_group)? } else { self.test_primary()? };
        Ok(if negated { Test::Not(Box::new(term)) } else { term })
    }

    /// Behind `(`.
    fn test_group(&mut self) -> Read<Test> {
        let inside = self.test_or()?;
        self.blanks();
        self.expect(b')')?;
        self.newlines()?;
        Ok(inside)
    }

    /// A test without `!`, `&&`, `||` and parentheses.
    fn test_primary(&mut self) -> Read<Test> {
        let first = self.operand(Stretch::WORD)?;
        let numbered = matches!(self.peek(), b'<' | b'>') && is_number(&first);
        if numbered {
            return Err(self.unexpected());
        }
        self.blanks();
        if is_unary(&first)
            && let Some(operator) = bare(&first)
        {
            let operator = operator.to_owned();
            let operand = self.operand(Stretch::WORD)?;
            self.newlines()?;
            return Ok(Test::Unary(operator, operand));
        }
        // A word alone: bash wants what follows on the same line.
        match (self.peek(), self.second()) {
            (b')', _) | (b'&', b'&') | (b'|', b'|') => return Ok(Test::Word(first)),
            _ if matches!(self.reserved(), Some((Reserved::CloseTest, _))) => return Ok(Test::Word(first)),
            _ => {}
        }
        let operator = self.binary_operator()?;
        self.blanks();
        let second = self.operand(match operator.as_str() {
            "=" | "==" | "!=" => Stretch::PATTERN,
            "=~" => Stretch::REGEX,
            _ => Stretch::WORD,
        })?;
        self.newlines()?;
        Ok(Test::Binary(first, operator, second))
    }

    /// A word which is not `]]`.
    fn operand(&mut self, stretch: Stretch) -> Read<Word> {
        if matches!(self.reserved(), Some((Reserved::CloseTest, _))) {
            return Err(self.unexpected());
        }
        self.word(stretch)
    }

    fn binary_operator(&mut self) -> Read<String> {
        if !self.at_process() && matches!(self.peek(), b'<' | b'>') {
            let operator = char::from(self.peek()).to_string();
            self.pos += 1;
            return Ok(operator);
        }
        let start = self.pos;
        let word = self.word(Stretch::WORD)?;
        match bare(&word) {
            Some(operator) if is_binary(operator) => Ok(operator.to_owned()),
            _ => Err(self.stop_at(start, "not an operator of `[[`")),
        }
    }
}

/// The text of a word without any quotes or expansions.
fn bare(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Bare(text)] => Some(text),
        _ => None,
    }
}

fn is_number(word: &Word) -> bool {
    bare(word).is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_unary(word: &Word) -> bool {
    matches!(bare(word).map(str::as_bytes), Some([b'-', letter]) if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}

fn is_binary(text: &str) -> bool {
    const OPERATORS: [&str; 13] =
        ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    OPERATORS.contains(&text)
}

/// Many tests joined. A long chain becomes a flat tree rather than a deep one; the order stays.
fn joined(mut operands: Vec<Test>, join: fn(Box<Test>, Box<Test>) -> Test) -> Test {
    while operands.len() > 1 {
        let mut halved = Vec::with_capacity(operands.len().div_ceil(2));
        let mut left = operands.into_iter();
        while let Some(first) = left.next() {
            halved.push(match left.next() {
                Some(second) => join(Box::new(first), Box::new(second)),
                None => first,
            });
        }
        operands = halved;
    }
    operands.pop().unwrap_or_else(|| Test::Word(Word::default()))
}
