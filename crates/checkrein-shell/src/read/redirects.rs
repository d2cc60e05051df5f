//! Redirections.

use super::cursor::{Parser, Read};
use super::words::{Stretch, ends_word};
use crate::{Descriptor, Part, Redirect, Target, Word};

impl Parser<'_> {
    /// Redirections, as many as there are.
    pub(super) fn redirects(&mut self) -> Read<Vec<Redirect>> {
        let mut found = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => found.push(redirect),
                None => return Ok(found),
            }
        }
    }

    /// A redirection, if one stands here.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirect>> {
        let first = self.peek();
        let start = self.pos;
        let descriptor = match first {
            b'<' | b'>' => None,
            b'&' if self.second() == b'>' => {
                self.pos += 1;
                let to = self.both()?;
                return Ok(Some(Redirect { descriptor: None, to, span: self.span(start) }));
            }
            b'0'..=b'9' | b'{' => match self.descriptor() {
                Some((descriptor, end)) => {
                    self.pos = end;
                    Some(descriptor)
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        if self.at_process() {
            self.pos = start;
            return Ok(None);
        }
        let to = self.target(descriptor.as_ref())?;
        Ok(Some(Redirect { descriptor, to, span: self.span(start) }))
    }

    /// A number or `{name}` with `<` or `>` directly behind it, and where it ends.
    fn descriptor(&self) -> Option<(Descriptor, usize)> {
        let braced = self.byte(self.pos) == b'{';
        let mut at = self.pos + usize::from(braced);
        let mut text = String::new();
        loop {
            at = self.joined(at);
            match self.byte(at) {
                byte @ b'0'..=b'9' => text.push(char::from(byte)),
                byte @ (b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'[' | b']') if braced => text.push(char::from(byte)),
                _ => break,
            }
            at += 1;
        }
        if braced {
            if self.byte(at) != b'}' {
                return None;
            }
            at = self.joined(at + 1);
        }
        if !matches!(self.byte(at), b'<' | b'>') {
            return None;
        }
        if braced {
            return is_variable(&text).then_some((Descriptor::Variable(text), at));
        }
        // A number that large is a word to bash.
        let number: i32 = text.parse().ok()?;
        Some((Descriptor::Number(number.unsigned_abs()), at))
    }

    /// `&>` and `&>>`, at the `>`.
    fn both(&mut self) -> Read<Target> {
        self.pos += 1;
        let append = self.eat(b'>');
        let word = self.target_word()?;
        Ok(if append { Target::AppendBoth(word) } else { Target::WriteBoth(word) })
    }

    /// The operator and the word behind it.
    fn target(&mut self, descriptor: Option<&Descriptor>) -> Read<Target> {
        if self.eat(b'<') {
            if self.eat(b'<') {
                return self.here();
            }
            return Ok(if self.eat(b'&') {
                Target::Duplicate { output: false, word: self.descriptor_word()? }
            } else if self.eat(b'>') {
                Target::ReadWrite(self.target_word()?)
            } else {
                Target::Read(self.target_word()?)
            });
        }
        self.pos += 1;
        if self.eat(b'>') {
            return Ok(Target::Append(self.target_word()?));
        }
        if !self.eat(b'&') {
            self.eat(b'|');
            return Ok(Target::Write(self.target_word()?));
        }
        let word = self.descriptor_word()?;
        let standard = matches!(descriptor, None | Some(Descriptor::Number(1)));
        let duplicates = !standard || is_descriptor(&word);
        if !duplicates && is_read_twice(&word.parts) {
            return Err(self.stop_at(self.pos, "a quoted expansion behind `>&`"));
        }
        Ok(if duplicates { Target::Duplicate { output: true, word } } else { Target::WriteBoth(word) })
    }

    /// `<<`, `<<-` and `<<<`, behind the second `<`.
    fn here(&mut self) -> Read<Target> {
        if self.eat(b'<') {
            return Ok(Target::HereString(self.target_word()?));
        }
        let tabs = self.eat(b'-');
        self.blanks();
        self.peek();
        let start = self.pos;
        self.target_word()?;
        self.await_document(self.slice(start, self.pos), tabs);
        Ok(Target::Here(Word::default()))
    }

    fn target_word(&mut self) -> Read<Word> {
        self.blanks();
        // In `< 2>f` the number belongs to the second redirection, and the first has no word.
        if let Some((_, end)) = self.descriptor()
            && self.byte(self.joined(end + 1)) != b'('
        {
            return Err(self.unexpected());
        }
        self.word(Stretch::WORD)
    }

    /// Behind `<&` and `>&` a `-` is a word by itself: `>&-rm` closes, and runs `rm`.
    fn descriptor_word(&mut self) -> Read<Word> {
        self.blanks();
        if self.peek() != b'-' {
            return self.target_word();
        }
        let start = self.pos;
        self.pos += 1;
        Ok(Word { parts: vec![Part::Bare("-".to_owned())], span: self.span(start) })
    }

    /// `{name[...]}` in front of a redirection, with something in the subscript that would run.
    pub(super) fn check_descriptor(&mut self, word: &Word) -> Read<()> {
        let redirects = matches!(self.peek(), b'<' | b'>') && !self.at_process();
        let braced = matches!(word.parts.first(), Some(Part::Bare(text)) if text.starts_with('{'))
            && matches!(word.parts.last(), Some(Part::Bare(text)) if text.ends_with("]}"));
        if redirects && braced && word.parts.len() > 1 && ends_word(self.peek()) {
            return Err(self.stop_at(self.pos, "an expansion in the name of a descriptor"));
        }
        Ok(())
    }
}

/// A number, perhaps with `-` behind it, or `-`.
fn is_descriptor(word: &Word) -> bool {
    let text = match word.parts.as_slice() {
        [Part::Bare(text) | Part::Quoted(text)] => text,
        [Part::Double(inside)] => match inside.as_slice() {
            [Part::Quoted(text)] => text,
            _ => return false,
        },
        _ => return false,
    };
    text.strip_suffix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
}

/// Bash 5.2 expands the word behind `>&` a second time: `>&'$(rm)'` runs `rm`.
fn is_read_twice(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::Quoted(text) => {
            text.contains(|letter: char| matches!(letter, '$' | '`' | '\\' | '"' | '\'') || letter.is_control())
        }
        Part::Double(inside) => is_read_twice(inside),
        _ => false,
    })
}

/// `name` or `name[...]`.
fn is_variable(text: &str) -> bool {
    let name = match text.split_once('[') {
        Some((name, subscript)) if subscript.len() > 1 && subscript.ends_with(']') => name,
        Some(_) => return false,
        None => text,
    };
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && !name.contains(']')
}
