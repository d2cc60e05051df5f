//! Which options of the models were seen at work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use checkrein::contract::Effect;

use super::line::models;

/// Tables and options that traced lines used.
#[derive(Default)]
pub(crate) struct Options {
    seen: BTreeSet<(String, String)>,
    programs: BTreeSet<String>,
}

impl Options {
    /// Notes what a line that came out as foreseen used.
    pub(crate) fn add(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Run(run) = effect
                && run.modelled
            {
                self.programs.insert(run.words().first().cloned().unwrap_or_default());
                self.seen.extend(models().used(run.words()));
            }
        }
    }

    /// Programs that were traced.
    pub(crate) fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Options that change effects and were traced.
    pub(crate) fn count(&self) -> usize {
        self.seen.len()
    }

    /// Whether the list that ships says the same; with `CHECKREIN_UPDATE` it is written.
    pub(crate) fn agree(&self, lines: usize) -> bool {
        let text = self.text(lines);
        if updates() {
            std::fs::write(file(), text).expect("the list can be written");
            return true;
        }
        std::fs::read_to_string(file()).is_ok_and(|there| there == text)
    }

    fn text(&self, lines: usize) -> String {
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for program in &self.programs {
            tables.entry(program).or_default();
        }
        for (table, option) in &self.seen {
            tables.entry(table).or_default().push(option);
        }
        let mut text = format!(
            "# What was seen at work under a system call tracer: programs, and of each table the options that change effects.\n\
             # {lines} command lines. Written by `CHECKREIN_UPDATE=1 cargo test -p checkrein --test traced`; do not edit.\n"
        );
        for (table, options) in tables {
            text.push_str(table);
            for option in options {
                text.push(' ');
                text.push_str(option);
            }
            text.push('\n');
        }
        text
    }
}

/// Whether the list is to be written.
pub(crate) fn updates() -> bool {
    std::env::var_os("CHECKREIN_UPDATE").is_some()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../checkrein-policy/models/traced.txt")
}
