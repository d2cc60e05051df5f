//! `while`, `for`, `select` and `case`.

use super::cursor::{Parser, Read};
use super::reserved::Reserved;
use super::words::Stretch;
use crate::{Arm, Kind, Part, Script, Word};

impl Parser<'_> {
    /// `while` and `until`, behind the word.
    pub(super) fn while_command(&mut self, until: bool) -> Read<Kind> {
        let condition = self.full_list()?;
        let body = self.do_group()?;
        Ok(Kind::While { until, condition, body })
    }

    /// `do ... done`.
    fn do_group(&mut self) -> Read<Script> {
        self.expect_reserved(Reserved::Do)?;
        let body = self.full_list()?;
        self.expect_reserved(Reserved::Done)?;
        Ok(body)
    }

    /// `do ... done`, or `{ ... }`, which bash takes as well.
    fn loop_body(&mut self) -> Read<Script> {
        self.blanks();
        if !self.eat_reserved(Reserved::OpenBrace) {
            return self.do_group();
        }
        let body = self.full_list()?;
        self.expect_reserved(Reserved::CloseBrace)?;
        Ok(body)
    }

    /// `for`, behind the word.
    pub(super) fn for_command(&mut self) -> Read<Kind> {
        self.blanks();
        if self.peek() == b'(' && self.second() == b'(' {
            let head = self.arithmetic_head()?;
            self.blanks();
            self.eat(b';');
            self.newlines()?;
            let body = self.loop_body()?;
            return Ok(Kind::Count { head, body });
        }
        self.for_name(false)
    }

    /// `select`, behind the word.
    pub(super) fn select_command(&mut self) -> Read<Kind> {
        self.blanks();
        self.for_name(true)
    }

    fn for_name(&mut self, select: bool) -> Read<Kind> {
        let start = self.pos;
        let word = self.word(Stretch::WORD)?;
        let name = match word.parts.as_slice() {
            [Part::Bare(name)] if is_name(name) => name.clone(),
            _ => return Err(self.stop_at(start, "not a name")),
        };
        self.blanks();
        let separated = matches!(self.peek(), b'\n' | b';');
        let semicolon = self.eat(b';');
        self.newlines()?;
        let words = if !semicolon && self.eat_reserved(Reserved::In) { Some(self.for_words()?) } else { None };
        // Directly behind the name, `{` is not reserved yet.
        let braces = separated || words.is_some();
        let body = if braces { self.loop_body()? } else { self.do_group()? };
        Ok(Kind::For { name, words, body, select })
    }

    /// The words behind `in`, and what ends them.
    fn for_words(&mut self) -> Read<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                b';' if !self.at_case_end() => self.pos += 1,
                b'\n' => {}
                _ => {
                    words.push(self.word(Stretch::WORD)?);
                    continue;
                }
            }
            self.newlines()?;
            return Ok(words);
        }
    }

    /// `case`, behind the word.
    pub(super) fn case_command(&mut self) -> Read<Kind> {
        self.shared.cases += 1;
        self.blanks();
        let word = self.word(Stretch::WORD)?;
        self.newlines()?;
        self.expect_reserved(Reserved::In)?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.eat_reserved(Reserved::Esac) {
                break;
            }
            let patterns = self.case_patterns()?;
            let body = self.list(true)?;
            self.blanks();
            let ended = self.at_case_end();
            let falls_through = ended && self.case_end();
            arms.push(Arm { patterns, body, falls_through });
            if !ended {
                self.expect_reserved(Reserved::Esac)?;
                break;
            }
        }
        Ok(Kind::Case { word, arms })
    }

    /// `(A|B)`, with or without the first parenthesis.
    fn case_patterns(&mut self) -> Read<Vec<Word>> {
        self.eat(b'(');
        let mut patterns = Vec::new();
        loop {
            self.blanks();
            patterns.push(self.word(Stretch::WORD)?);
            self.blanks();
            if self.eat(b')') {
                return Ok(patterns);
            }
            self.expect(b'|')?;
        }
    }

    /// Goes over `;;`, `;&` or `;;&`; whether the next arm may run too.
    fn case_end(&mut self) -> bool {
        self.pos += 1;
        let stops = self.eat(b';');
        let goes_on = self.eat(b'&');
        !stops || goes_on
    }
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
