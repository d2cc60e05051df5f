//! Command lines as people write them: how many are read, how many are understood, and what policies make of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use checkrein_contract::{Effect, Layer, Verdict};
use checkrein_policy::shell::base_name;
use regex::Regex;
use serde::Deserialize;

use crate::{decide, judge, most, percent, source};

/// The policies.
const POLICIES: [(&str, &str); 2] = [
    ("dev", include_str!("../../tests/decisions/policies/dev.toml")),
    ("auto-edit", include_str!("../../tests/decisions/policies/auto-edit.toml")),
];

/// One line.
#[derive(Deserialize)]
pub(crate) struct Line {
    kind: String,
    command: String,
}

/// What was counted of one kind of source.
#[derive(Default)]
struct Counts {
    all: usize,
    read: usize,
    understood: usize,
    verdicts: BTreeMap<(usize, Verdict), usize>,
}

/// What was counted over all lines.
#[derive(Default)]
struct Totals {
    reasons: BTreeMap<String, usize>,
    without_model: BTreeMap<String, usize>,
}

/// Judges all and prints the tables.
pub(crate) fn measure(lines: &[Line], verbose: bool) -> Result<(), String> {
    let layers = POLICIES.map(|(name, text)| (name.to_owned(), vec![source(Layer::Project, name, text)]));
    let mut judge = judge(BTreeMap::from(layers))?;
    let mut by_kind: BTreeMap<&str, Counts> = BTreeMap::new();
    let (mut all, mut totals) = (Counts::default(), Totals::default());
    for line in lines {
        let read = checkrein_shell::parse(&line.command).is_ok();
        let mut effects = Vec::new();
        let mut verdicts = Vec::new();
        for (name, _) in POLICIES {
            let judged = decide(&mut judge, name, &line.command)?;
            verdicts.push(judged.decision.verdict);
            effects = judged.effects;
        }
        let reasons = totals.take(&effects);
        if verbose && !reasons.is_empty() {
            println!("{}: {:?}\n    {}", line.kind, line.command, reasons.join("; "));
        }
        for counts in [&mut all, by_kind.entry(&line.kind).or_default()] {
            counts.all += 1;
            counts.read += usize::from(read);
            counts.understood += usize::from(read && reasons.is_empty());
            for (policy, verdict) in verdicts.iter().enumerate() {
                *counts.verdicts.entry((policy, *verdict)).or_default() += 1;
            }
        }
    }
    print(&all, &by_kind);
    for (title, table, wanted) in [
        ("Reasons for not understood (lines)", &totals.reasons, 40),
        ("Programs without a model (lines)", &totals.without_model, 60),
    ] {
        println!("\n{title}:\n");
        for (name, count) in most(table, wanted) {
            println!("{count:>5}  {name}");
        }
    }
    Ok(())
}

impl Totals {
    /// Counts a line's reasons and programs, each once, and gives the reasons as they are.
    fn take(&mut self, effects: &[Effect]) -> Vec<String> {
        let (mut reasons, mut programs, mut written) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Unknown { what } => {
                    reasons.insert(general(what));
                    written.push(what.clone());
                }
                Effect::Run(run) if !run.modelled => {
                    programs.insert(base_name(&run.program).to_owned());
                }
                _ => {}
            }
        }
        for (table, names) in [(&mut self.reasons, reasons), (&mut self.without_model, programs)] {
            for name in names {
                *table.entry(name).or_default() += 1;
            }
        }
        written
    }
}

/// A reason without the words of this very command, but with the program's name.
fn general(reason: &str) -> String {
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("`[^`]*`").ok());
    match QUOTED.as_ref() {
        Some(quoted) => quoted.replace_all(reason, "`_`").into_owned(),
        None => reason.to_owned(),
    }
}

fn print(all: &Counts, by_kind: &BTreeMap<&str, Counts>) {
    let names = POLICIES.map(|(name, _)| format!("{name}: allow | ask | deny")).join(" | ");
    println!("\n| source | lines | read | understood | {names} |");
    println!("|---|{}", "--:|".repeat(3 + 3 * POLICIES.len()));
    let row = |name: &str, counts: &Counts| {
        let verdicts = (0..POLICIES.len())
            .flat_map(|policy| [Verdict::Allow, Verdict::Ask, Verdict::Deny].map(|verdict| (policy, verdict)));
        let shares: Vec<String> =
            verdicts.map(|key| percent(counts.verdicts.get(&key).copied().unwrap_or(0), counts.all)).collect();
        let (read, understood) = (percent(counts.read, counts.all), percent(counts.understood, counts.all));
        println!("| {name} | {} | {read} | {understood} | {} |", counts.all, shares.join(" | "));
    };
    for (kind, counts) in by_kind {
        row(kind, counts);
    }
    row("all", all);
}
