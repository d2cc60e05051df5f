//! Judges what `cargo xtask corpus` gathered and prints tables: JSON on standard input, figures on standard output.
//!
//! It stands here and not in xtask, which imports none of our crates.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its tables are for people")]

mod guard;
mod lines;

use std::collections::BTreeMap;
use std::process::ExitCode;

use checkrein_contract::{Facts, Layer, PolicySource, Verdict};
use checkrein_policy::fixtures::{Fixture, FixtureContext, Judge, Judged, World};
use checkrein_policy::{Models, foreign_tools};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Order {
    #[serde(default)]
    verbose: bool,
    #[serde(flatten)]
    material: Material,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Material {
    Guard(Vec<guard::Case>),
    Lines(Vec<lines::Line>),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let order: Order = serde_json::from_reader(std::io::stdin().lock())
        .map_err(|e| format!("standard input is not what `cargo xtask corpus` writes: {e}"))?;
    match order.material {
        Material::Guard(cases) => guard::measure(&cases, order.verbose),
        Material::Lines(lines) => lines::measure(&lines, order.verbose),
    }
}

/// A policy file as one layer.
fn source(layer: Layer, name: &str, text: &str) -> PolicySource {
    PolicySource { layer, file: format!("{name}.toml"), text: text.to_owned(), only_tightens: false }
}

/// A judge with these policies, by name, in the world that recorded calls have where they state none.
fn judge(policies: BTreeMap<String, Vec<PolicySource>>) -> Result<Judge, String> {
    let tools = foreign_tools().map_err(|e| e.to_string())?;
    Ok(Judge::new(policies, tools, Models::built_in().clone(), World::default()))
}

/// What a policy says of a command line.
fn decide(judge: &mut Judge, policy: &str, command: &str) -> Result<Judged, String> {
    let call = json!({ "tool": "run_command", "command": command });
    let fixture = Fixture {
        note: String::new(),
        tool: None,
        call: call.as_object().cloned().unwrap_or_default(),
        policy: Some(policy.to_owned()),
        ctx: FixtureContext::default(),
        expected: Verdict::Ask,
        accept: Vec::new(),
        never: None,
        kind: None,
        direction: None,
        why: None,
        facts: Facts::default(),
        effects: None,
        schema: None,
    };
    let judged = judge.judge(&fixture).map_err(|e| e.to_string())?;
    judged.ok_or_else(|| format!("there is no policy `{policy}`"))
}

/// A share in percent.
fn percent(part: usize, all: usize) -> String {
    let all = u32::try_from(all.max(1)).unwrap_or(u32::MAX);
    format!("{:.1} %", 100.0 * f64::from(u32::try_from(part).unwrap_or(u32::MAX)) / f64::from(all))
}

/// The names that were counted most, most first.
fn most(counts: &BTreeMap<String, usize>, wanted: usize) -> Vec<(&str, usize)> {
    let mut all: Vec<(&str, usize)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    all.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    all.truncate(wanted);
    all
}
