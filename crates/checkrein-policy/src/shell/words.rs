//! Word splitting: quotes and blanks as bash has them, everything else noted as not understood.

/// One word after quotes are taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Its text. Where bash would have expanded something, the text as written.
    pub text: String,
    /// Any part of it was quoted.
    pub quoted: bool,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The file.
    pub target: Word,
    /// `>`, `>>`, `>|`, `<>`, `&>`; else `<`.
    pub writes: bool,
}

/// Something that looks like a simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Files it is joined to.
    pub redirects: Vec<Redirect>,
}

/// A command line, split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What looks like commands, in order.
    pub commands: Vec<Command>,
    /// Why the line is not plain, if it is not: the first thing that was met.
    pub unclear: Option<String>,
}

/// Words that stand in front of a command and are none.
const KEYWORDS: &[&str] =
    &["if", "then", "elif", "else", "do", "while", "until", "!", "{", "}", "fi", "done", "coproc"];

/// Splits a line into what looks like commands.
pub fn split(text: &str) -> Line {
    let mut splitter = Splitter {
        rest: text.chars().collect(),
        at: 0,
        line: Line::default(),
        command: Command::default(),
        word: None,
        pending: None,
        depth: 0,
    };
    while splitter.at < splitter.rest.len() {
        // A stray closing character ends a run early; the rest is still looked at.
        splitter.run(None);
    }
    splitter.line
}

/// Substitutions inside double quotes nest; deeper ones are read flat, which can only find more commands.
const MAX_NESTING: usize = 64;

struct Splitter {
    rest: Vec<char>,
    at: usize,
    line: Line,
    command: Command,
    word: Option<Word>,
    /// A redirection that waits for its file; `true` when it writes.
    pending: Option<bool>,
    depth: usize,
}

impl Splitter {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn unclear(&mut self, why: &str) {
        self.line.unclear.get_or_insert_with(|| why.to_owned());
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if let Some(writes) = self.pending.take() {
            self.command.redirects.push(Redirect { target: word, writes });
            return;
        }
        if self.command.words.is_empty() && !word.quoted {
            if KEYWORDS.contains(&word.text.as_str()) {
                self.unclear(&format!("the keyword `{}`", word.text));
                return;
            }
            if is_assignment(&word.text) {
                self.unclear("an assignment in front of a command");
                return;
            }
        }
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.pending = None;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.line.commands.push(command);
        }
    }

    /// Reads commands up to the end, or up to the character that closes a substitution inside double quotes.
    fn run(&mut self, until: Option<char>) {
        let mut open = 0_usize;
        while let Some(c) = self.take() {
            match (until, c) {
                (Some(')'), '(') => open += 1,
                (Some(')'), ')') if open > 0 => open -= 1,
                (Some(end), c) if c == end => break,
                _ => {}
            }
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' | '&' | '|' | '(' | ')' => self.operator(c),
                '<' | '>' => self.redirect(c),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.take() {
                    // A line continuation joins what stands on both sides.
                    Some('\n') => {}
                    Some(next) => {
                        self.push(next);
                        self.word.get_or_insert_default().quoted = true;
                    }
                    None => self.unclear("a backslash at the end"),
                },
                '#' if self.word.is_none() => {
                    self.unclear("a comment");
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '$' | '`' => _ = self.expansion(c),
                '*' | '?' | '[' => {
                    self.unclear(&format!("the pattern character `{c}`"));
                    self.push(c);
                }
                '{' if self.peek().is_some_and(|next| !next.is_whitespace()) => {
                    self.unclear("a brace expansion");
                    self.push(c);
                }
                '~' if self.word.is_none() => {
                    self.unclear("a tilde");
                    self.push(c);
                }
                c if c.is_control() => {
                    self.unclear("a control character");
                    self.push(c);
                }
                c => self.push(c),
            }
        }
        // A line break at the very end of a plain line starts nothing.
        self.end_command();
    }

    fn operator(&mut self, c: char) {
        let last = self.rest.get(self.at..).unwrap_or_default().iter().all(|c| c.is_whitespace());
        if !(c == '\n' && last) {
            let shown = if c == '\n' { "a line break".to_owned() } else { format!("the operator `{c}`") };
            self.unclear(&shown);
        }
        self.end_command();
    }

    fn redirect(&mut self, c: char) {
        self.unclear(&format!("the redirection `{c}`"));
        // `2>file`: the number belongs to the redirection.
        if self.word.as_ref().is_some_and(|w| !w.quoted && w.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let mut writes = c == '>';
        while let Some(next @ ('>' | '<' | '&' | '|' | '(')) = self.peek() {
            self.at += 1;
            if next == '(' {
                // Process substitution: what follows is a command.
                self.end_command();
                return;
            }
            writes |= next == '>';
        }
        self.pending = Some(writes);
    }

    fn single_quoted(&mut self) {
        self.word.get_or_insert_default().quoted = true;
        loop {
            match self.take() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.unclear("a quote that is not closed"),
            }
        }
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default().quoted = true;
        loop {
            match self.take() {
                Some('"') => return,
                Some('\\') => match self.take() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => self.unclear("a quote that is not closed"),
                },
                Some(c @ ('$' | '`')) => {
                    if let Some(end) = self.expansion(c) {
                        self.depth += 1;
                        if self.depth < MAX_NESTING {
                            self.run(Some(end));
                        }
                        self.depth -= 1;
                    }
                }
                Some(c) => self.push(c),
                None => return self.unclear("a quote that is not closed"),
            }
        }
    }

    /// `$name`, `$(...)`, backticks: not understood. A substitution starts a command of its own; the character that
    /// closes it is returned.
    fn expansion(&mut self, c: char) -> Option<char> {
        match (c, self.peek()) {
            ('$', Some('(')) => {
                self.at += 1;
                self.unclear("a command substitution");
                self.end_command();
                return Some(')');
            }
            ('`', _) => {
                self.unclear("a command substitution");
                self.end_command();
                return Some('`');
            }
            ('$', Some('\'' | '"')) => self.unclear("a `$'...'` quote"),
            ('$', None | Some(' ' | '\t' | '\n')) => self.push('$'),
            _ => {
                self.unclear("an expansion");
                self.push(c);
            }
        }
        None
    }
}

fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> (Vec<Vec<String>>, bool) {
        let line = split(text);
        let words = line.commands.iter().map(|c| c.words.iter().map(|w| w.text.clone()).collect()).collect();
        (words, line.unclear.is_none())
    }

    #[test]
    fn plain_lines_are_plain() {
        for (text, expected) in [
            ("cargo test --quiet", vec!["cargo", "test", "--quiet"]),
            ("  rm   -rf\tx  \n", vec!["rm", "-rf", "x"]),
            ("echo 'a  b' \"c d\" e\\ f", vec!["echo", "a  b", "c d", "e f"]),
            ("r\\m x", vec!["rm", "x"]),
            ("rm -r\\\nf src", vec!["rm", "-rf", "src"]),
            ("git commit -m 'it'\\''s'", vec!["git", "commit", "-m", "it's"]),
        ] {
            let (found, plain) = commands(text);
            assert!(plain, "{text}: {:?}", split(text).unclear);
            assert_eq!(found, vec![expected], "{text}");
        }
    }

    #[test]
    fn everything_else_is_split_and_not_plain() {
        for (text, expected) in [
            ("a && sudo b", vec![vec!["a"], vec!["sudo", "b"]]),
            ("echo $(reboot)", vec![vec!["echo"], vec!["reboot"]]),
            ("echo \"$(rm -rf /)\"", vec![vec!["echo", ""], vec!["rm", "-rf", "/"]]),
            ("if true; then rm x; fi", vec![vec!["true"], vec!["rm", "x"]]),
            ("A=1 rm x", vec![vec!["rm", "x"]]),
            ("rm -rf /*", vec![vec!["rm", "-rf", "/*"]]),
            ("cat <(rm x)", vec![vec!["cat"], vec!["rm", "x"]]),
            ("# it's\nrm x", vec![vec!["rm", "x"]]),
            ("echo \"$(ls \"a\" (b))\"; sudo c", vec![vec!["ls", "a"], vec!["sudo", "c"]]),
            ("echo \"`reboot`\" && sudo c", vec![vec!["reboot"], vec!["sudo", "c"]]),
            ("a ) sudo b", vec![vec!["sudo", "b"]]),
            ("echo a\u{1}", vec![vec!["echo", "a\u{1}"]]),
        ] {
            let (found, plain) = commands(text);
            assert!(!plain, "{text}");
            assert!(expected.iter().all(|wanted| found.iter().any(|f| f == wanted)), "{text}: {found:?}");
        }
    }

    #[test]
    fn redirections_name_their_files() {
        let line = split("echo x 2>/dev/null >> /etc/motd < in");
        let targets: Vec<_> = line.commands[0].redirects.iter().map(|r| (r.target.text.as_str(), r.writes)).collect();
        assert_eq!(targets, [("/dev/null", true), ("/etc/motd", true), ("in", false)]);
        assert_eq!(line.commands[0].words.len(), 2);
    }
}
