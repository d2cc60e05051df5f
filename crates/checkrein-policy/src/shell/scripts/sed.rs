//! `sed` scripts: which of their commands write, read or run something.

use checkrein_contract::Deed;

use super::super::perform::Doing;
use super::super::value::Text;
use super::super::walk::Walker;

/// What a sed script does besides printing.
pub(in super::super) fn look(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let Some(script) = text.as_known() else {
        return walker.unknown(format!("the sed script `{}` is not known before it runs", text.shown()));
    };
    let mut reader = Reader { rest: script };
    if !reader.script(walker, doing) {
        walker.unknown(format!("the sed script `{script}` could not be read"));
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(wanted);
    }

    /// The rest of the line; blanks at its end are part of a name.
    fn line(&mut self) -> &'t str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.trim_start()
    }

    /// All commands; `false` where one could not be read.
    fn script(&mut self, walker: &mut Walker<'_>, doing: &mut Doing) -> bool {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.peek().is_none() {
                return true;
            }
            if !self.addresses() || !self.command(walker, doing) {
                return false;
            }
        }
    }

    /// `1,5`, `$`, `/x/I,+3`, `0~4`, `\cxc`, and `!`.
    fn addresses(&mut self) -> bool {
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ' | '\t') => {
                    _ = self.take()
                }
                Some('/') => {
                    self.take();
                    if !self.until('/') {
                        return false;
                    }
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('\\') => {
                    self.take();
                    let Some(end) = self.take() else { return false };
                    if !self.until(end) {
                        return false;
                    }
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                _ => return true,
            }
        }
    }

    /// Passes over text up to this character; a backslash hides it, and so do brackets.
    fn until(&mut self, end: char) -> bool {
        let mut bracket = false;
        while let Some(c) = self.take() {
            match c {
                '\\' => _ = self.take(),
                '[' if !bracket && end != '[' => {
                    bracket = true;
                    // `[]x]` and `[^]x]` hold the bracket itself.
                    self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
                    self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
                }
                ']' if bracket => bracket = false,
                c if c == end && !bracket => return true,
                // GNU sed ends a pattern at its delimiter even in a bracket that is not closed.
                c if c == end && !self.rest.contains(']') => return true,
                _ => {}
            }
        }
        false
    }

    /// Passes over text in which brackets mean nothing: a replacement, and what `y` takes.
    fn letters(&mut self, end: char) -> bool {
        while let Some(c) = self.take() {
            match c {
                '\\' => _ = self.take(),
                c if c == end => return true,
                _ => {}
            }
        }
        false
    }

    fn command(&mut self, walker: &mut Walker<'_>, doing: &mut Doing) -> bool {
        let Some(command) = self.take() else { return false };
        match command {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F'
            | 'q' | 'Q' => {
                self.skip(|c| c == ' ' || c.is_ascii_digit());
                true
            }
            '#' | ':' | 'b' | 't' | 'T' | 'v' => {
                let end = self.rest.find(match command {
                    '#' => ['\n', '\n', '\n'],
                    // A label ends at a semicolon; a brace is part of it.
                    ':' => ['\n', ';', ';'],
                    _ => ['\n', ';', '}'],
                });
                self.rest = self.rest.get(end.unwrap_or(self.rest.len())..).unwrap_or_default();
                true
            }
            'a' | 'i' | 'c' => {
                // Text up to the end of the line; a backslash right before it goes on with the next, unless it is hidden
                // by one before it.
                let hidden = |line: &str| line.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
                while hidden(self.line()) && !self.rest.is_empty() {}
                true
            }
            'w' | 'W' => {
                let file = self.line();
                self.writes(file, walker, doing);
                true
            }
            'r' | 'R' => {
                walker.read(&Text::from(self.line()));
                true
            }
            'e' => {
                doing.deed(Deed::Code);
                let line = self.line();
                if line.is_empty() {
                    walker.unknown("sed runs what it reads as commands");
                } else {
                    walker.nested(&Text::from(line));
                }
                true
            }
            's' => self.substitute(walker, doing),
            'y' => {
                let Some(end) = self.take() else { return false };
                self.letters(end) && self.letters(end)
            }
            _ => false,
        }
    }

    fn writes(&self, file: &str, walker: &mut Walker<'_>, doing: &mut Doing) {
        let text = Text::from(file);
        if !matches!(file, "/dev/stdout" | "/dev/stderr") {
            walker.written(&text);
            doing.wrote.push(text);
        }
    }

    fn substitute(&mut self, walker: &mut Walker<'_>, doing: &mut Doing) -> bool {
        let Some(end) = self.take() else { return false };
        if end == '\n' || end == '\\' || !self.until(end) {
            return false;
        }
        if !self.letters(end) {
            return false;
        }
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') => _ = self.take(),
                Some('e') => {
                    self.take();
                    doing.deed(Deed::Code);
                    walker.unknown("sed runs what it has made as a command");
                }
                // `w FILE` behind it is what the command `w FILE` is.
                _ => return true,
            }
        }
    }
}
