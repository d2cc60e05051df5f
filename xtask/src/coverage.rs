//! `cargo xtask coverage`: which lines of the crates that decide no test reaches, held against a list of reasons.
//!
//! It measures and compares. It must not judge tests by the lines they reach: a line that is run is not yet a line that is
//! tested, and `cargo xtask mutants` is the one that asks that.

use std::process::Command;
use std::time::Instant;

use crate::rust::Source;
use crate::steps::setup;
use crate::workspace::Workspace;

mod judge;
mod ledger;
mod report;

use judge::Finding;
use ledger::Ledger;
use report::Measured;

/// The crates of which every line counts.
const MEASURED: &[&str] = &["checkrein-contract", "checkrein-policy", "checkrein-gate", "checkrein-session"];

/// The packages whose tests run.
const TESTED: &[&str] =
    &["checkrein-contract", "checkrein-policy", "checkrein-gate", "checkrein-session", "checkrein", "checkrein-cli"];

/// Their tests, besides those inside the libraries. What is left out takes long and reaches no line that these do not: the
/// metamorphic tests, the traced tier, and refused builds.
const TESTS: &[&str] = &[
    "cases",
    "deep",
    "models",
    "noted",
    "remotes",
    "questions",
    "twin",
    "walk",
    "refused",
    "advice",
    "manifests",
    "values",
    "words",
    "money",
    "approvers",
    "dependencies",
    "redaction",
    "registry",
    "rounds",
    "seam",
    "stages",
    "edges",
    "grants",
    "fold",
    "driver",
    "hooks",
    "black_box",
    "refusals",
];

/// Left out by name: processes that are killed, and a disk that runs full, over and over; and one whose report tells what
/// the measuring itself is refused.
const SKIPPED: &[&str] = &["kills::", "inside_a_confined_process"];

/// The list, from the root.
const LEDGER: &str = "coverage.toml";

const BUILT: &str = "target/coverage";

/// Random tests begin here, so that two runs reach the same lines.
const SEED: &str = "1";

/// Measures and compares; with `tighten`, also writes the list anew where it became shorter or a floor rose.
/// With `kept`, the last measurement is taken as it is.
pub(crate) fn run(workspace: &Workspace, tighten: bool, kept: bool) -> Result<(), String> {
    let begin = Instant::now();
    if !kept {
        measure(workspace)?;
    }
    let measured = read(workspace)?;
    let mut ledger = Ledger::parse(&workspace.read_if_there(LEDGER)?.unwrap_or_default())
        .map_err(|error| format!("{LEDGER} can not be read: {error}"))?;
    if tighten {
        judge::tighten(&mut ledger, &measured);
        workspace.write(LEDGER, &ledger.render())?;
    }
    let findings = judge::compare(&ledger, &measured);
    for finding in &findings {
        println!("{finding}");
    }
    table(&measured, &ledger);
    println!("{:.0} s", begin.elapsed().as_secs_f64());
    if findings.is_empty() {
        return Ok(());
    }
    let new = findings.iter().filter(|finding| matches!(finding, Finding::Uncovered { .. })).count();
    Err(format!(
        "{new} lines that no test reaches are not in {LEDGER}, and {} more findings: delete the line, test it, or list it \
         with its reason; `cargo xtask coverage --tighten` takes out what is covered and writes risen floors",
        findings.len() - new
    ))
}

/// Runs the tests and leaves the report.
fn measure(workspace: &Workspace) -> Result<(), String> {
    setup::ensure(&setup::TARPAULIN)?;
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["tarpaulin", "--engine", "llvm", "--locked", "--skip-clean"]);
    // A folder of its own: other flags for the compiler would throw the usual build away.
    command.args(["--target-dir", BUILT, "--output-dir", BUILT, "--out", "Json", "--timeout", "900"]);
    // Counters of two threads may lose a count, but never all of them.
    command.arg("--implicit-test-threads");
    for package in TESTED {
        command.args(["--package", package]);
    }
    command.arg("--lib");
    for test in TESTS {
        command.args(["--test", test]);
    }
    for name in MEASURED {
        command.args(["--include-files", &format!("crates/{name}/src/*")]);
    }
    command.arg("--");
    for name in SKIPPED {
        command.args(["--skip", name]);
    }
    command.env("PROPTEST_RNG_SEED", SEED);
    let status = command.status().map_err(|error| format!("tarpaulin can not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("tarpaulin ended with {status}: does `cargo test` pass?")) }
}

/// The report, with the function that each line stands in.
fn read(workspace: &Workspace) -> Result<Vec<Measured>, String> {
    let text = workspace.read(&format!("{BUILT}/tarpaulin-report.json"))?;
    let root = workspace.root.to_string_lossy();
    let mut measured = report::read(&text, &root).map_err(|error| format!("the report can not be read: {error}"))?;
    measured.retain(|file| MEASURED.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/"))));
    for file in &mut measured {
        file.place(&Source::new(file.path.clone(), workspace.read(&file.path)?));
    }
    Ok(measured)
}

fn table(measured: &[Measured], ledger: &Ledger) {
    println!("{:<20} {:>6} {:>8} {:>7} {:>7}", "crate", "files", "lines", "covered", "listed");
    let (mut lines, mut covered) = (0, 0);
    for name in MEASURED {
        let folder = format!("crates/{name}/");
        let files: Vec<&Measured> = measured.iter().filter(|file| file.path.starts_with(&folder)).collect();
        let (all, reached) = (files.iter().map(|file| file.lines).sum::<usize>(), judge::covered(&files));
        let listed = ledger.listed(&folder);
        println!("{name:<20} {:>6} {all:>8} {:>6.1}% {listed:>7}", files.len(), judge::share(reached, all));
        (lines, covered) = (lines + all, covered + reached);
    }
    println!(
        "{:<20} {:>6} {lines:>8} {:>6.1}% {:>7}",
        "all",
        measured.len(),
        judge::share(covered, lines),
        ledger.listed("")
    );
}
