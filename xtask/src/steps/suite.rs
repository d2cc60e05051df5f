//! `cargo test` of the whole workspace: its output goes through as it comes, and the single tests are counted.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::cargo;
use crate::workspace::Workspace;

const ARGUMENTS: &[&str] = &["test", "--workspace", "--locked"];

/// Single tests, summed over all binaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
}

impl Count {
    /// The line that scripts look for.
    pub(super) fn last_line(self) -> String {
        format!("test: {} passed, {} failed", self.passed, self.failed)
    }

    /// Takes a line of test output into account.
    fn add(&mut self, line: &str) {
        let plain = without_colour(line);
        let Some(rest) = plain.trim().strip_prefix("test result: ") else { return };
        let numbers = rest.split_once(". ").map_or("", |(_, numbers)| numbers);
        for part in numbers.split(';') {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Runs all tests.
pub(super) fn run(workspace: &Workspace) -> Result<Count, String> {
    let mut child = cargo::cargo(workspace, ARGUMENTS)
        .env("CHECKREIN_TRACED", "all")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo can not be started: {e}"))?;
    let mut count = Count::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|e| format!("the output of cargo broke off: {e}"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            count.add(&line);
        }
    }
    let status = child.wait().map_err(|e| format!("cargo was lost: {e}"))?;
    if status.success() && count.failed == 0 {
        return Ok(count);
    }
    Err(format!(
        "`cargo {}` failed ({} passed, {} failed so far): see above",
        ARGUMENTS.join(" "),
        count.passed,
        count.failed
    ))
}

/// The line without escape sequences for colours.
fn without_colour(line: &str) -> String {
    let mut out = String::new();
    let mut pieces = line.split('\u{1b}');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str(piece.split_once('m').map_or(piece, |(_, rest)| rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_are_summed() {
        let mut count = Count::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test a ... ok",
            "test result: \u{1b}[31mFAILED\u{1b}[0m. 4 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out",
            "not a test result: ok. 9 passed",
        ] {
            count.add(line);
        }
        assert_eq!(count, Count { passed: 7, failed: 2, ignored: 1 });
    }

    #[test]
    fn the_last_line_is_exactly_this() {
        assert_eq!(Count { passed: 12, failed: 0, ignored: 3 }.last_line(), "test: 12 passed, 0 failed");
    }
}
