//! Reads the words of a program by its table: which are options, which are operands, and what is neither.

use std::sync::Arc;

use super::table::Opt;
use super::{Models, Role, Table};
use crate::shell::value::{Field, Text};

/// An option that was given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Its long name.
    pub(crate) name: String,
    /// Its values with their roles.
    pub(crate) values: Vec<(Role, Text)>,
    /// The table that knows it: 0 is the program, the last one the subcommand.
    pub(crate) table: usize,
}

/// The words of a program, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Program, then subcommands.
    pub(crate) path: Vec<String>,
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) given: Vec<Given>,
    pub(crate) operands: Vec<Field>,
    /// Operands from this one on stand behind `--`.
    pub(crate) dashes: Option<usize>,
    /// What could not be read, for people.
    pub(crate) unknown: Vec<String>,
    /// An option at the end has no value. In the words of a rule it stands for the option with any.
    pub(crate) cut_short: bool,
}

/// Reads the arguments of a program (its own name left out). `None` where there is no table for it.
pub(crate) fn read(models: &Models, program: &str, arguments: &[Field]) -> Option<Reading> {
    let table = models.table(program)?;
    let reading = Reading { path: vec![program.to_owned()], tables: vec![table], ..Reading::default() };
    let mut reader = Reader { models, name: program.to_owned(), reading, rest: arguments, stopped: false };
    while let Some((field, rest)) = reader.rest.split_first() {
        reader.rest = rest;
        reader.word(field);
    }
    Some(reader.reading)
}

impl Reading {
    /// The table that says what the operands are.
    pub(crate) fn table(&self) -> &Table {
        // A reading begins with one table, and tables are only added.
        static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::default);
        self.tables.last().map_or(&EMPTY, |table| table)
    }

    /// Whether an option was given, or one that counts as it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.name == name)
    }

    /// The values of an option, each time it was given. Most programs heed the last.
    pub(crate) fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &Text> {
        self.given.iter().filter(move |given| given.name == name).filter_map(|given| Some(&given.values.first()?.1))
    }

    /// The words in the one spelling that rules are compared with: program and subcommands, options by their long names,
    /// `--`, operands.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = self.path.clone();
        for given in &self.given {
            let mut values = given.values.iter().map(|(_, text)| text.shown()).collect::<Vec<_>>();
            match values.len() {
                0 => words.push(given.name.clone()),
                1 => words.push(format!("{}={}", given.name, values.pop().unwrap_or_default())),
                _ => words.push(format!("{}={}", given.name, values.join(" "))),
            }
        }
        words.push("--".to_owned());
        words.extend(self.operands.iter().map(|field| field.text.shown()));
        words
    }
}

struct Reader<'a> {
    models: &'a Models,
    /// Name of the innermost table.
    name: String,
    reading: Reading,
    rest: &'a [Field],
    /// No more options.
    stopped: bool,
}

impl Reader<'_> {
    fn table(&self) -> Arc<Table> {
        self.reading.tables.last().cloned().unwrap_or_default()
    }

    fn unknown(&mut self, why: String) {
        self.reading.unknown.push(why);
    }

    fn word(&mut self, field: &Field) {
        let table = self.table();
        if self.stopped || table.words {
            return self.operand(field, &table);
        }
        let prefix = field.text.prefix();
        if prefix == "--" && field.text.is_known() {
            self.stopped = true;
            self.reading.dashes = Some(self.reading.operands.len());
        } else if prefix.starts_with("--") || table.single_dash && prefix.len() > 1 && prefix.starts_with('-') {
            self.long(&field.text, &table);
        } else if prefix.len() > 1 && prefix.starts_with('-') {
            self.short(&field.text, &table);
        } else if prefix.len() > 1 && prefix.starts_with('+') && begins(&field.text, &self.name) {
            // `less +50`, `tail +5`: where to begin.
        } else if prefix.len() > 1
            && prefix.starts_with('+')
            && (table.plus.is_some() || table.option(prefix).is_some())
        {
            let values = table.plus.map(|role| (role, field.text.skip(1))).into_iter().collect();
            let name = if table.plus.is_some() { "+".to_owned() } else { prefix.to_owned() };
            let table = self.reading.tables.len() - 1;
            self.reading.given.push(Given { name, values, table });
        } else {
            self.operand(field, &table);
        }
    }

    /// `--name`, `--name=value`, `--name value`.
    fn long(&mut self, text: &Text, table: &Table) {
        let prefix = text.prefix();
        let (name, attached) = match prefix.find('=') {
            Some(at) => (prefix.get(..at).unwrap_or_default(), Some(text.skip(at + 1))),
            None if text.is_known() => (prefix, None),
            None => {
                return self.unknown(format!("the option `{}` is not known before it runs", text.shown()));
            }
        };
        let Some((option, level)) = self.find(name, table) else {
            if table.single_dash && !name.starts_with("--") && prefix.len() > 2 {
                return self.short(text, table);
            }
            return self
                .unknown(format!("`{}` does not have the option `{name}`, as far as is known", self.shown_name()));
        };
        self.take(&option, attached, level);
    }

    fn find(&self, name: &str, table: &Table) -> Option<(Opt, usize)> {
        let level = self.reading.tables.len() - 1;
        let one = |table: &Table| {
            let abbreviated = || (table.abbreviates && name.len() > 2).then(|| table.abbreviated(name)).flatten();
            table.option(name).or_else(abbreviated).cloned()
        };
        if let Some(option) = one(table) {
            return Some((option, level));
        }
        // Options of the program that may also stand behind its subcommand.
        let above = self.reading.tables.iter().enumerate().take(level).filter(|(_, table)| table.anywhere);
        above.filter_map(|(level, table)| Some((one(table)?, level))).next()
    }

    /// `-abc`, `-ofile`, `-o file`.
    fn short(&mut self, text: &Text, table: &Table) {
        let prefix = text.prefix().to_owned();
        if text.is_known() {
            if table.numbers && prefix.get(1..).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit())) {
                let table = self.reading.tables.len() - 1;
                return self.reading.given.push(Given { name: prefix, values: Vec::new(), table });
            }
            if let Some((option, level)) = self.find(&prefix, table) {
                return self.take(&option, None, level);
            }
            if let Some(at) = prefix.find('=')
                && let Some((option, level)) = self.find(prefix.get(..at).unwrap_or_default(), table)
                && at > 2
            {
                return self.take(&option, Some(text.skip(at + 1)), level);
            }
        }
        let mut letters = prefix.char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            let Some((option, level)) = self.find(&format!("-{letter}"), table) else {
                return self.unknown(format!(
                    "`{}` does not have the option `-{letter}`, as far as is known",
                    self.shown_name()
                ));
            };
            let behind = text.skip(at + letter.len_utf8());
            if !option.values.is_empty() {
                let attached = (behind != Text::default()).then_some(behind);
                return self.take(&option, attached, level);
            }
            self.take(&option, None, level);
            if letters.peek().is_some() && !table.bundles {
                return self.unknown(format!("the option `{prefix}` is not known"));
            }
        }
        if !text.is_known() {
            self.unknown(format!("the option `{}` is not known before it runs", text.shown()));
        }
    }

    fn take(&mut self, option: &Opt, attached: Option<Text>, table: usize) {
        let mut values = Vec::new();
        let mut roles = option.values.iter();
        match (attached, option.values.is_empty()) {
            (Some(text), false) => {
                values.extend(roles.next().map(|role| (*role, text)));
            }
            (Some(text), true) if matches!(text.as_known(), Some("true" | "1" | "yes")) => {}
            (Some(_), true) => self.unknown(format!("the option `{}` takes no value", option.name)),
            (None, _) if option.optional => roles = [].iter(),
            (None, _) => {}
        }
        for role in roles {
            if matches!(role, Role::Command) {
                // The rest of the line.
                let words = self.rest.iter().map(|field| field.text.clone());
                values.extend(words.map(|text| (Role::Command, text)));
                self.rest = &[];
                break;
            }
            let Some((next, rest)) = self.rest.split_first() else {
                self.unknown(format!("the option `{}` has no value", option.name));
                self.reading.cut_short = true;
                break;
            };
            self.rest = rest;
            if next.many && !next.text.is_pattern() {
                self.unknown(format!("`{}` may be any number of words", next.text.shown()));
            }
            values.push((*role, next.text.clone()));
        }
        self.reading.given.push(Given { name: option.name.clone(), values, table });
        let also = self.reading.tables.get(table).map(|table| table.also.clone()).unwrap_or_default();
        for (_, others) in also.into_iter().filter(|(name, _)| *name == option.name) {
            for name in others {
                self.reading.given.push(Given { name, values: Vec::new(), table });
            }
        }
    }

    fn operand(&mut self, field: &Field, table: &Arc<Table>) {
        let first = self.reading.operands.is_empty();
        let opens = first && !self.stopped && self.models.has_subcommands(&self.name);
        if opens {
            if let Some(word) = field.text.as_known() {
                let below = format!("{}.{word}", self.name);
                if !word.contains('.')
                    && !word.starts_with('-')
                    && let Some(table) = self.models.table(&below)
                {
                    self.reading.path.push(word.to_owned());
                    self.reading.tables.push(table);
                    self.name = below;
                    return;
                }
            }
            if table.operands.is_none() {
                let shown = field.text.shown();
                self.unknown(format!(
                    "`{}` does not have the subcommand `{shown}`, as far as is known",
                    self.shown_name()
                ));
            }
        }
        // A word that is not known, or a name found by a pattern, may look like an option.
        let open = !self.stopped && !table.words && field.text.may_be_option();
        if open && field.text.as_known() != Some("-") && (table.acts || self.is_expression(table)) {
            self.unknown(format!("`{}` could be an option", field.text.shown()));
        }
        self.reading.operands.push(field.clone());
        if table.stops {
            self.stopped = true;
            self.reading.dashes.get_or_insert(self.reading.operands.len());
        }
    }

    fn is_expression(&self, table: &Table) -> bool {
        table.operands.iter().flatten().any(|operand| operand.role == Role::FindExpression)
    }

    fn shown_name(&self) -> String {
        self.reading.path.join(" ")
    }
}

/// `less +50`, `tail +5`, `less +G`, `less +/word`: where to begin.
fn begins(text: &Text, program: &str) -> bool {
    let Some(at) = text.as_known().and_then(|text| text.get(1..)) else { return false };
    at.bytes().all(|b| b.is_ascii_digit())
        || matches!(program, "less" | "more") && (matches!(at, "G" | "g" | "F") || at.starts_with(['/', '?']))
}
