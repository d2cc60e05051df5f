//! Here-documents. Their bodies begin on the line behind the one with the `<<`, when the command they belong to may be
//! read or not. So each is put into the tree when the list around it is complete.

use super::cursor::{Origin, Parser, Read};
use crate::{Command, Kind, Part, Redirect, Script, Statement, Target, Word};

/// The here-documents of a list of commands.
#[derive(Default)]
pub(crate) struct Heredocs {
    /// Their bodies are still to come.
    waiting: Vec<Waiting>,
    /// Their bodies, in the order of their `<<`.
    bodies: Vec<Word>,
}

impl Heredocs {
    /// There was a `<<`.
    pub(super) fn any(&self) -> bool {
        !self.waiting.is_empty() || !self.bodies.is_empty()
    }
}

/// A `<<`.
struct Waiting {
    delimiter: String,
    /// The delimiter was quoted: nothing is expanded in the body.
    quoted: bool,
    /// `<<-`: tabs in front of lines do not count.
    tabs: bool,
}

/// A body was read early: behind `$(cat <<A)` it begins on the next line, and the rest of this line comes after it.
#[derive(Clone, Copy)]
pub(crate) struct Displaced {
    /// The end of this line.
    line_end: usize,
    /// Where to go on behind it.
    resume: usize,
}

/// A line of a body: stretches of the text, more than one where lines are joined.
type Line = Vec<(usize, usize)>;

impl Parser<'_> {
    /// `<<` has been read, with this delimiter as written.
    pub(super) fn await_document(&mut self, written: &str, tabs: bool) {
        let (delimiter, quoted) = delimiter(written);
        self.heredocs.waiting.push(Waiting { delimiter, quoted, tabs });
    }

    /// Goes over the line end here, and over the bodies that begin behind it.
    pub(super) fn newline(&mut self) -> Read<()> {
        let at = self.pos;
        self.pos += 1;
        if let Some(displaced) = self.displaced
            && displaced.line_end <= at
        {
            self.settle_displaced_at(displaced, at)?;
            self.pos = displaced.resume;
        }
        self.bodies()
    }

    /// A body that was read early must have been stepped over, not read again as something else.
    pub(super) fn settle_displaced(&mut self) -> Read<()> {
        match self.displaced {
            Some(displaced) if displaced.line_end < self.pos => self.settle_displaced_at(displaced, self.pos),
            _ => Ok(()),
        }
    }

    fn settle_displaced_at(&mut self, displaced: Displaced, at: usize) -> Read<()> {
        self.displaced = None;
        if displaced.line_end == at {
            return Ok(());
        }
        Err(self.stop_at(displaced.line_end, "a here-document in the middle of a word"))
    }

    /// At the `)` of a substitution: what still waits begins on the next line.
    pub(super) fn late_documents(&mut self) -> Read<()> {
        if self.heredocs.waiting.is_empty() {
            return Ok(());
        }
        self.shared.late += 1;
        self.settle_displaced()?;
        let here = self.pos;
        let (line_end, resume) = match self.displaced {
            Some(displaced) => (displaced.line_end, displaced.resume),
            None => {
                let rest = self.slice(here, self.text.len());
                let line_end = here + rest.find('\n').unwrap_or(rest.len());
                (line_end, self.text.len().min(line_end + 1))
            }
        };
        self.pos = resume;
        self.bodies()?;
        self.displaced = Some(Displaced { line_end, resume: self.pos });
        self.pos = here;
        Ok(())
    }

    /// The bodies of all that wait, which begin here.
    fn bodies(&mut self) -> Read<()> {
        for waiting in std::mem::take(&mut self.heredocs.waiting) {
            self.shared.documents += 1;
            let body = self.body(&waiting)?;
            self.heredocs.bodies.push(body);
        }
        Ok(())
    }

    /// One body, and its delimiter. The end of the text will do for it.
    fn body(&mut self, waiting: &Waiting) -> Read<Word> {
        let start = self.pos;
        let mut kept: Line = Vec::new();
        let mut line: Line = Vec::new();
        let mut end = start;
        while self.pos < self.text.len() {
            end = self.pos;
            let next = self.body_line(waiting, &mut line);
            if self.is_delimiter(&line, &waiting.delimiter) {
                self.pos = next;
                return self.body_word(waiting, &kept, start, end);
            }
            if let Some(behind) = self.ends_with_parenthesis(&line, &waiting.delimiter) {
                self.pos = behind;
                return self.body_word(waiting, &kept, start, end);
            }
            // The line end is part of the body.
            if let Some(last) = line.last_mut() {
                last.1 = next;
            }
            for &(from, to) in &line {
                match kept.last_mut() {
                    Some(last) if last.1 == from => last.1 = to,
                    _ => kept.push((from, to)),
                }
            }
            self.pos = next;
            end = next;
        }
        self.shared.work += end - start;
        self.body_word(waiting, &kept, start, end)
    }

    /// The next line as bash sees it: joined to the next unless the delimiter is quoted, and without tabs for `<<-`.
    /// Returns where the one behind begins.
    fn body_line(&self, waiting: &Waiting, line: &mut Line) -> usize {
        line.clear();
        let mut at = self.pos;
        loop {
            let rest = self.slice(at, self.text.len());
            let length = rest.find('\n').unwrap_or(rest.len());
            let end = at + length;
            let backslashes = rest.bytes().take(length).rev().take_while(|&byte| byte == b'\\').count();
            let joins = !waiting.quoted && backslashes % 2 == 1 && end < self.text.len();
            line.push((at, if joins { end - 1 } else { end }));
            at = self.text.len().min(end + 1);
            if !joins {
                break;
            }
        }
        if waiting.tabs {
            for stretch in line.iter_mut() {
                while stretch.0 < stretch.1 && self.byte(stretch.0) == b'\t' {
                    stretch.0 += 1;
                }
                if stretch.0 < stretch.1 {
                    break;
                }
            }
        }
        at
    }

    fn is_delimiter(&self, line: &[(usize, usize)], delimiter: &str) -> bool {
        let mut rest = delimiter;
        for &(from, to) in line {
            match rest.strip_prefix(self.slice(from, to)) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// In `$(...)`, a line with the delimiter and a `)` somewhere behind ends a body as well. Returns where it ends.
    fn ends_with_parenthesis(&self, line: &[(usize, usize)], delimiter: &str) -> Option<usize> {
        let &[(from, to)] = line else { return None };
        if !self.in_parentheses || delimiter.is_empty() {
            return None;
        }
        let behind = self.slice(from, to).strip_prefix(delimiter)?;
        behind.contains(')').then_some(from + delimiter.len())
    }

    /// A body from the stretches of it that count.
    fn body_word(&mut self, waiting: &Waiting, kept: &[(usize, usize)], start: usize, end: usize) -> Read<Word> {
        let after = std::mem::replace(&mut self.pos, end);
        let span = self.span(start);
        self.pos = after;
        let (mut joined, mut places) = (String::new(), Vec::new());
        let (text, origin) = match kept {
            [] => ("", self.origin_from(start)),
            &[(from, to)] => (self.slice(from, to), self.origin_from(from)),
            several => {
                for &(from, to) in several {
                    joined.push_str(self.slice(from, to));
                    places.extend((from..to).map(|at| self.place(at)));
                }
                places.push(self.place(end));
                (joined.as_str(), Origin::Map(&places))
            }
        };
        let parts = if waiting.quoted {
            vec![Part::Quoted(text.to_owned())]
        } else {
            self.deeper(|parser| parser.inside(text, origin, |inner| inner.body_parts()))?
        };
        Ok(Word { parts, span })
    }
}

/// What ends the body, and whether any of it was quoted.
fn delimiter(written: &str) -> (String, bool) {
    let mut out = String::new();
    let mut quoted = false;
    let mut quote = None;
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) if letters.peek() == Some(&'\n') => {
                letters.next();
            }
            ('\\', None) => {
                quoted = true;
                out.extend(letters.next());
            }
            ('\\', Some('"')) if matches!(letters.peek(), Some('$' | '`' | '"' | '\\')) => out.extend(letters.next()),
            ('\'' | '"', None) => {
                quoted = true;
                quote = Some(letter);
            }
            ('$', None) if matches!(letters.peek(), Some('\'' | '"')) => {}
            (letter, Some(open)) if letter == open => quote = None,
            (letter, _) => out.push(letter),
        }
    }
    (out, quoted)
}

/// Puts bodies where they belong, in the order of their `<<`.
pub(super) fn fill(statements: &mut [Statement], documents: Heredocs) {
    if documents.bodies.is_empty() {
        return;
    }
    let mut bodies = documents.bodies.into_iter();
    fill_statements(statements, &mut bodies);
}

type Bodies = std::vec::IntoIter<Word>;

fn fill_statements(statements: &mut [Statement], bodies: &mut Bodies) {
    for statement in statements {
        let rest = statement.rest.iter_mut().map(|(_, pipeline)| pipeline);
        for pipeline in std::iter::once(&mut statement.first).chain(rest) {
            for command in &mut pipeline.stages {
                fill_command(command, bodies);
            }
        }
    }
}

fn fill_command(command: &mut Command, bodies: &mut Bodies) {
    let mut fill = |script: &mut Script| fill_statements(&mut script.statements, bodies);
    match &mut command.kind {
        Kind::Simple(_) | Kind::Arithmetic(_) | Kind::Test(_) => {}
        Kind::Group(script) | Kind::Subshell(script) => fill(script),
        Kind::If { arms, otherwise } => {
            for (condition, body) in arms {
                fill(condition);
                fill(body);
            }
            otherwise.iter_mut().for_each(fill);
        }
        Kind::While { condition, body, .. } => {
            fill(condition);
            fill(body);
        }
        Kind::For { body, .. } | Kind::Count { body, .. } => fill(body),
        Kind::Case { arms, .. } => arms.iter_mut().for_each(|arm| fill(&mut arm.body)),
        Kind::Function { body, .. } | Kind::Coprocess(body) => fill_command(body, bodies),
    }
    for Redirect { to, .. } in &mut command.redirects {
        if let Target::Here(body) = to {
            *body = bodies.next().unwrap_or_default();
        }
    }
}
