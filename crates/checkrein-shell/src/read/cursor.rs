//! Where the parser stands in the text, and what bounds its work.

use std::collections::HashMap;

use super::heredoc::{Displaced, Heredocs};
use crate::Span;

/// How deep everything together may nest. Each level costs several frames of stack.
const DEEPEST: usize = 60;

/// Adds to a list that mostly stays short: `Vec` would make room for four at once, and a long script has many lists.
pub(super) fn add<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// The byte of the whole text.
    pub(crate) at: usize,
    /// For people.
    pub(crate) reason: &'static str,
}

impl Stop {
    /// The reason of a token that does not belong where it stands.
    pub(crate) const UNEXPECTED: &'static str = "unexpected";
}

/// The outcome of reading something.
pub(crate) type Read<T> = Result<T, Stop>;

/// What the parsers of one text know together: the texts of backquotes and here-documents have parsers of their own.
#[derive(Default)]
pub(crate) struct Shared {
    /// About how much has been done: bytes, those read several times counted as often, and something for each command.
    pub(crate) work: usize,
    /// When to stop for that alone.
    pub(crate) most_work: Option<usize>,
    /// How many here-documents have been read.
    pub(super) documents: usize,
    /// How many substitutions ended in front of the bodies of their here-documents.
    pub(super) late: usize,
    /// How many `case` commands.
    pub(super) cases: usize,
    /// Where `((` turned out not to open arithmetic, and for `$((` where the `)` of the `$(` is. Without this, nested ones
    /// would be tried anew at every level.
    pub(super) not_arithmetic: HashMap<usize, usize>,
}

/// Where the bytes of a parser's text stand in the whole text.
#[derive(Clone, Copy)]
pub(super) enum Origin<'t> {
    /// This many bytes further on.
    Shift(usize),
    /// One place for each byte, and one for the end: backslashes or tabs have been taken out.
    Map(&'t [usize]),
}

impl<'t> Origin<'t> {
    fn locate(self, at: usize) -> usize {
        match self {
            Origin::Shift(by) => at.saturating_add(by),
            Origin::Map(places) => places.get(at).or(places.last()).copied().unwrap_or(0),
        }
    }

    fn skip(self, bytes: usize) -> Origin<'t> {
        match self {
            Origin::Shift(by) => Origin::Shift(by.saturating_add(bytes)),
            Origin::Map(places) => Origin::Map(places.get(bytes..).unwrap_or_default()),
        }
    }
}

/// A parser, somewhere in its text.
pub(crate) struct Parser<'t> {
    pub(super) text: &'t str,
    /// The next byte. It is always the first of a character.
    pub(super) pos: usize,
    /// Where the line that is being read began.
    pub(super) line: usize,
    /// What is read ends with `)`, not with the text.
    pub(super) in_parentheses: bool,
    /// Where the first command of the innermost substitution begins.
    pub(super) first: usize,
    pub(super) heredocs: Heredocs,
    pub(super) displaced: Option<Displaced>,
    pub(super) shared: &'t mut Shared,
    origin: Origin<'t>,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// A parser at `pos`.
    pub(crate) fn new(text: &'t str, pos: usize, shared: &'t mut Shared) -> Self {
        Parser {
            text,
            pos,
            line: pos,
            in_parentheses: false,
            first: 0,
            heredocs: Heredocs::default(),
            displaced: None,
            shared,
            origin: Origin::Shift(0),
            depth: 0,
        }
    }

    /// Reads another text, whose bytes come from this one.
    pub(super) fn inside<T>(
        &mut self,
        text: &str,
        origin: Origin<'_>,
        read: impl FnOnce(&mut Parser<'_>) -> Read<T>,
    ) -> Read<T> {
        let mut inner = Parser::new(text, 0, &mut *self.shared);
        inner.origin = origin;
        inner.depth = self.depth;
        let found = read(&mut inner)?;
        inner.settle_displaced()?;
        Ok(found)
    }

    /// Where the text from `at` on comes from.
    pub(super) fn origin_from(&self, at: usize) -> Origin<'t> {
        self.origin.skip(at)
    }

    /// Reads something one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEEPEST {
            return Err(self.stop_at(self.pos, "nested too deep"));
        }
        self.depth += 1;
        self.shared.work += 32;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Where the line that is being read began.
    pub(crate) fn line_start(&self) -> usize {
        self.line
    }

    /// A byte, or 0 behind the end: the text holds no NUL.
    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Where to go on from `at`: behind any backslashes in front of a line end, which bash takes out.
    #[inline]
    pub(super) fn joined(&self, mut at: usize) -> usize {
        while self.byte(at) == b'\\' && self.byte(at + 1) == b'\n' {
            at += 2;
        }
        at
    }

    /// The next byte, with continued lines joined; 0 at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        self.pos = self.joined(self.pos);
        self.byte(self.pos)
    }

    /// The byte behind the next one.
    #[inline]
    pub(super) fn second(&mut self) -> u8 {
        self.peek();
        self.byte(self.joined(self.pos + 1))
    }

    /// Goes over one byte of ASCII, if it is the next.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte && byte != 0;
        if there {
            self.pos += 1;
        }
        there
    }

    /// Goes over `&&` or `||`, and blanks in front.
    pub(super) fn eat_twice(&mut self, byte: u8) -> bool {
        self.blanks();
        let there = self.peek() == byte && self.second() == byte;
        if there {
            self.eat(byte);
            self.eat(byte);
        }
        there
    }

    /// Goes over one byte of ASCII, which must be the next.
    pub(super) fn expect(&mut self, byte: u8) -> Read<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Goes over blanks and a comment. Only called where a word may begin, so `#` begins a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.pos += 1,
                b'#' => {
                    let rest = self.slice(self.pos, self.text.len());
                    self.pos += rest.find('\n').unwrap_or(rest.len());
                    return;
                }
                _ => return,
            }
        }
    }

    /// A stretch of the text. Both ends are at characters, as everything that means something is ASCII.
    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// A place in the whole text.
    pub(super) fn place(&self, at: usize) -> usize {
        self.origin.locate(at)
    }

    /// From `start` to here.
    pub(super) fn span(&self, start: usize) -> Span {
        let narrow = |at: usize| u32::try_from(self.place(at)).unwrap_or(u32::MAX);
        Span { start: narrow(start), end: narrow(self.pos) }
    }

    /// The next token does not belong here.
    #[cold]
    pub(super) fn unexpected(&mut self) -> Stop {
        self.peek();
        self.stop_at(self.pos, Stop::UNEXPECTED)
    }

    /// Something is wrong at `at`.
    #[cold]
    pub(super) fn stop_at(&self, at: usize, reason: &'static str) -> Stop {
        Stop { at: self.place(at), reason }
    }
}
