//! Values that are given to a name that says it holds a secret: `password = "..."`, `API_KEY=...`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::redact::Detector;

pub(crate) const DETECTOR: Detector = Detector { name: "assignment", find };

/// The value must look like one: eight characters or more with a digit among them, so that code and prose stay readable.
const SHAPE: &str = concat!(
    r#"(?i)\b[a-z0-9_.-]*(?:password|passwd|passphrase|secret|api_?key|access_?key|auth_?token)["']?\s*[:=]\s*["']?"#,
    r#"([A-Za-z0-9+/_.~!@#$%^&*-]{8,200})"#
);

/// What each of the names holds, in lower case. A text without any needs no pattern, and building one takes longer than
/// judging a call.
const NAMES: [&str; 9] =
    ["password", "passwd", "passphrase", "secret", "apikey", "api_key", "accesskey", "access_key", "auth"];

/// Whether the pattern could match. Letters beyond ASCII may fold to those of a name, so they are left to it.
fn may_match(text: &str) -> bool {
    if !text.is_ascii() {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    lower.contains([':', '=']) && NAMES.iter().any(|name| lower.contains(name))
}

fn find(text: &str) -> Vec<Range<usize>> {
    if !may_match(text) {
        return Vec::new();
    }
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SHAPE).ok());
    let Some(pattern) = PATTERN.as_ref() else { return Vec::new() };
    // `${secret:NAME}` is a name, which is no secret.
    let named = |found: &regex::Captures<'_>| {
        let at = found.get(0).map_or(0, |whole| whole.start());
        text.get(..at).is_some_and(|before| before.ends_with("${"))
    };
    let values = pattern.captures_iter(text).filter(|found| !named(found)).filter_map(|found| found.get(1));
    values
        .filter(|value| value.as_str().bytes().any(|b| b.is_ascii_digit()) && !value.as_str().starts_with("${"))
        .map(|value| value.range())
        .collect()
}
