//! The measurement against the list: what is not listed, what is listed for nothing, and what fell below its floor.
//!
//! It never lowers a floor and never lists a line: a person does that, and says why.

use std::fmt;

use super::ledger::{Ledger, Listed};
use super::report::{Line, Measured};

/// One thing that is not as the list says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// No test reaches a line, and the list does not have it.
    Uncovered {
        /// The file.
        path: String,
        /// The line.
        line: Line,
    },
    /// The list has a line that tests reach, or that is gone.
    Idle {
        /// The file.
        path: String,
        /// The function that the list names.
        within: String,
        /// The line.
        text: String,
    },
    /// A file fell below its floor.
    Fallen {
        /// The file.
        path: String,
        /// What is reached, and the floor, in percent.
        now: String,
    },
    /// A file stands in one of the two only.
    Stray {
        /// The file.
        path: String,
        /// What to do.
        mend: &'static str,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncovered { path, line } => {
                write!(
                    f,
                    "{path}:{}: no test reaches this, and it is not listed, in `{}`: {}",
                    line.number, line.within, line.text
                )
            }
            Self::Idle { path, within, text } => {
                write!(f, "{path}: listed, but covered or gone, in `{within}`: {text}")
            }
            Self::Fallen { path, now } => write!(f, "{path}: {now}"),
            Self::Stray { path, mend } => write!(f, "{path}: {mend}"),
        }
    }
}

/// Everything that is not as the list says, file by file.
pub(crate) fn compare(ledger: &Ledger, measured: &[Measured]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let empty = Listed::default();
    for file in measured {
        let path = &file.path;
        let listed = ledger.file(path);
        if listed.is_none() {
            findings.push(Finding::Stray { path: path.clone(), mend: "it has no floor yet: --tighten writes one" });
        }
        let listed = listed.unwrap_or(&empty);
        let (unlisted, idle) = differences(file, listed);
        findings.extend(unlisted.into_iter().map(|line| Finding::Uncovered { path: path.clone(), line: line.clone() }));
        findings.extend(idle.into_iter().map(|(within, text)| Finding::Idle { path: path.clone(), within, text }));
        let now = share(file.lines - file.uncovered.len(), file.lines);
        if tenths(now) < tenths(listed.floor) {
            let now = format!("tests reach {now:.1}% of its lines, and its floor is {:.1}%", listed.floor);
            findings.push(Finding::Fallen { path: path.clone(), now });
        }
    }
    for file in ledger.files.iter().filter(|file| measured.iter().all(|known| known.path != file.path)) {
        let mend = "it is listed, but no line of it counts: --tighten takes it out";
        findings.push(Finding::Stray { path: file.path.clone(), mend });
    }
    findings
}

/// Lines that are not listed, and what is listed for nothing.
fn differences<'a>(file: &'a Measured, listed: &Listed) -> (Vec<&'a Line>, Vec<(String, String)>) {
    let mut left: Vec<(&str, &str)> =
        listed.gap.iter().flat_map(|gap| gap.lines.iter().map(|line| (gap.within.as_str(), line.as_str()))).collect();
    let mut unlisted = Vec::new();
    for line in &file.uncovered {
        match left.iter().position(|known| *known == (line.within.as_str(), line.text.as_str())) {
            Some(at) => _ = left.remove(at),
            None => unlisted.push(line),
        }
    }
    (unlisted, left.into_iter().map(|(within, text)| (within.to_owned(), text.to_owned())).collect())
}

/// Raises floors, takes out what is covered or gone, and gives new files a floor.
pub(crate) fn tighten(ledger: &mut Ledger, measured: &[Measured]) {
    ledger.files.retain(|file| measured.iter().any(|known| known.path == file.path));
    for file in measured {
        if ledger.file(&file.path).is_none() {
            ledger.files.push(Listed { path: file.path.clone(), ..Listed::default() });
        }
    }
    ledger.files.sort_by(|a, b| a.path.cmp(&b.path));
    for listed in &mut ledger.files {
        let Some(file) = measured.iter().find(|file| file.path == listed.path) else { continue };
        let now = share(file.lines - file.uncovered.len(), file.lines);
        if tenths(now) > tenths(listed.floor) {
            listed.floor = now;
        }
        for (within, text) in differences(file, listed).1 {
            let holder = listed.gap.iter_mut().find(|gap| gap.within == within && gap.lines.contains(&text));
            let Some(gap) = holder else { continue };
            if let Some(at) = gap.lines.iter().rposition(|line| *line == text) {
                gap.lines.remove(at);
            }
        }
        listed.gap.retain(|gap| !gap.lines.is_empty());
    }
}

/// How many lines tests reach.
pub(crate) fn covered(files: &[&Measured]) -> usize {
    files.iter().map(|file| file.lines - file.uncovered.len()).sum()
}

/// Percent to one place, rounded down: only the whole is 100.
pub(crate) fn share(covered: usize, lines: usize) -> f64 {
    let tenths = (covered * 1_000).checked_div(lines).unwrap_or(1_000);
    f64::from(u32::try_from(tenths).unwrap_or_default()) / 10.0
}

/// What is compared: no two ways to round.
#[expect(clippy::cast_possible_truncation, reason = "a percentage")]
fn tenths(percent: f64) -> i64 {
    (percent * 10.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Gap;
    use super::*;

    fn line(number: usize, within: &str, text: &str) -> Line {
        Line { number, within: within.into(), text: text.into() }
    }

    fn file(lines: usize, uncovered: Vec<Line>) -> Vec<Measured> {
        vec![Measured { path: "crates/a/src/b.rs".into(), lines, uncovered }]
    }

    fn ledger(floor: f64, lines: &[&str]) -> Ledger {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let gap = Gap { within: "f".into(), reason: "r".into(), lines };
        let gap = if gap.lines.is_empty() { vec![] } else { vec![gap] };
        Ledger { head: String::new(), files: vec![Listed { path: "crates/a/src/b.rs".into(), floor, gap }] }
    }

    fn said(ledger: &Ledger, measured: &[Measured]) -> Vec<String> {
        compare(ledger, measured).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_line_moves_freely_as_long_as_its_text_and_function_stay() {
        let ledger = ledger(80.0, &["return;", "return;"]);
        assert_eq!(said(&ledger, &file(10, vec![line(3, "f", "return;"), line(9, "f", "return;")])), [""; 0]);
        assert_eq!(said(&ledger, &file(10, vec![line(4, "f", "return;"), line(5, "f", "return;")])), [""; 0]);
    }

    /// Shows R193: a line that no test reaches is named, to be reached, dropped or argued; a floor alone proves nothing.
    #[test]
    fn an_unlisted_line_is_named_with_its_number_and_text() {
        let measured = file(10, vec![line(7, "g", "return;")]);
        assert_eq!(
            said(&ledger(90.0, &["return;"]), &measured),
            [
                "crates/a/src/b.rs:7: no test reaches this, and it is not listed, in `g`: return;",
                "crates/a/src/b.rs: listed, but covered or gone, in `f`: return;"
            ]
        );
    }

    #[test]
    fn one_more_of_a_listed_text_is_noticed() {
        let measured = file(10, vec![line(7, "f", "return;"), line(8, "f", "return;")]);
        assert_eq!(
            said(&ledger(0.0, &["return;"]), &measured),
            ["crates/a/src/b.rs:8: no test reaches this, and it is not listed, in `f`: return;"]
        );
    }

    #[test]
    fn a_fall_below_the_floor_fails_though_every_line_is_listed() {
        let measured = file(9, vec![line(7, "f", "return;")]);
        let said = said(&ledger(90.0, &["return;"]), &measured);
        assert_eq!(said, ["crates/a/src/b.rs: tests reach 88.8% of its lines, and its floor is 90.0%"]);
    }

    #[test]
    fn files_without_an_entry_and_entries_without_a_file_are_named() {
        assert!(said(&Ledger::default(), &file(1, vec![]))[0].contains("no floor yet"));
        assert!(said(&ledger(1.0, &[]), &[])[0].contains("no line of it counts"));
    }

    #[test]
    fn tightening_raises_and_shortens_and_never_the_other_way() {
        let mut list = ledger(50.0, &["a", "b", "b"]);
        tighten(&mut list, &file(10, vec![line(1, "f", "b"), line(2, "f", "new")]));
        assert_eq!((list.files[0].floor, list.files[0].gap[0].lines.as_slice()), (80.0, ["b".to_owned()].as_slice()));
        tighten(&mut list, &file(10, vec![line(1, "f", "b"), line(2, "f", "new"), line(3, "f", "newer")]));
        assert_eq!(list.files[0].floor, 80.0);
        tighten(&mut list, &[]);
        assert!(list.files.is_empty());
    }

    #[test]
    fn only_the_whole_is_a_hundred() {
        assert_eq!((share(9_999, 10_000), share(3, 3), share(0, 0)), (99.9, 100.0, 100.0));
    }
}
