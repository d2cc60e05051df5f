//! Lists, pipelines and simple commands.

use super::assignments::{Front, takes_arrays};
use super::cursor::{Parser, Read, add};
use super::heredoc::fill;
use super::reserved::{Reserved, is_reserved};
use super::words::{Stretch, ends_word};
use crate::{
    Assignment, Command, Descriptor, Joiner, Kind, Part, Pipeline, Redirect, Script, Simple, Statement, Target, Value,
    Word,
};

impl Parser<'_> {
    /// A whole text, line by line as bash does it. On an error, `script` holds the lines in front.
    pub(crate) fn lines(&mut self, script: &mut Script) -> Read<()> {
        loop {
            self.line = self.pos;
            let complete = script.statements.len();
            let more = self.line(&mut script.statements);
            if more.is_err() {
                script.statements.truncate(complete);
            }
            let documents = std::mem::take(&mut self.heredocs);
            fill(script.statements.get_mut(complete..).unwrap_or_default(), documents);
            if !more? {
                return Ok(());
            }
        }
    }

    /// The commands up to the end of a line, and the end; whether there may be more lines.
    fn line(&mut self, statements: &mut Vec<Statement>) -> Read<bool> {
        loop {
            self.blanks();
            if self.at_line_end()? {
                break;
            }
            statements.push(self.statement()?);
            self.blanks();
            match self.peek() {
                b';' if !self.at_case_end() => self.pos += 1,
                b'&' => {
                    self.pos += 1;
                    background(statements);
                }
                _ => {
                    if self.at_line_end()? {
                        break;
                    }
                    return Err(self.unexpected());
                }
            }
        }
        self.settle_displaced()?;
        Ok(self.pos < self.text.len())
    }

    /// One statement, or only its first command, and where it ends. Here-documents are looked for on the next line.
    pub(crate) fn piece(&mut self, whole: bool) -> Read<(Script, usize)> {
        let statement = if whole {
            self.statement()?
        } else {
            let first = Pipeline { negated: false, timed: false, stages: vec![self.command()?] };
            Statement { first, rest: Vec::new(), background: false }
        };
        let mut statements = vec![statement];
        self.late_documents()?;
        fill(&mut statements, std::mem::take(&mut self.heredocs));
        Ok((Script { statements }, self.pos))
    }

    /// Goes over a line end; also true at the end of the text.
    fn at_line_end(&mut self) -> Read<bool> {
        match self.peek() {
            b'\n' => {
                self.newline()?;
                Ok(true)
            }
            _ => Ok(self.pos >= self.text.len()),
        }
    }

    /// Commands up to whatever can not begin one: `)`, `;;`, `then`, the end of the text. That is left.
    pub(super) fn list(&mut self, nested: bool) -> Read<Script> {
        let mut statements = Vec::new();
        self.newlines()?;
        while !self.at_list_end() {
            add(&mut statements, self.statement()?);
            self.blanks();
            match self.peek() {
                b';' if !self.at_case_end() => {
                    self.check_separator()?;
                    self.pos += 1;
                }
                b'&' => {
                    self.check_separator()?;
                    self.pos += 1;
                    background(&mut statements);
                }
                b'\n' => {}
                _ => break,
            }
            let on_next_line = self.peek() == b'\n';
            self.newlines()?;
            if nested && on_next_line && !self.at_list_end() {
                self.check_separator()?;
            }
        }
        Ok(Script { statements })
    }

    /// Between two commands. In a substitution, bash 5.2 prints the commands and reads that as they run; and of the `;` it
    /// prints, the first behind a here-document gets lost. `$(cat <<E ... E` and then `find .; -delete)` deletes.
    fn check_separator(&mut self) -> Read<()> {
        if self.in_parentheses && self.heredocs.any() {
            return Err(self.stop_at(self.pos, "a separator behind a here-document in a substitution"));
        }
        Ok(())
    }

    /// The commands inside a compound one, at least one.
    pub(super) fn full_list(&mut self) -> Read<Script> {
        let script = self.list(true)?;
        if script.statements.is_empty() { Err(self.unexpected()) } else { Ok(script) }
    }

    /// Blanks, comments and line ends.
    pub(super) fn newlines(&mut self) -> Read<()> {
        self.blanks();
        while self.peek() == b'\n' {
            self.newline()?;
            self.blanks();
        }
        Ok(())
    }

    /// `;;`, `;&` or `;;&`.
    pub(super) fn at_case_end(&mut self) -> bool {
        self.peek() == b';' && matches!(self.second(), b';' | b'&')
    }

    fn at_list_end(&mut self) -> bool {
        match self.peek() {
            0 | b')' => true,
            b';' => self.at_case_end(),
            _ => self.reserved().is_some_and(|(word, _)| word.ends_list()),
        }
    }

    /// Pipelines joined by `&&` and `||`.
    pub(super) fn statement(&mut self) -> Read<Statement> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let joiner = if self.eat_twice(b'&') {
                Joiner::And
            } else if self.eat_twice(b'|') {
                Joiner::Or
            } else {
                return Ok(Statement { first, rest, background: false });
            };
            if !rest.is_empty() {
                self.check_separator()?;
            }
            self.newlines()?;
            rest.push((joiner, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        let mut pipeline = Pipeline { negated: false, timed: false, stages: Vec::new() };
        let mut prefixed = false;
        // As the first word of a substitution, `time` is not reserved when bash 5.2 looks for the end, but is when the
        // commands run. Only what reads the same both ways is taken. `! time` comes out in the other order.
        let mut plain_time = false;
        loop {
            self.blanks();
            match self.reserved() {
                Some((Reserved::Bang, end)) => {
                    self.pos = end;
                    pipeline.negated = !pipeline.negated;
                }
                Some((Reserved::Time, end)) => {
                    plain_time |= self.in_parentheses && (self.pos == self.first || pipeline.negated);
                    self.pos = end;
                    pipeline.timed = true;
                    self.time_options();
                }
                _ => break,
            }
            prefixed = true;
        }
        // `!` and `time` alone are commands.
        if prefixed && (matches!(self.peek(), 0 | b'\n') || self.peek() == b';' && !self.at_case_end()) {
            return Ok(pipeline);
        }
        loop {
            add(&mut pipeline.stages, self.command()?);
            if plain_time && !is_plainly_timed(&pipeline) {
                return Err(self.unexpected());
            }
            plain_time = false;
            self.blanks();
            if self.peek() != b'|' || self.second() == b'|' {
                return Ok(pipeline);
            }
            self.pos += 1;
            if self.eat(b'&') {
                let redirect = self.errors_too();
                if let Some(stage) = pipeline.stages.last_mut() {
                    stage.redirects.push(redirect);
                }
            }
            let behind = self.pos;
            self.newlines()?;
            // On a line of its own it is reserved again, and `time` has no place inside a pipeline.
            let own_line = self.slice(behind, self.pos).contains('\n');
            if own_line && matches!(self.reserved(), Some((Reserved::Time, _))) {
                return Err(self.unexpected());
            }
        }
    }

    /// `-p` and `--` behind `time`.
    fn time_options(&mut self) {
        for option in [b'p', b'-'] {
            self.blanks();
            let start = self.pos;
            if !(self.eat(b'-') && self.eat(option) && ends_word(self.peek())) {
                self.pos = start;
            }
        }
    }

    /// What `|&` adds: `2>&1`.
    fn errors_too(&self) -> Redirect {
        let span = self.span(self.pos.saturating_sub(2));
        let word = Word { parts: vec![Part::Bare("1".to_owned())], span };
        Redirect { descriptor: Some(Descriptor::Number(2)), to: Target::Duplicate { output: true, word }, span }
    }

    /// One command.
    pub(super) fn command(&mut self) -> Read<Command> {
        self.shared.work += 32;
        if self.shared.most_work.is_some_and(|most| self.shared.work > most) {
            return Err(self.stop_at(self.pos, "too much to read"));
        }
        self.blanks();
        match self.reserved() {
            Some((Reserved::Function, end)) => {
                let start = self.pos;
                self.pos = end;
                self.function_keyword(start)
            }
            Some((Reserved::Coproc, end)) => {
                let start = self.pos;
                self.pos = end;
                self.coprocess(start)
            }
            // Behind `|` it is not reserved.
            Some((Reserved::Time, _)) => self.simple(),
            Some((word, _)) if word.opens_compound() => self.compound(),
            Some(_) => Err(self.unexpected()),
            None if self.peek() == b'(' => self.compound(),
            None => self.simple(),
        }
    }

    /// Assignments, words, redirections; or a function, which begins like one.
    pub(super) fn simple(&mut self) -> Read<Command> {
        self.peek();
        let start = self.pos;
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        let mut arrays = false;
        let mut end = start;
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                arrays = false;
            } else if self.at_word() {
                self.argument(&mut simple, &mut arrays)?;
                // Behind both, bash does not know the builtin.
                arrays &= redirects.is_empty() || simple.assignments.is_empty();
            } else {
                break;
            }
            end = self.pos;
        }
        if self.peek() == b'(' {
            return match simple.words.as_slice() {
                [_] if simple.assignments.is_empty() && redirects.is_empty() => self.function_word(simple, start, end),
                _ => Err(self.unexpected()),
            };
        }
        if end == start {
            return Err(self.unexpected());
        }
        if self.in_parentheses && redirected_reserved(&simple, &redirects) {
            return Err(self.stop_at(start, "a redirection in front of a reserved word"));
        }
        let behind = std::mem::replace(&mut self.pos, end);
        let span = self.span(start);
        self.pos = behind;
        Ok(Command { kind: Kind::Simple(simple), redirects, span })
    }

    /// A word of a simple command, or an assignment.
    fn argument(&mut self, simple: &mut Simple, arrays: &mut bool) -> Read<()> {
        if *arrays && let Some(array) = self.array_argument()? {
            simple.arrays.push(array);
            return Ok(());
        }
        if !simple.words.is_empty() {
            let word = self.word(Stretch::WORD)?;
            self.check_descriptor(&word)?;
            simple.words.push(word);
            return Ok(());
        }
        match self.front()? {
            Front::Assignment(assignment) => simple.assignments.push(assignment),
            Front::Word(word) => {
                self.check_descriptor(&word)?;
                *arrays = matches!(word.parts.as_slice(), [Part::Bare(name)] if takes_arrays(name));
                simple.words.push(word);
            }
        }
        Ok(())
    }
}

/// `>f ! rm`: a command of the name `!`. But bash 5.2 prints the commands of a substitution with the redirections behind,
/// reads that as they run, and runs `rm`.
fn redirected_reserved(simple: &Simple, redirects: &[Redirect]) -> bool {
    match (simple.words.first(), redirects.first()) {
        (Some(word), Some(redirect)) => {
            simple.assignments.is_empty() && redirect.span.start < word.span.start && is_reserved(word)
        }
        _ => false,
    }
}

/// A simple command without arrays, and nothing in front of it but `time`.
fn is_plainly_timed(pipeline: &Pipeline) -> bool {
    let plain = |stage: &Command| match &stage.kind {
        Kind::Simple(simple) => {
            let array = |assignment: &Assignment| matches!(assignment.value, Value::Array(_));
            simple.arrays.is_empty() && !simple.assignments.iter().any(array)
        }
        _ => false,
    };
    !pipeline.negated && pipeline.stages.iter().all(plain)
}

/// The last statement ends with `&`.
fn background(statements: &mut [Statement]) {
    if let Some(last) = statements.last_mut() {
        last.background = true;
    }
}
