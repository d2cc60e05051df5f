//! Invariants: what ARCHITECTURE.md lists as `(I4)`, a test's comment names, and the other way round.

use std::collections::BTreeMap;

use super::{House, Report, Violation};
use crate::requirements::mention::mentions;
use crate::rust::{CommentKind, Source};

const PAGE: &str = "ARCHITECTURE.md";

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let Some(page) = house.workspace.read_if_there(PAGE)? else {
        let violation = Violation::new(PAGE, 1, "the file is not there", "write it, with the invariants as a list");
        return Ok(Report::new(vec![violation], "no list to compare with"));
    };
    let listed = listed(&page);
    let violations = judge(&listed, &named(&house.sources));
    Ok(Report::new(violations, format!("{} invariants", listed.len())))
}

/// Ids of the page's list entries (or table rows), with their lines.
fn listed(page: &str) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::new();
    for (index, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        let numbered = trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ");
        if trimmed.starts_with(['-', '*', '|']) || numbered {
            for piece in line.split("(I").skip(1) {
                let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
                if piece[digits.len()..].starts_with(')') && !digits.is_empty() {
                    found.entry(digits.parse().unwrap_or(0)).or_insert(index + 1);
                }
            }
        }
    }
    found
}

/// Ids that comments of tests name, with the first place of each.
fn named(sources: &[Source]) -> BTreeMap<u32, (String, usize)> {
    let mut found = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path.starts_with("crates/")) {
        let docs = source.comments.iter().filter(|comment| comment.kind != CommentKind::Plain);
        // A doc comment stands above its test, so its own line need not be a test's.
        for comment in docs.filter(|comment| source.is_test_line(comment.line)) {
            for id in mentions(&comment.text, 'I') {
                found.entry(id).or_insert_with(|| (source.path.clone(), comment.line));
            }
        }
    }
    found
}

fn judge(listed: &BTreeMap<u32, usize>, named: &BTreeMap<u32, (String, usize)>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (id, line) in listed.iter().filter(|(id, _)| !named.contains_key(id)) {
        let mend = format!("write the test and say `Shows I{id}.` in its doc comment");
        found.push(Violation::new(PAGE, *line, format!("no test names I{id}"), mend));
    }
    for (id, (file, line)) in named.iter().filter(|(id, _)| !listed.contains_key(id)) {
        let what = format!("I{id} does not stand in {PAGE}");
        found.push(Violation::new(file, *line, what, "list it there, or mend the number here"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str =
        "# A\nAs (I9) says.\n- (I1) each start has one end\n- **(I2)** no effect\n1. (I3) it is so\n";

    fn test_file(comment: &str) -> Vec<Source> {
        vec![Source::new("crates/a/tests/x.rs", format!("//! Tests.\n\n{comment}\n#[test]\nfn a() {{}}\n"))]
    }

    #[test]
    fn list_entries_count_and_prose_does_not() {
        assert_eq!(listed(PAGE_TEXT).into_iter().collect::<Vec<_>>(), [(1, 3), (2, 4), (3, 5)]);
    }

    #[test]
    fn page_and_tests_that_agree_are_fine() {
        let named = named(&test_file("/// Shows I1-I3."));
        assert!(judge(&listed(PAGE_TEXT), &named).is_empty());
    }

    #[test]
    fn an_untested_or_unlisted_invariant_is_a_violation() {
        let found = judge(&listed(PAGE_TEXT), &named(&test_file("/// Shows I1, I2 and I7.")));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].file.as_str(), found[0].line), (PAGE, 5));
        assert_eq!((found[1].file.as_str(), found[1].line), ("crates/a/tests/x.rs", 3));
    }

    #[test]
    fn only_doc_comments_of_tests_count() {
        assert!(named(&test_file("// I1 is elsewhere.")).is_empty());
        assert!(named(&[Source::new("crates/a/src/x.rs", "//! Holds I1.\n/// I2.\nfn a() {}\n")]).is_empty());
        let inner = Source::new(
            "crates/a/src/x.rs",
            "//! A.\n#[cfg(test)]\nmod tests {\n    /// Shows I4.\n    fn a() {}\n}\n",
        );
        assert_eq!(named(&[inner]).into_keys().collect::<Vec<_>>(), [4]);
    }
}
