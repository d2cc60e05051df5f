//! Which options of the models change effects: each of them is seen at work by the tier that runs commands under a tracer.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::{Models, Table};
use crate::shell::programs::is_shell;

/// Options that change effects and were seen at work: a table and its options a line. Written by the tier that traces.
const TRACED: &str = include_str!("../../models/traced.txt");

static SEEN: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
    let lines = TRACED.lines().filter(|line| !line.starts_with('#'));
    lines
        .flat_map(|line| {
            let mut words = line.split(' ');
            let table = words.next().unwrap_or_default();
            words.map(move |option| (table, option))
        })
        .collect()
});

/// Command lines that were run under the tracer for what ships to be known as true.
pub fn traced_lines() -> usize {
    TRACED.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_default()
}

impl Models {
    /// Whether a program was run under the tracer at all.
    pub fn is_traced(&self, program: &str) -> bool {
        TRACED.lines().any(|line| line.split(' ').next() == Some(program))
    }

    /// Whether what an option does is not known to be true: it changes effects, and nobody has seen it at work. Such an
    /// option never allows anything. A person's own models are that person's word, and count.
    pub fn is_untested(&self, table: &str, option: &str) -> bool {
        self.ships(table)
            && !SEEN.contains(&(table, option))
            && self
                .table(table)
                .is_some_and(|known| known.option(option).is_some_and(|option| known.changes_effects(option)))
    }

    /// Programs that the program of these words starts as parts of itself (`gcc` its compiler and assembler).
    pub fn starts(&self, words: &[String]) -> Vec<String> {
        self.innermost(words).into_iter().flat_map(|(_, table)| table.starts.clone()).collect()
    }

    /// Whether a program only starts what its words name, so that it is no effect of its own: `env`, `nice`, `xargs`, shells.
    pub fn is_wrapper(&self, program: &str) -> bool {
        is_shell(program) || program == "xargs" || self.table(program).is_some_and(|table| table.neutral)
    }

    /// Options among these words that change effects, each with the table that knows it. The words are those that rules
    /// are compared with ([`checkrein_contract::Run::words`]).
    pub fn used(&self, words: &[String]) -> BTreeSet<(String, String)> {
        let tables = self.innermost(words);
        let options = words.iter().skip(tables.len()).take_while(|word| *word != "--");
        let names = options.map(|word| word.split_once('=').map_or(word.as_str(), |(name, _)| name));
        names
            .filter_map(|name| {
                let (table, option) =
                    tables.iter().rev().find_map(|(at, table)| Some(((at, table), table.option(name)?)))?;
                table.1.changes_effects(option).then(|| (table.0.clone(), option.name.clone()))
            })
            .collect()
    }

    /// All options that change effects, each with its table.
    pub fn acting(&self) -> BTreeSet<(String, String)> {
        let tables = self.tables.keys().filter_map(|name| Some((name, self.table(name)?)));
        tables
            .flat_map(|(name, table)| {
                let acting = table.options.iter().filter(|option| table.changes_effects(option));
                acting.map(|option| (name.clone(), option.name.clone())).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The tables of these words: of the program, and of the subcommands that follow.
    fn innermost(&self, words: &[String]) -> Vec<(String, Arc<Table>)> {
        let mut tables: Vec<(String, Arc<Table>)> = Vec::new();
        for word in words {
            let name = tables.last().map_or_else(|| word.clone(), |(above, _)| format!("{above}.{word}"));
            let Some(table) = self.table(&name) else { break };
            tables.push((name, table));
        }
        tables
    }
}
