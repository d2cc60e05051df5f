//! Just enough Rust to check texts by: what is code and what is not, which lines are tests, where functions end.
//!
//! It is no parser and must not become one: whatever needs types belongs to the compiler or to clippy.

use std::ops::RangeInclusive;

mod functions;
mod lexer;
mod regions;

pub(crate) use functions::Function;

/// What a comment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentKind {
    /// `///`: about the item below.
    Item,
    /// `//!`: about the file or module around it.
    File,
    /// Neither.
    Plain,
}

/// One line of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// Line, from 1.
    pub(crate) line: usize,
    /// What it is for.
    pub(crate) kind: CommentKind,
    /// Its text without the signs that open it.
    pub(crate) text: String,
}

/// One Rust file, read once for all checks.
pub(crate) struct Source {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// As it stands.
    pub(crate) text: String,
    /// The same length and lines, with comments and the insides of literals blanked.
    pub(crate) code: String,
    /// Every comment line.
    pub(crate) comments: Vec<Comment>,
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Reads a text.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let (code, comments) = lexer::split(&text);
        let tests = regions::tests(&code);
        Self { path, text, code, comments, tests }
    }

    /// The package it belongs to.
    pub(crate) fn package(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            first => first.unwrap_or_default(),
        }
    }

    /// Whether all of it is for tests (or for benchmarks and examples, which nobody ships either).
    pub(crate) fn is_test_file(&self) -> bool {
        let folder = |name: &str| self.path.split('/').any(|part| part == name);
        ["tests", "benches", "examples"].into_iter().any(folder) || self.path.ends_with("/tests.rs")
    }

    /// Whether this line (from 1) is test code.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|range| range.contains(&line))
    }

    /// Lines of test code, and lines of all else.
    pub(crate) fn line_counts(&self) -> (usize, usize) {
        let all = self.text.lines().count();
        let tests = (1..=all).filter(|line| self.is_test_line(*line)).count();
        (tests, all - tests)
    }

    /// Its functions that have a body, in order.
    pub(crate) fn functions(&self) -> Vec<Function> {
        functions::find(self)
    }

    /// The line (from 1) of a byte offset into `text` or `code`.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        1 + self.code.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
    }
}

/// From an opening bracket to the byte after the one that closes it; `None` when nothing does.
pub(crate) fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_knows_its_package_and_its_tests() {
        let source = Source::new("crates/a/src/x.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
        assert_eq!(source.package(), "a");
        assert_eq!(source.line_counts(), (4, 2));
        assert!(!source.is_test_line(1) && source.is_test_line(5));
        assert!(Source::new("crates/a/tests/x.rs", "").is_test_file());
        assert!(Source::new("crates/a/src/gate/tests.rs", "").is_test_file());
        assert_eq!(Source::new("xtask/src/x.rs", "").package(), "xtask");
    }

    #[test]
    fn brackets_close_over_others() {
        assert_eq!(closing("a { b ( ) [c] }", 2), Some(15));
        assert_eq!(closing("{ { } ( ) } x", 0), Some(11));
        assert_eq!(closing("{ (", 0), None);
    }
}
