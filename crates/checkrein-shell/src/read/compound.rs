//! Compound commands, functions and coprocesses.

use super::cursor::{Parser, Read};
use super::reserved::{Reserved, is_reserved};
use super::words::{Stretch, ends_word};
use crate::{Command, Kind, Part, Simple};

impl Parser<'_> {
    /// A compound command with its redirections.
    pub(super) fn compound(&mut self) -> Read<Command> {
        self.peek();
        let start = self.pos;
        let kind = self.deeper(Parser::compound_kind)?;
        let mut end = self.pos;
        let redirects = self.redirects()?;
        if !redirects.is_empty() {
            // Bash takes what follows a redirection for a word, never for a reserved one.
            if !ends_word(self.peek()) {
                return Err(self.unexpected());
            }
            end = self.pos;
        }
        let behind = std::mem::replace(&mut self.pos, end);
        let span = self.span(start);
        self.pos = behind;
        Ok(Command { kind, redirects, span })
    }

    fn compound_kind(&mut self) -> Read<Kind> {
        let Some((word, end)) = self.reserved() else { return self.parenthesized() };
        self.pos = end;
        match word {
            Reserved::OpenBrace => {
                let script = self.full_list()?;
                self.expect_reserved(Reserved::CloseBrace)?;
                Ok(Kind::Group(script))
            }
            Reserved::If => self.if_command(),
            Reserved::While | Reserved::Until => self.while_command(word == Reserved::Until),
            Reserved::For => self.for_command(),
            Reserved::Select => self.select_command(),
            Reserved::Case => self.case_command(),
            Reserved::OpenTest => Ok(Kind::Test(self.test()?)),
            _ => Err(self.unexpected()),
        }
    }

    /// `((...))` or `(...)`.
    fn parenthesized(&mut self) -> Read<Kind> {
        if self.peek() != b'(' {
            return Err(self.unexpected());
        }
        let start = self.pos;
        let twice = self.byte(self.joined(start + 1)) == b'(';
        let documents = self.shared.documents;
        if twice && let Some(expression) = self.arithmetic_command()? {
            return Ok(Kind::Arithmetic(expression));
        }
        self.pos += 1;
        let script = self.full_list()?;
        self.expect(b')')?;
        if twice && self.shared.documents > documents {
            return Err(self.document_in_parentheses(start));
        }
        Ok(Kind::Subshell(script))
    }

    /// `if`, behind the word.
    fn if_command(&mut self) -> Read<Kind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.full_list()?;
            self.expect_reserved(Reserved::Then)?;
            arms.push((condition, self.full_list()?));
            self.blanks();
            if !self.eat_reserved(Reserved::Elif) {
                break;
            }
        }
        let otherwise = if self.eat_reserved(Reserved::Else) { Some(self.full_list()?) } else { None };
        self.expect_reserved(Reserved::Fi)?;
        Ok(Kind::If { arms, otherwise })
    }

    /// `NAME ()`, at its parenthesis; the name is the only word of `simple`.
    pub(super) fn function_word(&mut self, simple: Simple, start: usize, end: usize) -> Read<Command> {
        self.pos += 1;
        self.blanks();
        self.expect(b')')?;
        let name = match simple.words.first().map(|word| word.parts.as_slice()) {
            Some([Part::Bare(name)]) => name.clone(),
            _ => self.slice(start, end).to_owned(),
        };
        self.function_body(name, start)
    }

    /// `function NAME` with or without `()`, behind the first word.
    pub(super) fn function_keyword(&mut self, start: usize) -> Read<Command> {
        self.blanks();
        self.peek();
        let from = self.pos;
        let word = self.word(Stretch::WORD)?;
        let name = match word.parts.as_slice() {
            [Part::Bare(name)] => name.clone(),
            _ => self.slice(from, self.pos).to_owned(),
        };
        self.blanks();
        let behind = self.pos;
        if self.eat(b'(') {
            self.blanks();
            if !self.eat(b')') {
                self.pos = behind;
            }
        }
        self.function_body(name, start)
    }

    fn function_body(&mut self, name: String, start: usize) -> Read<Command> {
        self.newlines()?;
        if !self.at_compound() {
            return Err(self.unexpected());
        }
        let body = Box::new(self.compound()?);
        let mut span = body.span;
        span.start = self.span(start).start;
        Ok(Command { kind: Kind::Function { name, body }, redirects: Vec::new(), span })
    }

    /// A compound command begins here.
    fn at_compound(&mut self) -> bool {
        match self.reserved() {
            Some((word, _)) => word.opens_compound(),
            None => self.peek() == b'(',
        }
    }

    /// `coproc`, behind the word.
    pub(super) fn coprocess(&mut self, start: usize) -> Read<Command> {
        self.blanks();
        let inner = if self.at_compound() {
            self.compound()?
        } else {
            if !matches!(self.reserved(), None | Some((Reserved::Time, _))) {
                return Err(self.unexpected());
            }
            match self.coprocess_name() {
                Some(end) => {
                    self.pos = end;
                    self.compound()?
                }
                // In a substitution, bash 5.2 runs a command of the name COPROC instead.
                None if self.in_parentheses => return Err(self.stop_at(start, "a `coproc` in a substitution")),
                None => self.simple()?,
            }
        };
        // Bash looks for a reserved word behind the first one, as that may be the name of the coprocess.
        let refused = match &inner.kind {
            Kind::Function { .. } => true,
            Kind::Simple(simple) => matches!(simple.words.as_slice(), [_, second, ..] if is_reserved(second)),
            _ => false,
        };
        if refused {
            return Err(self.unexpected());
        }
        let mut span = inner.span;
        span.start = self.span(start).start;
        Ok(Command { kind: Kind::Coprocess(Box::new(inner)), redirects: Vec::new(), span })
    }

    /// A name with a compound command behind it: where that begins.
    fn coprocess_name(&mut self) -> Option<usize> {
        let start = self.pos;
        self.name();
        let named = self.pos > start;
        let blank = matches!(self.peek(), b' ' | b'\t');
        self.blanks();
        let compound = self.at_compound() && (blank || self.peek() == b'(');
        let end = std::mem::replace(&mut self.pos, start);
        (named && compound).then_some(end)
    }
}
