//! What tests say they show: the doc comment right above a test, and the header of a file of tests.

use std::collections::BTreeMap;

use super::mention::mentions;
use crate::rust::{CommentKind, Source};

/// One test that shows something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// File, from the root.
    pub(crate) file: String,
    /// Line of the test, or of the header.
    pub(crate) line: usize,
    /// The test; `None` is the whole file.
    pub(crate) test: Option<String>,
}

/// Numbers with the tests that show them, in order of path and line.
pub(crate) type Shown = BTreeMap<u32, Vec<Place>>;

/// Looks through all files.
pub(crate) fn scan(sources: &[Source]) -> Shown {
    let mut shown = Shown::new();
    for source in sources {
        for function in source.functions().into_iter().filter(|function| function.is_test) {
            let place = Place { file: source.path.clone(), line: function.first, test: Some(function.name) };
            note(&mut shown, &mentions(&function.doc, 'R'), &place);
        }
        if source.is_test_file() {
            let header = source.comments.iter().take_while(|comment| comment.kind == CommentKind::File);
            let text = header.map(|comment| comment.text.as_str()).collect::<Vec<_>>().join("\n");
            note(&mut shown, &mentions(&text, 'R'), &Place { file: source.path.clone(), line: 1, test: None });
        }
    }
    for places in shown.values_mut() {
        places.sort();
        places.dedup();
    }
    shown
}

fn note(shown: &mut Shown, numbers: &[u32], place: &Place) {
    for number in numbers {
        shown.entry(*number).or_default().push(place.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(u32, Option<String>)> {
        let shown = scan(&[Source::new(path, text)]);
        shown.into_iter().flat_map(|(n, places)| places.into_iter().map(move |p| (n, p.test))).collect()
    }

    #[test]
    fn headers_of_tests_and_docs_of_test_functions_count() {
        let text = "//! Recorded calls.\n//! Shows R1-R2.\n\n/// Shows R3.\n#[test]\nfn a() {}\n";
        assert_eq!(found("crates/a/tests/x.rs", text), [(1, None), (2, None), (3, Some("a".to_owned()))]);
        assert_eq!(found("crates/a/src/x.rs", text), [(3, Some("a".to_owned()))]);
    }

    #[test]
    fn other_comments_do_not_count() {
        let text = "//! A.\n\n/// Meets R3.\nfn a() {}\n\n// Shows R4.\n#[test]\nfn b() {\n    // R5\n}\n";
        assert_eq!(found("crates/a/src/x.rs", text), []);
    }
}
