//! `cargo xtask test`: everything that CI runs, in order, until the first failure.
//!
//! A step is one entry of the list below. What needs a network or a key is no step.

use std::time::Instant;

use crate::workspace::Workspace;
use crate::{cargo, catalog, stages, tidy};

mod embed;
pub(crate) mod setup;
mod suite;

use suite::Count;

/// What a step leaves behind: counted tests, or a word about why it did nothing.
enum Done {
    Fine,
    Counted(Count),
    Skipped(String),
}

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace) -> Result<Done, String>,
}

const FMT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
const DENY: &[&str] = &["deny", "--locked", "check", "licenses", "bans", "sources"];

const STEPS: &[Step] = &[
    Step {
        name: "setup",
        about: "what the tests need, installed where it is missing",
        run: |workspace| setup::run(workspace).map(|()| Done::Fine),
    },
    Step { name: "fmt", about: "cargo fmt --all --check", run: |workspace| through(workspace, FMT) },
    Step { name: "clippy", about: "cargo clippy, warnings denied", run: |workspace| through(workspace, CLIPPY) },
    Step {
        name: "deny",
        about: "licences, bans and sources of all dependencies",
        run: |workspace| through(workspace, DENY),
    },
    Step {
        name: "suite",
        about: "cargo test --workspace, doc tests included",
        run: |workspace| suite::run(workspace).map(Done::Counted),
    },
    Step {
        name: "embed",
        about: "the example of a stranger's crate, built and tested from outside the workspace",
        run: |workspace| embed::run(workspace).map(|()| Done::Fine),
    },
    Step {
        name: "tidy",
        about: "the rules of the house",
        run: |workspace| tidy::run(workspace, None).map(|()| Done::Fine),
    },
    Step {
        name: "catalog",
        about: "generated pages are fresh",
        run: |workspace| catalog::run(workspace, true).map(|()| Done::Fine),
    },
    Step { name: "stages", about: "each stage of the gate, removed, fails its tests", run: removed_stages },
];

/// Names the steps.
pub(crate) fn list() -> Result<(), String> {
    for step in STEPS {
        println!("{:<8} {}", step.name, step.about);
    }
    Ok(())
}

/// Runs all steps, or one. The last line of a full run that succeeds is `test: N passed, 0 failed`.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<(), String> {
    if let Some(only) = only.filter(|only| STEPS.iter().all(|step| step.name != *only)) {
        return Err(format!("there is no step `{only}`: `cargo xtask test --list` names them"));
    }
    let mut count = None;
    for step in STEPS.iter().filter(|step| only.is_none_or(|only| step.name == only)) {
        println!("== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let done = (step.run)(workspace);
        let seconds = begin.elapsed().as_secs_f64();
        match done {
            Ok(Done::Fine) => println!("== {}: ok, {seconds:.1} s", step.name),
            Ok(Done::Skipped(why)) => println!("== {}: SKIPPED, {why}", step.name),
            Ok(Done::Counted(counted)) => {
                println!(
                    "== {}: ok, {seconds:.1} s, {} passed, {} ignored",
                    step.name, counted.passed, counted.ignored
                );
                count = Some(counted);
            }
            Err(message) => {
                println!("== {}: FAILED, {seconds:.1} s", step.name);
                return Err(format!("step `{0}`: {message}; `cargo xtask test --only {0}` runs it alone", step.name));
            }
        }
    }
    if let Some(count) = count {
        println!("{}", count.last_line());
    }
    Ok(())
}

fn through(workspace: &Workspace, arguments: &[&str]) -> Result<Done, String> {
    cargo::run(workspace, arguments).map(|()| Done::Fine)
}

fn removed_stages(workspace: &Workspace) -> Result<Done, String> {
    if !stages::are_tested(workspace) {
        return Ok(Done::Skipped(format!("{} is not there yet", stages::TESTS)));
    }
    stages::run(workspace, None, false).map(|()| Done::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_step_is_an_error_that_says_where_the_names_are() {
        let workspace = Workspace::find().unwrap();
        assert!(run(&workspace, Some("nonsense")).unwrap_err().contains("--list"));
    }

    #[test]
    fn steps_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }
}
