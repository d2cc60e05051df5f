//! How long files and functions may be. The numbers fall, they do not rise.

use super::{House, Report, Violation};
use crate::rust::Source;

/// Lines of a file that are not tests.
const FILE: usize = 500;
/// Lines of tests in a file.
const TESTS: usize = 1_000;
/// Lines of a function, from `fn` to its brace.
const FUNCTION: usize = 70;

/// A file that may be longer than [`FILE`], how long at most, and why. Empty is the aim; an entry is argued in its commit.
const LONGER: &[(&str, usize, &str)] = &[];

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let mut violations: Vec<Violation> = house.sources.iter().flat_map(|source| judge(source, LONGER)).collect();
    violations.extend(idle(&house.sources, LONGER));
    let longest = house.sources.iter().map(|source| source.line_counts().1).max().unwrap_or_default();
    Ok(Report::new(violations, format!("{} files, the longest has {longest} lines", house.sources.len())))
}

fn judge(source: &Source, longer: &[(&str, usize, &str)]) -> Vec<Violation> {
    let mut found = Vec::new();
    let (tests, code) = source.line_counts();
    let ceiling = longer.iter().find(|(path, _, _)| *path == source.path).map_or(FILE, |(_, lines, _)| *lines);
    if code > ceiling {
        let what = format!("{code} lines that are not tests; {ceiling} is the ceiling");
        found.push(Violation::new(&source.path, 1, what, "split it by what its parts are for"));
    }
    if tests > TESTS {
        let what = format!("{tests} lines of tests; {TESTS} is the ceiling");
        found.push(Violation::new(&source.path, 1, what, "move some into a file of their own"));
    }
    for function in source.functions() {
        if function.lines() > FUNCTION && !source.is_test_line(function.first) {
            let what = format!("`{}` has {} lines; {FUNCTION} is the ceiling", function.name, function.lines());
            found.push(Violation::new(&source.path, function.first, what, "take a part with a name of its own out"));
        }
    }
    found
}

/// Exceptions that no file needs any more, or that no reason stands behind.
fn idle(sources: &[Source], longer: &[(&str, usize, &str)]) -> Vec<Violation> {
    let needed = |path: &str| sources.iter().any(|source| source.path == path && source.line_counts().1 > FILE);
    let wrong = longer.iter().filter(|(path, _, reason)| reason.is_empty() || !needed(path));
    wrong
        .map(|(path, _, _)| {
            let what = format!("the exception for {path} is without need or without a reason");
            Violation::new("xtask/src/tidy/ceilings.rs", 1, what, "take it out of LONGER")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> Source {
        Source::new("crates/a/src/x.rs", "// x\n".repeat(lines))
    }

    fn function(lines: usize) -> String {
        format!("fn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2))
    }

    #[test]
    fn files_stop_at_the_ceiling() {
        assert!(judge(&file(FILE), &[]).is_empty());
        assert_eq!(judge(&file(FILE + 1), &[]).len(), 1);
        assert!(judge(&file(FILE + 1), &[("crates/a/src/x.rs", FILE + 1, "a table")]).is_empty());
    }

    #[test]
    fn tests_have_a_ceiling_of_their_own() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(FILE), "// y\n".repeat(600));
        assert!(judge(&Source::new("crates/a/src/x.rs", text), &[]).is_empty());
        assert_eq!(judge(&Source::new("crates/a/tests/x.rs", "// y\n".repeat(TESTS + 1)), &[]).len(), 1);
    }

    #[test]
    fn functions_stop_at_the_ceiling_unless_they_are_tests() {
        let source = |text: String| Source::new("crates/a/src/x.rs", text);
        assert!(judge(&source(function(FUNCTION)), &[]).is_empty());
        let found = judge(&source(format!("\n{}", function(FUNCTION + 1))), &[]);
        assert_eq!((found.len(), found[0].line), (1, 2));
        let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(FUNCTION + 9));
        assert!(judge(&source(test), &[]).is_empty());
    }

    #[test]
    fn an_exception_without_need_or_reason_is_a_violation() {
        assert_eq!(idle(&[file(10)], &[("crates/a/src/x.rs", 600, "a table")]).len(), 1);
        assert_eq!(idle(&[file(600)], &[("crates/a/src/x.rs", 600, "")]).len(), 1);
        assert!(idle(&[file(600)], &[("crates/a/src/x.rs", 600, "a table")]).is_empty());
    }
}
