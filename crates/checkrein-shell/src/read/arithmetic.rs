//! `((...))`, `$((...))`, `$[...]`: where they end, and which variables they name.
//!
//! Bash finds the end of an arithmetic expression by counting parentheses, and only then knows whether it was one:
//! `((a); (b))` is two subshells in a subshell.

use super::cursor::{Parser, Read, Stop};
use super::words::Stretch;
use crate::{Arithmetic, Operation, Parameter, Part, Script, Word};

impl Parser<'_> {
    /// `((...))`, at its first parenthesis; `None`, and nothing read, where it is a subshell.
    pub(super) fn arithmetic_command(&mut self) -> Read<Option<Arithmetic>> {
        let start = self.pos;
        let key = self.place(start);
        if self.shared.not_arithmetic.contains_key(&key) {
            return Ok(None);
        }
        let found = self.arithmetic(true)?;
        if found.is_none() {
            self.shared.not_arithmetic.insert(key, key);
            self.pos = start;
        }
        Ok(found)
    }

    /// `$((...))`, or `$(` with a subshell at its front; at the first parenthesis.
    pub(super) fn arithmetic_or_substitution(&mut self) -> Read<Part> {
        let start = self.pos;
        if !self.shared.not_arithmetic.contains_key(&self.place(start)) {
            let late = self.shared.late;
            if let Some(found) = self.arithmetic(false)? {
                return Ok(Part::Arithmetic(found));
            }
            self.check_late(late, start)?;
            self.pos = start;
        }
        let script = self.counted_substitution()?;
        if self.slice(start, self.pos).contains("$'") {
            // Inside another substitution, bash 5.2 decodes it and then forgets the quotes.
            return Err(self.stop_at(start, "`$'...'` inside `$((`"));
        }
        Ok(Part::Command(script))
    }

    /// A substitution, at its parenthesis. Where a second one follows, bash finds the end of it by counting, without a
    /// thought to what the commands inside mean, and holds on to that.
    pub(super) fn counted_substitution(&mut self) -> Read<Script> {
        let start = self.pos;
        self.pos += 1;
        if self.peek() != b'(' {
            return self.substitution();
        }
        let key = self.place(start);
        let end = match self.shared.not_arithmetic.get(&key) {
            Some(&end) => end,
            None => {
                self.stretch(Stretch::PARENTHESES)?;
                let end = self.place(self.pos + 1);
                self.shared.not_arithmetic.insert(key, end);
                end
            }
        };
        self.pos = start + 1;
        let late = self.shared.late;
        let script = self.substitution()?;
        self.check_late(late, start)?;
        let text = self.slice(start, self.pos);
        // As it counts, bash joins lines, even where a comment should end.
        let joins_comment = text.contains('#') && text.contains("\\\n");
        if self.place(self.pos) == end && !joins_comment { Ok(script) } else { Err(self.unexpected()) }
    }

    /// As bash has counted already, a here-document inside finds its body there or nowhere.
    fn check_late(&self, before: usize, start: usize) -> Read<()> {
        if self.shared.late == before { Ok(()) } else { Err(self.stop_at(start, "a here-document without a body")) }
    }

    /// `((...))`; `None` where the first `)` without a partner has no second one behind it.
    fn arithmetic(&mut self, command: bool) -> Read<Option<Arithmetic>> {
        self.pos += 1;
        self.expect(b'(')?;
        let start = self.pos;
        let (documents, cases) = (self.shared.documents, self.shared.cases);
        let inside = self.stretch(Stretch::PARENTHESES)?;
        self.expect(b')')?;
        if command && matches!((self.byte(self.pos), self.byte(self.pos + 1)), (b'\n', _) | (b'\\', b'\n')) {
            // Here bash finds neither arithmetic nor a subshell.
            return Err(self.unexpected());
        }
        let end = self.pos - 1;
        if !self.eat(b')') {
            if command && self.shared.documents > documents {
                return Err(self.document_in_parentheses(start));
            }
            return Ok(None);
        }
        self.check_pairs(&inside, b'(', b')', start)?;
        // Bash looks at `$((...))` once more as it runs, and takes it for a substitution where the parentheses do not pair
        // up. It has printed the commands inside in its own way then, which has no `(` in front of a pattern of `case`.
        if !command && (self.shared.cases > cases || !pair_up(self.slice(start, end), b'(', b')')) {
            return Err(self.stop_at(start, "unpaired parentheses in arithmetic"));
        }
        Ok(Some(of(inside.parts)))
    }

    /// Bash 5.2 reads such a text a second time, does not find the delimiter of the here-document, and runs its body.
    pub(super) fn document_in_parentheses(&self, start: usize) -> Stop {
        self.stop_at(start, "a here-document inside `((`")
    }

    /// `$[...]`, behind its bracket.
    pub(super) fn old_arithmetic(&mut self) -> Read<Arithmetic> {
        let start = self.pos;
        let inside = self.stretch(Stretch::SUBSCRIPT)?;
        if !pair_up(self.slice(start, self.pos), b'[', b']') {
            return Err(self.stop_at(start, "unpaired brackets in arithmetic"));
        }
        self.expect(b']')?;
        self.check_pairs(&inside, b'[', b']', start)?;
        Ok(of(inside.parts))
    }

    /// The three expressions of `for ((...))`, at its first parenthesis.
    pub(super) fn arithmetic_head(&mut self) -> Read<[Arithmetic; 3]> {
        self.expect(b'(')?;
        self.expect(b'(')?;
        let first = self.stretch(Stretch::HEAD)?;
        self.expect(b';')?;
        let second = self.stretch(Stretch::HEAD)?;
        self.expect(b';')?;
        let third = self.stretch(Stretch::HEAD)?;
        self.expect(b')')?;
        self.expect(b')')?;
        for part in [&first, &second, &third] {
            self.check_pairs(part, b'(', b')', self.pos)?;
        }
        Ok([of(first.parts), of(second.parts), of(third.parts)])
    }

    /// Bash does not look at `${...}` as it counts parentheses: in `(( ${x:-)} ))` the first one closes. Such a text is
    /// refused, so that the two readings can not differ.
    fn check_pairs(&self, word: &Word, opens: u8, closes: u8, start: usize) -> Read<()> {
        let mut level = 0_usize;
        for part in &word.parts {
            if let Part::Parameter(parameter) = part
                && !(pairs(parameter, opens, closes, &mut level) && level == 0)
            {
                return Err(self.stop_at(start, "unpaired brackets in a `${...}` in arithmetic"));
            }
        }
        Ok(())
    }
}

/// Whether no bracket in the bare text of an expansion closes one outside of it.
fn pairs(parameter: &Parameter, opens: u8, closes: u8, level: &mut usize) -> bool {
    let mut words: Vec<&[Part]> = Vec::new();
    words.extend(parameter.subscript.as_ref().map(|word| word.parts.as_slice()));
    match &parameter.operation {
        Operation::Plain | Operation::Length | Operation::Transform(_) | Operation::Names => {}
        Operation::Default(word)
        | Operation::Assign(word)
        | Operation::Require(word)
        | Operation::Alternative(word)
        | Operation::Trim(word)
        | Operation::Case(word) => words.push(&word.parts),
        Operation::Replace(pattern, replacement) => words.extend([&*pattern.parts, &*replacement.parts]),
        Operation::Slice(offset, extent) => {
            words.push(&offset.parts);
            words.extend(extent.as_ref().map(|extent| extent.parts.as_slice()));
        }
    }
    words.into_iter().flatten().all(|part| match part {
        Part::Bare(text) => text.bytes().all(|byte| {
            if byte == opens {
                *level += 1;
            } else if byte == closes {
                match level.checked_sub(1) {
                    Some(outer) => *level = outer,
                    None => return false,
                }
            }
            true
        }),
        Part::Parameter(inner) => pairs(inner, opens, closes, level),
        _ => true,
    })
}

/// Whether brackets pair up outside of quotes, whatever they stand in.
fn pair_up(text: &str, opens: u8, closes: u8) -> bool {
    let mut level = 0_usize;
    let mut quote = None;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => {
                bytes.next();
            }
            (byte, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'\'' | b'"', None) => quote = Some(byte),
            (byte, None) if byte == opens => level += 1,
            (byte, None) if byte == closes => match level.checked_sub(1) {
                Some(outer) => level = outer,
                None => return false,
            },
            _ => {}
        }
    }
    level == 0 && quote.is_none()
}

/// An expression, with the names in it.
pub(super) fn of(parts: Vec<Part>) -> Arithmetic {
    let mut text = String::new();
    flatten(&parts, &mut text);
    let (mut reads, mut sets) = names(&text);
    for names in [&mut reads, &mut sets] {
        names.sort_unstable();
        names.dedup();
    }
    Arithmetic { parts, reads, sets }
}

/// The text of an expression, with a `$` for each expansion.
fn flatten(parts: &[Part], text: &mut String) {
    for part in parts {
        match part {
            Part::Bare(plain) | Part::Quoted(plain) => text.push_str(plain),
            Part::Double(inside) => flatten(inside, text),
            _ => text.push('$'),
        }
    }
}

/// The names that an expression reads and sets.
fn names(text: &str) -> (Vec<String>, Vec<String>) {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (mut reads, mut sets) = (Vec::new(), Vec::new());
    // Names whose subscript is open: what follows the `]` says whether they are set. `None` for other brackets.
    let mut open: Vec<Option<(&str, bool)>> = Vec::new();
    let mut at = 0;
    let mut stepped;
    while at < bytes.len() {
        let name = match byte(at) {
            b'[' => {
                open.push(None);
                at += 1;
                continue;
            }
            b']' => {
                at += 1;
                let Some((name, before)) = open.pop().flatten() else { continue };
                stepped = before;
                name
            }
            first if is_name(first) => {
                let start = at;
                while is_name(byte(at)) {
                    at += 1;
                }
                // `0x1f` and `16#ff` are numbers.
                let number = first.is_ascii_digit() || (start > 0 && byte(start - 1) == b'#');
                if number {
                    continue;
                }
                let name = text.get(start..at).unwrap_or_default();
                stepped = text.get(..start).unwrap_or_default().trim_end().ends_with("++")
                    || text.get(..start).unwrap_or_default().trim_end().ends_with("--");
                if byte(at) == b'[' {
                    open.push(Some((name, stepped)));
                    at += 1;
                    continue;
                }
                name
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let (read, set) = used(bytes.get(at..).unwrap_or_default());
        if set || stepped {
            sets.push(name.to_owned());
        }
        if read || stepped {
            reads.push(name.to_owned());
        }
    }
    (reads, sets)
}

/// Whether the name in front of this is read, and whether it is set.
fn used(behind: &[u8]) -> (bool, bool) {
    let behind = behind.trim_ascii_start();
    match behind {
        [b'=', b'=', ..] => (true, false),
        [b'=', ..] => (false, true),
        [b'+', b'+', ..] | [b'-', b'-', ..] => (true, true),
        [b'<', b'<', b'=', ..] | [b'>', b'>', b'=', ..] => (true, true),
        [b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'^' | b'|', b'=', ..] => (true, true),
        _ => (true, false),
    }
}
