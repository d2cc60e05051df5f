//! Functions with a body: where they begin and end, what stands right above them, and whether they are tests.

use std::sync::LazyLock;

use regex::Regex;

use super::{CommentKind, Source, closing};

/// One function.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// Line of `fn`, from 1.
    pub(crate) first: usize,
    /// Line of the brace that ends it.
    pub(crate) last: usize,
    /// Its doc comment, lines joined.
    pub(crate) doc: String,
    /// A test runner calls it.
    pub(crate) is_test: bool,
}

impl Function {
    /// From the line of `fn` to the closing brace, both counted.
    pub(crate) fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

static HEAD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bfn\s+(?:r#)?(\w+)").expect("a valid pattern"));
static TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#\s*\[\s*(?:\w+\s*::\s*)*test\s*[\](]").expect("a valid pattern"));

/// Every function with a body, in order.
pub(super) fn find(source: &Source) -> Vec<Function> {
    let mut found = Vec::new();
    for head in HEAD.captures_iter(&source.code) {
        let (Some(whole), Some(name)) = (head.get(0), head.get(1)) else { continue };
        let Some(open) = body(&source.code, whole.end()) else { continue };
        let Some(end) = closing(&source.code, open) else { continue };
        let first = source.line_of(whole.start());
        let (doc, attributes) = above(source, first);
        found.push(Function {
            name: name.as_str().to_owned(),
            first,
            last: source.line_of(end - 1),
            doc,
            is_test: TEST.is_match(&attributes),
        });
    }
    found
}

/// The brace that opens the body; `None` for a function without one.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match code.as_bytes().get(at)? {
            b'(' | b'[' => at = closing(code, at)?,
            b'{' => return Some(at),
            b';' | b'}' | b')' => return None,
            _ => at += 1,
        }
    }
}

/// Doc comment and attributes of the item whose first line this is.
fn above(source: &Source, first: usize) -> (String, String) {
    let code: Vec<&str> = source.code.lines().collect();
    let text: Vec<&str> = source.text.lines().collect();
    let mut begin = first;
    while begin > 1 {
        let (code, text) = (code[begin - 2].trim(), text[begin - 2].trim());
        if text.is_empty() || code.ends_with([';', '{', '}']) {
            break;
        }
        begin -= 1;
    }
    let docs = source
        .comments
        .iter()
        .filter(|comment| comment.kind == CommentKind::Item && (begin..=first).contains(&comment.line));
    let doc = docs.map(|comment| comment.text.trim()).collect::<Vec<_>>().join("\n");
    (doc, code[begin - 1..first].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(text: &str) -> Vec<Function> {
        Source::new("crates/a/src/x.rs", text).functions()
    }

    #[test]
    fn lines_are_counted_from_fn_to_its_brace() {
        let found = functions(
            "trait T {\n    fn no_body(&self);\n}\nfn a<T>(x: [u8; 3]) -> u8 {\n    let c = '}';\n    2\n}\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].first, found[0].last, found[0].lines()), ("a", 4, 7, 4));
    }

    #[test]
    fn docs_and_test_attributes_are_found() {
        let text = "/// Not this.\nfn a() {}\n/// Shows R1.\n/// And R2.\n#[tokio::test(start_paused = true)]\nasync fn b() {}\n\n/// Far.\n\n#[test] fn c() {}\nproptest! {\n    /// Shows R3.\n    #[test]\n    fn d(x in 0..3) {}\n}\n";
        let found = functions(text);
        let seen: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.doc.as_str(), f.is_test)).collect();
        assert_eq!(
            seen,
            [("a", "Not this.", false), ("b", "Shows R1.\nAnd R2.", true), ("c", "", true), ("d", "Shows R3.", true)]
        );
    }

    #[test]
    fn an_attribute_that_only_names_test_makes_no_test() {
        assert!(functions("#[cfg(test)]\nfn a() {}\n").iter().all(|f| !f.is_test));
        assert!(functions("fn pointer(f: fn(u8) -> u8) {}\n").len() == 1);
    }
}
