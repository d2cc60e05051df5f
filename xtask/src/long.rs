//! Runs that take long and are no part of the one test command: the shell oracle over many scripts, simulated sessions,
//! real kills, fuzzing, and mutants.

use std::process::Command;

use crate::cargo;
use crate::steps::setup;
use crate::workspace::Workspace;

/// Rules and shell walker: what decides, and where a mutant that nobody notices would be a hole.
const MUTATED: [&str; 5] = [
    "crates/checkrein-policy/src/rules/*.rs",
    "crates/checkrein-policy/src/shell/**/*.rs",
    "crates/checkrein-policy/src/decide.rs",
    "crates/checkrein-policy/src/policy.rs",
    "crates/checkrein-policy/src/patterns.rs",
];

/// `cargo xtask oracle`: real bash against the parser, over this many scripts.
pub(crate) fn oracle(workspace: &Workspace, scripts: u32, seed: u64) -> Result<(), String> {
    println!("{scripts} scripts, seed {seed}");
    let mut command = cargo::cargo(
        workspace,
        &["test", "--locked", "--release", "-p", "checkrein-shell", "--test", "oracle", "--", "--nocapture"],
    );
    command.env("CHECKREIN_ORACLE_SCRIPTS", scripts.to_string()).env("CHECKREIN_ORACLE_SEED", seed.to_string());
    ended(&mut command)
}

/// `cargo xtask simulate`: many seeds; or one under a plan, as a failure prints it.
pub(crate) fn simulate(workspace: &Workspace, seeds: u64, from: u64, plan: Option<&str>) -> Result<(), String> {
    let only = ["--exact", "runs::simulate", "--ignored", "--nocapture"];
    let test = ["test", "--locked", "--release", "-p", "checkrein", "--test", "simulation", "--"];
    let mut command = cargo::cargo(workspace, &[test.as_slice(), &only].concat());
    command.env("CHECKREIN_SIMULATION_SEEDS", seeds.to_string()).env("CHECKREIN_SIMULATION_FROM", from.to_string());
    plan.map(|plan| command.env("CHECKREIN_SIMULATION_PLAN", plan));
    ended(&mut command)
}

/// `cargo xtask kill`: the real binary, real files, random work.
pub(crate) fn kill(workspace: &Workspace, times: u64, seed: u64) -> Result<(), String> {
    let only = ["--exact", "killed_often::killed_many_times", "--ignored", "--nocapture"];
    let test = ["test", "--locked", "-p", "checkrein-cli", "--test", "black_box", "--"];
    let mut command = cargo::cargo(workspace, &[test.as_slice(), &only].concat());
    command.env("CHECKREIN_KILL_TIMES", times.to_string()).env("CHECKREIN_KILL_SEED", seed.to_string());
    ended(&mut command)
}

/// `cargo xtask fuzz`: coverage-guided, on the nightly compiler.
pub(crate) fn fuzz(workspace: &Workspace, seconds: u32) -> Result<(), String> {
    if !answers("rustc", &["+nightly", "--version"]) {
        return Err("fuzzing needs the nightly compiler: rustup toolchain install nightly".to_owned());
    }
    setup::ensure(&setup::FUZZ)?;
    let time = format!("-max_total_time={seconds}");
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["+nightly", "fuzz", "run", "foresee", "--", &time, "-max_len=4096"]);
    ended(&mut command)
}

/// `cargo xtask mutants`: each change to the deciding code must fail a test. `shard` is `K/N`, counted from 0.
pub(crate) fn mutants(workspace: &Workspace, shard: &str) -> Result<(), String> {
    setup::ensure(&setup::MUTANTS)?;
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["mutants", "--package", "checkrein-policy", "--shard", shard]);
    for file in MUTATED {
        command.args(["--file", file]);
    }
    // A mutant that never ends is a mutant that was noticed.
    command.args(["--timeout", "120", "--baseline", "skip", "--no-shuffle", "--", "--lib", "--tests"]);
    ended(&mut command)
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn ended(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("it could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) }
}
