//! Which lines of a file are compiled for tests only: what stands under `#[cfg(test)]`.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use super::closing;

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#(!?)\[\s*cfg\s*\(\s*(?:test|all\(\s*test\b[^\]]*)\s*\)\s*\]").expect("a valid pattern")
});

/// Line ranges (from 1) of test code.
pub(super) fn tests(code: &str) -> Vec<RangeInclusive<usize>> {
    let line = |offset: usize| 1 + code.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count();
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for mark in MARK.captures_iter(code) {
        let (Some(whole), Some(inner)) = (mark.get(0), mark.get(1)) else { continue };
        if !inner.is_empty() {
            return vec![1..=line(code.len())];
        }
        let range = line(whole.start())..=line(item_end(code, whole.end()).saturating_sub(1));
        if ranges.last().is_none_or(|last| last.end() < range.start()) {
            ranges.push(range);
        }
    }
    ranges
}

/// The byte after the item that begins here.
fn item_end(code: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = code.as_bytes().get(at) {
        match byte {
            // A further attribute, or the arguments of a function.
            b'[' | b'(' => at = closing(code, at).unwrap_or(code.len()),
            b'{' => {
                at = closing(code, at).unwrap_or(code.len());
                // `use a::{b};` and `macro!{};` end behind their brace.
                let rest = code.get(at..).unwrap_or_default();
                return if rest.starts_with(';') { at + 1 } else { at };
            }
            b';' => return at + 1,
            // The end of the list that a field or a variant stands in.
            b'}' => return at,
            _ => at += 1,
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::super::lexer::split;

    fn found(text: &str) -> Vec<(usize, usize)> {
        super::tests(&split(text).0).into_iter().map(|range| (*range.start(), *range.end())).collect()
    }

    #[test]
    fn a_module_a_use_and_a_line_are_found() {
        assert_eq!(found("fn a() {}\n#[cfg(test)]\nmod tests {\n  // }\n}\nfn b() {}\n"), [(2, 5)]);
        assert_eq!(found("#[cfg(test)]\nmod tests;\nfn b() {}\n"), [(1, 2)]);
        assert_eq!(found("#[cfg(test)]\n#[expect(x, reason = \"]\")]\nuse a::{b, c};\nfn b() {}\n"), [(1, 3)]);
        assert_eq!(found("#[cfg(all(test, unix))]\nfn t(a: [u8; 2]) {\n}\n"), [(1, 3)]);
    }

    #[test]
    fn a_whole_file_and_no_test_at_all() {
        assert_eq!(found("#![cfg(test)]\nfn a() {}\n"), [(1, 3)]);
        assert_eq!(found("#![cfg_attr(not(test), deny(x))]\n#[cfg(not(test))]\nfn a() {}\n"), []);
    }
}
