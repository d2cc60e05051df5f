//! `cargo xtask tidy`: the rules of the house, one file and one line in the list each.
//!
//! A check gets texts and gives violations; it changes nothing. Every check has a test that sees it fail.

use std::fmt;

use crate::rust::Source;
use crate::workspace::Workspace;

mod ceilings;
mod edges;
mod headers;
mod invariants;
mod lints;
mod names;
mod requirements;
mod secrets;
mod trees;

/// One place where a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// File, from the root.
    pub(crate) file: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) mend: String,
}

impl Violation {
    /// A violation at a line.
    pub(crate) fn new(file: &str, line: usize, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.file, self.line, self.what, self.mend)
    }
}

/// How a check came out.
pub(crate) struct Report {
    /// Everything that is wrong.
    pub(crate) violations: Vec<Violation>,
    /// What was looked at, in a few words.
    pub(crate) looked_at: String,
}

impl Report {
    /// The violations, and how much was looked at.
    pub(crate) fn new(violations: Vec<Violation>, looked_at: impl Into<String>) -> Self {
        Self { violations, looked_at: looked_at.into() }
    }
}

/// What checks look at.
pub(crate) struct House<'a> {
    /// The checkout.
    pub(crate) workspace: &'a Workspace,
    /// Its Rust files.
    pub(crate) sources: Vec<Source>,
}

/// One check: its name, what it holds, and its function.
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&House<'_>) -> Result<Report, String>,
}

const CHECKS: &[Check] = &[
    Check { name: "edges", about: "crates import only what the table allows", run: edges::check },
    Check { name: "trees", about: "pure crates stay pure and small, with all they pull in", run: trees::check },
    Check { name: "headers", about: "every Rust file says what it is for", run: headers::check },
    Check { name: "ceilings", about: "files and functions stay short", run: ceilings::check },
    Check { name: "invariants", about: "ARCHITECTURE.md and tests name the same invariants", run: invariants::check },
    Check { name: "names", about: "banned names, and calls that only one crate may make", run: names::check },
    Check { name: "lints", about: "strict lints are on where they must be", run: lints::check },
    Check { name: "secrets", about: "no secrets, no private hosts, no paths of one machine", run: secrets::check },
    Check { name: "requirements", about: "every requirement is shown or has an open issue", run: requirements::check },
];

/// Names the checks.
pub(crate) fn list() -> Result<(), String> {
    for check in CHECKS {
        println!("{:<13} {}", check.name, check.about);
    }
    Ok(())
}

/// Runs all checks, or one, and prints what they found.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<(), String> {
    if let Some(only) = only.filter(|only| CHECKS.iter().all(|check| check.name != *only)) {
        return Err(format!("there is no check `{only}`: `cargo xtask tidy --list` names them"));
    }
    let house = House { workspace, sources: workspace.sources()? };
    let mut found = 0;
    for check in CHECKS.iter().filter(|check| only.is_none_or(|only| check.name == only)) {
        let report = (check.run)(&house).map_err(|message| format!("tidy {}: {message}", check.name))?;
        let mut violations = report.violations;
        violations.sort();
        violations.dedup();
        for violation in &violations {
            println!("{violation}");
        }
        let verdict =
            if violations.is_empty() { "fine".to_owned() } else { format!("{} violations", violations.len()) };
        println!("tidy {:<13} {verdict}: {}, {}", check.name, check.about, report.looked_at);
        found += violations.len();
    }
    if found == 0 { Ok(()) } else { Err(format!("tidy found {found} violations: each line above says how to mend it")) }
}
