//! Words, and every other stretch of text in which quotes, backslashes and `$` mean what they mean outside of quotes:
//! the inside of `${...}`, of subscripts, of arithmetic, of patterns.

use super::cursor::{Parser, Read, add};
use super::dollar::Quoting;
use crate::{Part, Word};

/// Parts as they come, neighbours of one kind joined.
#[derive(Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Text that is not quoted.
    pub(super) fn bare(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Part::Bare(last)) => last.push_str(text),
            _ => add(&mut self.0, Part::Bare(text.to_owned())),
        }
    }

    /// Text that is quoted; an empty one counts as well.
    pub(super) fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Quoted(last)) => last.push_str(text),
            _ => add(&mut self.0, Part::Quoted(text.to_owned())),
        }
    }

    /// Anything else.
    pub(super) fn push(&mut self, part: Part) {
        add(&mut self.0, part);
    }

    /// Several of anything.
    pub(super) fn extend(&mut self, parts: Vec<Part>) {
        for part in parts {
            match part {
                Part::Bare(text) => self.bare(&text),
                part => self.0.push(part),
            }
        }
    }

    /// All of them.
    pub(super) fn finish(self) -> Vec<Part> {
        self.0
    }
}

/// A stretch of unquoted text: what ends it, and what is special in it.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    /// Ends it, outside of any pair.
    ends: fn(u8) -> bool,
    /// Two bytes which pair up inside it; the second ends it where it has no partner.
    pair: Option<(u8, u8)>,
    processes: Processes,
    /// The end of the text ends it too.
    may_run_out: bool,
    /// Parentheses take in whatever is between them.
    groups: Groups,
    /// `? :` pair up, so that a later `:` can end it.
    ternaries: bool,
    /// Bash pairs up single quotes in it, and then expands what is between them all the same.
    arithmetic: bool,
    /// All of it is inside double quotes.
    in_quotes: bool,
    /// It is inside `${...}`, which the first `}` ends, even between brackets.
    in_braces: bool,
}

/// What `<(` and `>(` are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processes {
    /// Substitutions.
    Run,
    /// Two characters.
    Plain,
    /// Bash looks for their end, but then does not run them.
    Refused,
}

/// Which parentheses are part of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Groups {
    None,
    /// Those behind one of `?*+@!`.
    Patterns,
    /// All of them, and `|`.
    Regex,
}

impl Stretch {
    const BASE: Stretch = Stretch {
        ends: |_| false,
        pair: None,
        processes: Processes::Run,
        may_run_out: false,
        groups: Groups::None,
        ternaries: false,
        arithmetic: false,
        in_quotes: false,
        in_braces: false,
    };
    /// A word.
    pub(super) const WORD: Stretch = Stretch { ends: ends_word, may_run_out: true, ..Stretch::BASE };
    /// The right side of `==` in `[[ ]]`.
    pub(super) const PATTERN: Stretch = Stretch { groups: Groups::Patterns, ..Stretch::WORD };
    /// The right side of `=~`.
    pub(super) const REGEX: Stretch = Stretch { groups: Groups::Regex, ..Stretch::WORD };
    /// Inside parentheses that are part of a word.
    const GROUP: Stretch = Stretch { pair: Some((b'(', b')')), ..Stretch::BASE };
    /// Inside `[...]` behind a name.
    pub(super) const SUBSCRIPT: Stretch =
        Stretch { pair: Some((b'[', b']')), arithmetic: true, processes: Processes::Refused, ..Stretch::BASE };
    /// The same in `${NAME[...]}`.
    pub(super) const KEY: Stretch = Stretch { in_braces: true, ..Stretch::SUBSCRIPT };
    /// The same inside an array.
    pub(super) const ELEMENT: Stretch = Stretch { processes: Processes::Run, ..Stretch::SUBSCRIPT };
    /// Inside `((...))`, up to the first `)` without a partner.
    pub(super) const PARENTHESES: Stretch = Stretch { arithmetic: true, processes: Processes::Plain, ..Stretch::GROUP };
    /// The same, or up to a `;`.
    pub(super) const HEAD: Stretch = Stretch { ends: |byte| byte == b';', ..Stretch::PARENTHESES };
    /// Behind an operator in `${...}`.
    pub(super) const BRACE: Stretch = Stretch { ends: |byte| byte == b'}', ..Stretch::BASE };
    /// The pattern in `${NAME/PATTERN/...}`.
    pub(super) const REPLACED: Stretch = Stretch { ends: |byte| matches!(byte, b'}' | b'/'), ..Stretch::BASE };
    /// The offset in `${NAME:OFFSET:LENGTH}`.
    pub(super) const OFFSET: Stretch = Stretch {
        ends: |byte| matches!(byte, b'}' | b':'),
        pair: Some((b'(', b')')),
        processes: Processes::Refused,
        ternaries: true,
        arithmetic: true,
        in_braces: true,
        ..Stretch::BASE
    };
    /// The length.
    pub(super) const EXTENT: Stretch = Stretch { processes: Processes::Refused, arithmetic: true, ..Stretch::BRACE };
}

impl Stretch {
    /// The same, with this around it.
    pub(super) fn within(self, quoting: Quoting) -> Stretch {
        Stretch { in_quotes: quoting != Quoting::Bare, ..self }
    }
}

/// A word ends in front of it.
#[inline]
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// It never means anything by itself.
#[inline]
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b',' | b'=' | b'%' | 0x80..)
}

impl Parser<'_> {
    /// A word begins here, not an operator.
    pub(super) fn at_word(&mut self) -> bool {
        let next = self.peek();
        !ends_word(next) || self.at_process()
    }

    /// `<(` or `>(` stands here.
    pub(super) fn at_process(&mut self) -> bool {
        matches!(self.peek(), b'<' | b'>') && self.second() == b'('
    }

    /// A word, which must begin here.
    pub(super) fn word(&mut self, stretch: Stretch) -> Read<Word> {
        let in_regex = stretch.groups == Groups::Regex && matches!(self.peek(), b'(' | b'|');
        if in_regex || self.at_word() { self.stretch(stretch) } else { Err(self.unexpected()) }
    }

    /// A stretch as a word, perhaps an empty one.
    pub(super) fn stretch(&mut self, stretch: Stretch) -> Read<Word> {
        self.peek();
        let start = self.pos;
        let mut parts = Parts::default();
        self.stretch_into(stretch, &mut parts)?;
        Ok(Word { parts: parts.finish(), span: self.span(start) })
    }

    /// A stretch, behind what is read already. What ends it is left.
    pub(super) fn stretch_into(&mut self, stretch: Stretch, parts: &mut Parts) -> Read<()> {
        let start = self.pos;
        let mut level = 0_usize;
        let mut ternaries = 0_usize;
        // Where the plain text began that is not among the parts yet.
        let mut from = self.pos;
        loop {
            let byte = self.byte(self.pos);
            if is_plain(byte) {
                self.pos += 1;
                continue;
            }
            let starts_part = matches!(byte, b'\\' | b'\'' | b'"' | b'`' | b'$')
                || (matches!(byte, b'<' | b'>') && stretch.processes != Processes::Plain && self.at_process());
            let starts_group = (byte == b'(' && self.opens_group(stretch.groups, from))
                || (byte == b'|' && stretch.groups == Groups::Regex);
            if starts_part || starts_group {
                parts.bare(self.slice(from, self.pos));
                from = self.pos;
                if byte == b'$' && !stretch.may_run_out {
                    self.check_pid()?;
                }
                if matches!(byte, b'<' | b'>') && stretch.processes == Processes::Refused {
                    return Err(self.unexpected());
                }
                if starts_part {
                    self.special(byte, parts)?
                } else {
                    self.group(byte, parts)?
                }
                if stretch.arithmetic || stretch.in_quotes {
                    self.check_quotes(stretch, from, parts)?;
                }
                from = self.pos;
                continue;
            }
            match stretch.pair {
                _ if stretch.in_braces && byte == b'}' => break,
                Some((opens, _)) if byte == opens => level += 1,
                Some((_, closes)) if byte == closes => match level.checked_sub(1) {
                    Some(outer) => level = outer,
                    None => break,
                },
                _ if level > 0 => {}
                _ if stretch.ternaries && byte == b'?' => ternaries += 1,
                _ if byte == b':' && ternaries > 0 => ternaries -= 1,
                _ if (stretch.ends)(byte) => break,
                _ => {}
            }
            if byte == 0 {
                break;
            }
            self.pos += 1;
        }
        self.shared.work += self.pos - start;
        if self.pos >= self.text.len() && !stretch.may_run_out {
            return Err(self.stop_at(start, "never closed"));
        }
        parts.bare(self.slice(from, self.pos));
        Ok(())
    }

    /// In arithmetic, quotes do not keep an expansion from bash: it expands what is in single quotes, and a subscript
    /// even twice; and `$'...'` is decoded first. In a pattern inside double quotes, it looks for the end of an expansion
    /// that single quotes should hide.
    fn check_quotes(&self, stretch: Stretch, start: usize, parts: &Parts) -> Read<()> {
        let hides = |part: &Part| matches!(part, Part::Quoted(text) if text.contains(['$', '`']));
        let decoded = self.byte(start) == b'$' && self.byte(self.joined(start + 1)) == b'\'';
        let hidden = match parts.0.last() {
            Some(Part::Double(inside)) => stretch.arithmetic && inside.iter().any(hides),
            Some(part) => hides(part) && (stretch.arithmetic || self.byte(start) != b'\\'),
            None => false,
        };
        if hidden || (decoded && stretch.arithmetic) {
            return Err(self.stop_at(start, "a quoted expansion where quotes do not hide it"));
        }
        Ok(())
    }

    /// Whether the `(` here belongs to the word. `from` is where its plain text began.
    fn opens_group(&self, groups: Groups, from: usize) -> bool {
        match groups {
            Groups::None => false,
            Groups::Regex => true,
            Groups::Patterns => self.pos > from && matches!(self.byte(self.pos - 1), b'?' | b'*' | b'+' | b'@' | b'!'),
        }
    }

    /// `(...)` or `|` as plain text of a word.
    fn group(&mut self, byte: u8, parts: &mut Parts) -> Read<()> {
        self.pos += 1;
        if byte == b'|' {
            parts.bare("|");
            return Ok(());
        }
        parts.bare("(");
        self.stretch_into(Stretch::GROUP, parts)?;
        self.expect(b')')?;
        parts.bare(")");
        Ok(())
    }

    /// A quote, a backslash, an expansion.
    fn special(&mut self, byte: u8, parts: &mut Parts) -> Read<()> {
        match byte {
            b'\\' => self.backslash(parts),
            b'\'' => self.single(parts)?,
            b'"' => {
                self.pos += 1;
                let inside = self.double()?;
                parts.push(Part::Double(inside));
            }
            b'`' => {
                let script = self.backquote(false)?;
                parts.push(Part::Command(script));
            }
            b'$' => self.dollar(Quoting::Bare, parts)?,
            _ => {
                let writes = byte == b'>';
                self.pos += 1;
                self.peek();
                let script = self.deeper(Parser::counted_substitution)?;
                parts.push(Part::Process { writes, script });
            }
        }
        Ok(())
    }

    /// A backslash outside of quotes.
    fn backslash(&mut self, parts: &mut Parts) {
        let behind = self.slice(self.pos + 1, self.text.len());
        let Some(letter) = behind.chars().next() else {
            // At the very end it stands for itself, but bash forgets it where the word has a quoted `$`.
            self.pos += 1;
            if !parts.0.iter().any(|part| matches!(part, Part::Quoted(text) if text.contains('$'))) {
                parts.quoted("\\");
            }
            return;
        };
        let end = self.pos + 1 + letter.len_utf8();
        if letter != '\n' {
            parts.quoted(self.slice(self.pos + 1, end));
        }
        self.pos = end;
    }
}
