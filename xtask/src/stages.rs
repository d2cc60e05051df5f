//! `cargo xtask stages`: every stage of the gate is taken out of a copy of the workspace, one at a time, and the gate's own
//! tests must notice. A stage that nobody would miss is a stage that may already be missing.
//!
//! The checkout itself is never changed.

use crate::workspace::Workspace;

mod copy;
mod table;
mod trial;

use table::{REMOVALS, Removal};
use trial::Trial;

/// The tests that must notice.
pub(crate) const TESTS: &str = "crates/checkrein-gate/tests/stages.rs";

/// Whether there are tests to notice anything.
pub(crate) fn are_tested(workspace: &Workspace) -> bool {
    workspace.root.join(TESTS).is_file()
}

/// Removes each stage (or one) and sees its tests fail; with `build`, only sees that the removal compiles.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>, build: bool) -> Result<(), String> {
    if let Some(only) = only.filter(|only| REMOVALS.iter().all(|removal| removal.stage != *only)) {
        let names: Vec<_> = REMOVALS.iter().map(|removal| removal.stage).collect();
        return Err(format!("there is no stage `{only}`; there are: {}", names.join(", ")));
    }
    if !build && !are_tested(workspace) {
        return Err(format!("{TESTS} is not there: write it, or see with --build that the removals compile"));
    }
    // All texts are looked for first: a build is a long way to a typing mistake.
    for removal in REMOVALS {
        removal.apply(&workspace.read(&removal.path())?)?;
    }
    let copy = copy::make(workspace)?;
    let trial = Trial::new(&copy);
    if build {
        trial.check().map_err(|output| format!("the copy does not compile as it is:\n{output}"))?;
    } else {
        let passed = trial.unchanged()?;
        println!("unchanged: {passed} tests pass");
    }
    let mut missed = Vec::new();
    for removal in REMOVALS.iter().filter(|removal| only.is_none_or(|only| removal.stage == only)) {
        match remove(&copy, &trial, removal, build) {
            Ok(line) => println!("{}: removed, {line}", removal.stage),
            Err(why) => {
                println!("{}: {why}", removal.stage);
                missed.push(removal.stage);
            }
        }
    }
    if missed.is_empty() {
        return Ok(());
    }
    Err(format!("not noticed, or not compiled: {}; write the missing test in {TESTS}", missed.join(", ")))
}

/// Takes a stage out, looks, and puts it back.
fn remove(copy: &Workspace, trial: &Trial<'_>, removal: &Removal, build: bool) -> Result<String, String> {
    let path = removal.path();
    let whole = copy.read(&path)?;
    copy.write(&path, &removal.apply(&whole)?)?;
    let outcome = if build {
        trial.check().map(|()| "still compiles".to_owned()).map_err(|output| format!("does not compile:\n{output}"))
    } else {
        trial.removed()
    };
    copy.write(&path, &whole)?;
    outcome
}
