//! Redaction, once, at the edge: what is a secret, or looks like one, is replaced before model, journal, terminal or
//! cassette see it.
//!
//! Shapes are rules, a line each in the tables under `detectors/`; the secrets of a task are known by their values. A replaced
//! secret leaves a marker that names its kind, so that everybody sees that something was taken out.

mod scan;
mod spill;
mod stream;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use spill::CleanSpill;
pub use stream::RedactingStream;

use crate::detectors::known::Known;
use crate::detectors::{files, rules};

/// What every marker begins with.
pub(crate) const MARKER: &str = "[redacted:";
/// Kinds that are no rule: those of values, of private keys, and what sessions of earlier versions hold.
const OTHER_KINDS: [&str; 4] = ["secret ", "private-key", files::KIND, "token"];

/// The version of the detectors. A session records it, so that `verify` does not hold its journal against rules that came later.
/// It is raised whenever a table changes; a test says so.
pub const DETECTORS: &str = "2";

/// Takes secrets out of texts: whatever has the shape of one, and the values that it is given.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: Option<Arc<Known>>,
}

impl Redactor {
    /// One that knows these secrets, by name; `None` where they are more, or longer, than can be looked for at once
    /// (gigabytes).
    pub fn knowing(secrets: &BTreeMap<String, String>) -> Option<Self> {
        Some(Self { known: Known::new(secrets).ok()?.map(Arc::new) })
    }

    /// What was read from files that are there to hold secrets, looked at more strictly.
    pub(crate) fn strict(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(files::strict(&text).into_owned()),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.strict(item)).collect()),
            Value::Object(map) => {
                Value::Object(map.into_iter().map(|(key, value)| (key, self.strict(value))).collect())
            }
            plain => plain,
        }
    }

    /// Whether it knows any secret by its value.
    pub fn knows_any(&self) -> bool {
        self.known.is_some()
    }

    fn known(&self) -> Option<&Known> {
        self.known.as_deref()
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let seen = scan::scan(text.as_bytes(), 0, true, self.known());
        if seen.found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.stream().whole(text, &seen))
    }

    /// Redacts every string in a value, object keys included. A key is the name that its value is given to.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.text(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(cleaned) => Value::String(cleaned),
            },
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(key, value)| {
                        let value = self.named(&key, self.value(value));
                        (self.text(&key).into_owned(), value)
                    })
                    .collect(),
            ),
            plain => plain,
        }
    }

    /// A value that stands behind a name.
    fn named(&self, key: &str, value: Value) -> Value {
        let Value::String(text) = value else { return value };
        if text.is_empty()
            || text.len() > LONGEST_NAMED
            || text.contains(char::is_whitespace)
            || key.len() > LONGEST_NAMED
        {
            return Value::String(text);
        }
        let line = format!("{key}: {text}");
        match self.text(&line) {
            Cow::Borrowed(_) => Value::String(text),
            Cow::Owned(cleaned) => {
                let name = format!("{}: ", self.text(key));
                // What was found in the name alone is for the key.
                Value::String(cleaned.strip_prefix(&name).map_or(text, str::to_owned))
            }
        }
    }

    /// For a text that comes in pieces.
    pub fn stream(&self) -> RedactingStream {
        RedactingStream::new(self)
    }
}

/// Longest value, and longest name, that are looked at together, bytes: what is given to a name is short.
const LONGEST_NAMED: usize = 400;

/// The text without what looks like a secret.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    Redactor::default().text(text)
}

/// Redacts every string in a value, object keys included.
pub fn redact_value(value: Value) -> Value {
    Redactor::default().value(value)
}

/// Whether a value holds a marker: something was taken out of it, so it is not what anybody meant.
pub(crate) fn holds_marker(value: &Value) -> bool {
    match value {
        Value::String(text) => text_holds_marker(text),
        Value::Array(items) => items.iter().any(holds_marker),
        Value::Object(map) => map.iter().any(|(key, value)| text_holds_marker(key) || holds_marker(value)),
        _ => false,
    }
}

fn text_holds_marker(text: &str) -> bool {
    let rules = || rules::all().rules.iter().map(|rule| &*rule.name);
    text.split(MARKER).skip(1).any(|rest| rules().chain(OTHER_KINDS).any(|kind| rest.starts_with(kind)))
}

/// Bytes as the text they are. Where they are none the places are marked.
fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read from a file that is there to hold secrets is looked at more strictly, wherever in the result it stands.
    #[test]
    fn a_result_is_looked_at_more_strictly_in_all_its_parts() {
        let read = serde_json::json!({ "text": "DB_PASS=abcd", "lines": ["DB_PASS=abcd", 7], "more": false });
        let kept = "DB_PASS=[redacted:file-secret]";
        let cleaned = serde_json::json!({ "text": kept, "lines": [kept, 7], "more": false });
        assert_eq!(Redactor::default().strict(read.clone()), cleaned);
        assert_eq!(Redactor::default().value(read.clone()), read, "an ordinary file may say so");
    }

    // Put together at run time, so that no scanner takes this file for a leak.
    fn planted() -> String {
        format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
    }

    /// Shows R18, R164.
    #[test]
    fn secrets_leave_a_marker_that_names_them() {
        let text = format!("token {} and password = \"hunter2hunter2\" end", planted());
        assert_eq!(redact_text(&text), "token [redacted:github-pat] and password = \"[redacted:assignment]\" end");
        let key = format!("a\n-----BEGIN {0} KEY-----\nMIIB\n-----END {0} KEY-----\nb", "PRIVATE");
        assert_eq!(redact_text(&key), "a\n[redacted:private-key]\nb");
        let value = redact_value(serde_json::json!({ planted(): [planted(), 1] }));
        assert_eq!(value, serde_json::json!({"[redacted:github-pat]": ["[redacted:github-pat]", 1]}));
        assert!(holds_marker(&value) && !holds_marker(&serde_json::json!("[redacted:")));
    }

    #[test]
    fn a_key_of_an_object_is_the_name_of_its_value() {
        let value = serde_json::json!({"db": {"password": "hunter2hunter2", "user": "hunter2hunter2", "tries": 3}});
        let cleaned =
            serde_json::json!({"db": {"password": "[redacted:assignment]", "user": "hunter2hunter2", "tries": 3}});
        assert_eq!(redact_value(value), cleaned);
        assert_eq!(redact_value(cleaned.clone()), cleaned);
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "let token = next();",
            "password: <your password>",
            "sha256 of the file",
            "sk-learn",
            "key = value",
            "x ${secret:SHOP_TOKEN_1} y",
            "-----BEGIN PRIVATE KEY----- is how one begins, and more is said of it here.",
        ] {
            assert_eq!(redact_text(text), text);
        }
    }

    #[test]
    fn redaction_is_a_fixed_point() {
        let once = redact_text(&format!("{} api_key=abcdefgh12345678", planted())).into_owned();
        assert_eq!(redact_text(&once), once);
    }

    #[test]
    fn a_changed_table_has_another_version() {
        let tables = [
            include_str!("detectors/gitleaks.txt"),
            include_str!("detectors/ours.txt"),
            include_str!("detectors/stopwords.txt"),
            include_str!("detectors/value.rs"),
        ];
        let digest = checkrein_contract::Digest::of(tables.concat().as_bytes()).to_string();
        assert_eq!((DETECTORS, &digest[..12]), ("2", "4571e6b92298"), "a new digest needs a new version");
    }
}
