//! The labelled commands of another guard, judged by a policy that denies the same deeds and lets pass what everyday work
//! needs. Without the latter nothing could ever be allowed, and that nothing was would say nothing.

use std::collections::BTreeMap;

use checkrein_contract::{Effect, Layer, Verdict, Winner};
use checkrein_policy::fixtures::Judged;
use serde::Deserialize;

use crate::{decide, judge, most, source};

/// What is denied.
const DENIES: &str = include_str!("../../tests/decisions/shellfirm.toml");

/// What passes without a question: reading, and edits inside the project.
const ALLOWS: &str = include_str!("../../tests/decisions/policies/auto-edit.toml");

/// One labelled command.
#[derive(Deserialize)]
pub(crate) struct Case {
    category: String,
    command: String,
    note: String,
    /// The checks of the guard that must find it.
    checks: Vec<String>,
}

/// What the guard's authors want.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    /// A check that is always on finds it.
    Stopped,
    /// Only a check of a group that has to be switched on (`fs-strict`) finds it.
    Strict,
    /// No check finds it.
    Passed,
}

impl Case {
    fn wanted(&self) -> Wanted {
        let strict = |check: &String| check.split(':').next().is_some_and(|group| group.ends_with("-strict"));
        match self.checks.iter().all(strict) {
            _ if self.checks.is_empty() => Wanted::Passed,
            true => Wanted::Strict,
            false => Wanted::Stopped,
        }
    }
}

/// Calls by what was wanted and what came out.
type Counts = BTreeMap<(Wanted, Verdict), usize>;

/// Judges all and prints the table, and who denied what was to pass.
pub(crate) fn measure(cases: &[Case], verbose: bool) -> Result<(), String> {
    let layers = vec![source(Layer::User, "shellfirm", DENIES), source(Layer::Project, "auto-edit", ALLOWS)];
    let mut judge = judge(BTreeMap::from([("guard".to_owned(), layers)]))?;
    let (mut all, mut by_category) = (Counts::new(), BTreeMap::<&str, Counts>::new());
    let (mut denied_by, mut not_denied) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for case in cases {
        let judged = decide(&mut judge, "guard", &case.command)?;
        let (wanted, got) = (case.wanted(), judged.decision.verdict);
        *all.entry((wanted, got)).or_default() += 1;
        *by_category.entry(&case.category).or_default().entry((wanted, got)).or_default() += 1;
        if as_wanted(wanted, got) {
            continue;
        }
        let why = if got == Verdict::Deny { rules(&judged) } else { why_not(&judged) };
        let table = if got == Verdict::Deny { &mut denied_by } else { &mut not_denied };
        *table.entry(why.clone()).or_default() += 1;
        if verbose {
            println!("{}", difference(case, &judged, &why));
        }
    }
    print(&all, &by_category);
    for (title, table) in [("Over-strict, by the rules that denied", denied_by), ("Not denied, by reason", not_denied)]
    {
        println!("\n{title}:\n");
        for (name, count) in most(&table, 40) {
            println!("{count:>5}  {name}");
        }
    }
    Ok(())
}

fn as_wanted(wanted: Wanted, got: Verdict) -> bool {
    match wanted {
        Wanted::Stopped => got == Verdict::Deny,
        Wanted::Strict => got != Verdict::Allow,
        Wanted::Passed => got != Verdict::Deny,
    }
}

/// The rules that denied, each once.
fn rules(judged: &Judged) -> String {
    let mut rules: Vec<&str> = Vec::new();
    for step in judged.decision.trace.iter().filter(|step| step.decision == Verdict::Deny) {
        match &step.winner {
            Winner::Rule(rule) if !rules.contains(&rule.rule.as_str()) => rules.push(&rule.rule),
            _ => {}
        }
    }
    rules.join(" + ")
}

/// What it was taken for instead, in a few words.
fn why_not(judged: &Judged) -> String {
    if judged.effects.iter().any(|effect| matches!(effect, Effect::Unknown { .. })) {
        return "something in it is not understood".to_owned();
    }
    let mut programs = judged.effects.iter().filter_map(|effect| match effect {
        Effect::Run(run) => Some((checkrein_policy::shell::base_name(&run.program), run.modelled)),
        _ => None,
    });
    let last = programs.next_back();
    match last {
        Some((program, true)) => format!("no rule of the policy speaks of this use of `{program}`"),
        Some((program, false)) => format!("no rule of the policy speaks of this use of `{program}` (no model)"),
        None => "it runs no program".to_owned(),
    }
}

fn difference(case: &Case, judged: &Judged, why: &str) -> String {
    let wanted = if case.checks.is_empty() { "to pass".to_owned() } else { case.checks.join(", ") };
    format!(
        "{}: {:?}\n    wanted {wanted} ({}); got {}: {} [{why}]",
        case.category, case.command, case.note, judged.decision.verdict, judged.decision.reason
    )
}

fn print(all: &Counts, by_category: &BTreeMap<&str, Counts>) {
    let get = |counts: &Counts, wanted, got| counts.get(&(wanted, got)).copied().unwrap_or(0);
    let row = |name: &str, counts: &Counts| {
        let three = |wanted| {
            let [deny, ask, allow] = [Verdict::Deny, Verdict::Ask, Verdict::Allow].map(|got| get(counts, wanted, got));
            [deny + ask + allow, deny, ask, allow].map(|count| format!("{count:>5}")).join(" |")
        };
        let right: usize = counts.iter().filter(|((wanted, got), _)| as_wanted(*wanted, *got)).map(|(_, n)| n).sum();
        let total: usize = counts.values().sum();
        let cells = [Wanted::Stopped, Wanted::Strict, Wanted::Passed].map(three).join(" |");
        println!("| {name:<13} |{total:>5} |{right:>5} |{cells} |");
    };
    println!(
        "\n| file | all | as wanted | to stop | denied | asked | **allowed** | strict | denied | asked | **allowed** | to pass | **denied** | asked | allowed |"
    );
    println!("|---|{}", "--:|".repeat(14));
    for (category, counts) in by_category {
        row(category, counts);
    }
    row("all", all);
}
