//! Expansion of words: to the fields that a program receives, as far as they are known beforehand.

use checkrein_shell::{Operation, Parameter, Part, Word, expand_braces};

use super::flow::Flow;
use super::state::Variable;
use super::value::{Field, Piece, Text};
use super::walk::Walker;

/// Words that one brace expansion may make. More than that is a list nobody wrote by hand; it is taken for unknown.
const MOST_BRACES: usize = 256;
/// Alternatives that one word may have before it is taken for unknown.
const MOST_ALTERNATIVES: usize = 16;

/// A word while it is expanded: fields, the last of which is still growing. `open` says that it exists at all (`""` does,
/// an empty `$x` does not).
#[derive(Clone, Default)]
struct Growing {
    done: Vec<Field>,
    last: Text,
    open: bool,
    many: bool,
}

impl Walker<'_> {
    /// All fields that words expand to. Alternatives of one word stand side by side.
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Field> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            let mut ways = vec![Vec::new()];
            self.word(word, &mut ways);
            extend(&mut fields, ways.into_iter().flatten());
        }
        fields
    }

    /// Each list of fields that words may expand to: which operand is which depends on the value that a word has.
    pub(super) fn ways(&mut self, words: &[Word]) -> Vec<Vec<Field>> {
        let mut ways = vec![Vec::with_capacity(words.len())];
        for word in words {
            self.word(word, &mut ways);
        }
        ways
    }

    fn word(&mut self, word: &Word, ways: &mut Vec<Vec<Field>>) {
        let mut add = |field: Field| ways.iter_mut().for_each(|fields| fields.push(field.clone()));
        // Most words are what they say.
        if let [Part::Quoted(text)] = word.parts.as_slice() {
            return add(Field::one(Text::known(text.clone())));
        }
        if let [Part::Bare(text)] = word.parts.as_slice()
            && !text.contains(['{', '*', '?', '[', '~'])
        {
            return add(Field::one(Text::known(text.clone())));
        }
        let has_braces = word.parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{')));
        if !has_braces {
            return self.braceless(word, ways);
        }
        match expand_braces(word, MOST_BRACES) {
            Some(words) => words.iter().for_each(|word| self.braceless(word, ways)),
            None => add(Field { text: Text::any("{...}"), many: true }),
        }
    }

    fn braceless(&mut self, word: &Word, ways: &mut Vec<Vec<Field>>) {
        let grown = self.grow(word, true).into_iter().map(|mut growing| {
            if growing.open {
                let many = growing.many;
                growing.done.push(Field { text: growing.last, many });
            }
            growing.done
        });
        let mut alternatives: Vec<Vec<Field>> = grown.collect();
        // The elements of an array come together.
        if alternatives.len() > 1 && alternatives.iter().flatten().any(|field| field.many && field.text.is_known()) {
            alternatives = vec![alternatives.concat()];
        }
        if alternatives.len() * ways.len() > MOST_ALTERNATIVES {
            alternatives = vec![vec![Field { text: Text::any("one of several values"), many: true }]];
        }
        if let [only] = alternatives.as_slice() {
            return ways.iter_mut().for_each(|fields| extend(fields, only.iter().cloned()));
        }
        *ways = ways
            .iter()
            .flat_map(|fields| alternatives.iter().map(|more| fields.iter().chain(more).cloned().collect()))
            .collect();
    }

    /// A word that is not split and no pattern: a value, a redirection's target, the word of `case`.
    pub(super) fn single(&mut self, word: &Word) -> Text {
        match <[Growing; 1]>::try_from(self.grow(word, false)) {
            Ok([only]) => only.last,
            Err(_) => Text::any("a text with several values"),
        }
    }

    /// Each text that a word may come to. `splits`: what is bare in it may be a pattern, and values in it are split.
    fn grow(&mut self, word: &Word, splits: bool) -> Vec<Growing> {
        let mut growing = vec![Growing::default()];
        for (index, part) in word.parts.iter().enumerate() {
            match part {
                Part::Bare(text) => {
                    let alone = word.parts.len() == 1;
                    let text = match assigned(text).filter(|_| index == 0 && splits) {
                        // `if=~/x`: a word that looks like an assignment has its tilde behind the sign.
                        Some((name, value)) => {
                            push(&mut growing, &Text::known(name.to_owned()));
                            self.tilde(value, alone, &mut growing)
                        }
                        None if index == 0 => self.tilde(text, alone, &mut growing),
                        None => text,
                    };
                    if splits {
                        growing.iter_mut().for_each(|growing| bare(text, growing));
                    } else {
                        push(&mut growing, &Text::known(text.to_owned()));
                    }
                }
                Part::Quoted(text) => push(&mut growing, &Text::known(text.clone())),
                Part::Double(parts) => self.double(parts, &mut growing),
                Part::Process { writes, script } => push(&mut growing, &self.process(*writes, script)),
                other => {
                    let variable = self.expansion(other);
                    let add = if splits { split } else { join };
                    add(&mut growing, &variable, shown_part(other));
                }
            }
        }
        growing
    }

    /// Every value that a word which is not split may have.
    pub(super) fn alternatives(&mut self, word: &Word) -> Vec<Text> {
        let parts = match word.parts.as_slice() {
            [Part::Double(parts)] => parts.as_slice(),
            parts => parts,
        };
        if let [part @ Part::Parameter(_)] = parts {
            let variable = self.expansion(part);
            if !variable.values.is_empty() && !variable.list {
                return variable.values;
            }
        }
        vec![self.single(word)]
    }

    fn double(&mut self, parts: &[Part], growing: &mut Vec<Growing>) {
        growing.iter_mut().for_each(|growing| growing.open = true);
        for part in parts {
            match part {
                Part::Bare(text) | Part::Quoted(text) => push(growing, &Text::known(text.clone())),
                Part::Double(parts) => self.double(parts, growing),
                Part::Parameter(parameter) if parameter.name == "@" && parameter.operation == Operation::Plain => {
                    // `"$@"`: each argument a field of its own.
                    let arguments = self.arguments();
                    for growing in growing.iter_mut() {
                        for (index, field) in arguments.iter().enumerate() {
                            if index > 0 {
                                let text = std::mem::take(&mut growing.last);
                                growing.done.push(Field { text, many: growing.many });
                                growing.many = false;
                            }
                            growing.last.append(field.text.clone());
                            growing.many |= field.many;
                        }
                        growing.open = !arguments.is_empty() || growing.last != Text::default();
                    }
                }
                other => {
                    let variable = self.expansion(other);
                    if variable.list && matches!(other, Part::Parameter(parameter) if is_list(parameter)) {
                        growing.iter_mut().for_each(|growing| growing.many = true);
                    }
                    join(growing, &variable, shown_part(other));
                }
            }
        }
    }

    /// A leading `~`. Returns what is left of the text.
    fn tilde<'t>(&self, text: &'t str, alone: bool, growing: &mut [Growing]) -> &'t str {
        let Some(rest) = text.strip_prefix('~') else { return text };
        let end = rest.find('/').unwrap_or(rest.len());
        // `~"x"` is no tilde: the name must end inside the bare part.
        if end == rest.len() && !alone {
            return text;
        }
        let name = rest.get(..end).unwrap_or_default();
        let home = &self.scene.place.home;
        let value = match name {
            "" => match self.state.variables.get("HOME") {
                Some(variable) => variable.values.first().cloned().unwrap_or_else(|| Text::any("~")),
                None if home.is_empty() => Text::any("~"),
                None => Text::known(home.clone()),
            },
            "+" => self.state.folders.only().map_or_else(|| Text::any("~+"), |one| Text::known(one.to_owned())),
            "-" => Text::any("~-"),
            name if home.rsplit('/').next() == Some(name) => Text::known(home.clone()),
            // The homes of other people usually stand beside one's own.
            name if name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')) => {
                match home.rsplit_once('/') {
                    Some((parent, _)) => Text::known(format!("{parent}/{name}")),
                    None => Text::any(text),
                }
            }
            _ => return text,
        };
        for growing in growing {
            growing.open = true;
            growing.last.append(value.clone());
        }
        rest.get(end..).unwrap_or_default()
    }

    /// `<(...)`: a file that holds what the script writes.
    fn process(&mut self, writes: bool, script: &checkrein_shell::Script) -> Text {
        let (stdin, output) = (self.stdin.clone(), std::mem::replace(&mut self.output, Flow::Nothing));
        if writes {
            self.stdin = Flow::any(false);
        }
        self.beside += 1;
        self.subshell(script);
        self.beside -= 1;
        self.stdin = stdin;
        let wrote = std::mem::replace(&mut self.output, output);
        let mut text = Text::from("/dev/fd/");
        text.push(Piece::Any { shown: "63".to_owned(), downloaded: wrote.is_downloaded() });
        text
    }
}

/// Adds fields; a pattern or a list once is as good as twice.
fn extend(fields: &mut Vec<Field>, more: impl IntoIterator<Item = Field>) {
    for field in more {
        if !fields.last().is_some_and(|last| *last == field && field.many) {
            fields.push(field);
        }
    }
}

fn is_list(parameter: &Parameter) -> bool {
    let subscript = parameter.subscript.as_ref().and_then(|word| word.parts.first());
    matches!(subscript, Some(Part::Bare(text)) if text == "@" || text == "*")
}

pub(super) fn shown_part(part: &Part) -> String {
    match part {
        Part::Parameter(parameter) => format!("${}", parameter.name),
        Part::Command(_) => "$(...)".to_owned(),
        Part::Arithmetic(_) => "$((...))".to_owned(),
        Part::Process { .. } => "<(...)".to_owned(),
        Part::Bare(_) | Part::Quoted(_) | Part::Double(_) => "...".to_owned(),
    }
}

/// Bare characters: patterns mean something.
fn bare(text: &str, growing: &mut Growing) {
    growing.open |= !text.is_empty();
    if !is_pattern(text) {
        return growing.last.push_str(text);
    }
    growing.many = true;
    // Name by name, so that the folders before a pattern stay plain text.
    for (index, name) in text.split('/').enumerate() {
        if index > 0 {
            growing.last.push_str("/");
        }
        if is_pattern(name) {
            growing.last.push(Piece::Glob(name.to_owned()));
        } else {
            growing.last.push_str(name);
        }
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.find('[').is_some_and(|at| text.get(at..).unwrap_or_default().contains(']'))
}

/// Adds a text that is not split.
fn push(growing: &mut [Growing], text: &Text) {
    for growing in growing {
        growing.open = true;
        growing.last.append(text.clone());
    }
}

/// Adds the value of a quoted expansion: one word whatever it holds.
fn join(growing: &mut Vec<Growing>, variable: &Variable, shown: String) {
    let values = values_of(variable, shown, growing.len());
    let before = std::mem::take(growing);
    for old in before {
        for value in &values {
            let mut new = old.clone();
            new.open = true;
            new.last.append(value.clone());
            growing.push(new);
        }
    }
}

/// Adds the value of an expansion that is not quoted: split at blanks, and patterns in it mean something.
fn split(growing: &mut Vec<Growing>, variable: &Variable, shown: String) {
    let values = values_of(variable, shown, growing.len());
    let before = std::mem::take(growing);
    for old in before {
        for value in &values {
            let mut new = old.clone();
            match value.as_known() {
                Some(text) => split_known(text, &mut new),
                None if value.is_pattern() || value.below().is_some() => {
                    new.open = true;
                    new.last.append(value.clone());
                }
                None if matches!(value.pieces(), [Piece::Likely(_)]) => {
                    // Split like any other text, though only likely.
                    let Some(Piece::Likely(text)) = value.pieces().first() else { continue };
                    for word in text.split_whitespace() {
                        if new.last != Text::default() {
                            let text = std::mem::take(&mut new.last);
                            new.done.push(Field { text, many: new.many });
                        }
                        (new.open, new.many) = (true, true);
                        new.last.append(Text::likely(word.to_owned()));
                    }
                }
                None => {
                    new.open = true;
                    new.many = true;
                    new.last.append(value.clone());
                }
            }
            growing.push(new);
        }
    }
}

fn split_known(text: &str, growing: &mut Growing) {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
    let mut words = text.split(blank).peekable();
    while let Some(word) = words.next() {
        if !word.is_empty() {
            bare(word, growing);
        }
        if words.peek().is_some() && growing.open {
            let text = std::mem::take(&mut growing.last);
            growing.done.push(Field { text, many: growing.many });
            (growing.open, growing.many) = (false, false);
        }
    }
}

fn values_of(variable: &Variable, shown: String, ways: usize) -> Vec<Text> {
    if ways * (variable.values.len() + 1) > MOST_ALTERNATIVES {
        return vec![Text::any(shown)];
    }
    let mut values = variable.values.clone();
    if values.is_empty() || variable.list {
        values.push(Text::any(shown));
    }
    values
}

/// `NAME=` and `~...` behind it.
fn assigned(text: &str) -> Option<(&str, &str)> {
    let at = text.find('=')?;
    let (name, value) = (text.get(..at)?, text.get(at + 1..)?);
    (super::simple::is_name(name) && value.starts_with('~')).then(|| (text.get(..=at).unwrap_or_default(), value))
}
