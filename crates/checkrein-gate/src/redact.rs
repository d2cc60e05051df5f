//! Redaction, once, at the edge: what looks like a secret is replaced before model, journal, terminal or cassette see it.
//!
//! A detector is one file under `detectors/` and one line in the list below. A replaced secret leaves a marker that names
//! its kind, so that everybody sees that something was taken out.

use std::borrow::Cow;

use serde_json::Value;

use crate::detectors;

/// One kind of secret: its name, and where it is in a text.
pub(crate) struct Detector {
    pub(crate) name: &'static str,
    /// Byte ranges, in order, without overlap.
    pub(crate) find: fn(&str) -> Vec<std::ops::Range<usize>>,
}

/// Every detector, in the order they are applied.
const DETECTORS: &[Detector] =
    &[detectors::private_key::DETECTOR, detectors::token::DETECTOR, detectors::assignment::DETECTOR];

/// What every marker begins with.
const MARKER: &str = "[redacted:";
/// What the sandbox leaves in the place of a secret that it filled in.
const BY_VALUE: &str = "secret ";

/// The text without what looks like a secret.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for detector in DETECTORS {
        let found = (detector.find)(&out);
        if found.is_empty() {
            continue;
        }
        let mut cleaned = String::with_capacity(out.len());
        let mut from = 0;
        for range in found {
            cleaned.push_str(out.get(from..range.start).unwrap_or_default());
            cleaned.push_str(&format!("{MARKER}{}]", detector.name));
            from = range.end;
        }
        cleaned.push_str(out.get(from..).unwrap_or_default());
        out = Cow::Owned(cleaned);
    }
    out
}

/// Redacts every string in a value, object keys included.
pub fn redact_value(value: Value) -> Value {
    match value {
        Value::String(text) => match redact_text(&text) {
            Cow::Borrowed(_) => Value::String(text),
            Cow::Owned(cleaned) => Value::String(cleaned),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(redact_value).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| (redact_text(&key).into_owned(), redact_value(value))).collect(),
        ),
        plain => plain,
    }
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
    let kinds = || DETECTORS.iter().map(|detector| detector.name).chain([BY_VALUE]);
    text.split(MARKER).skip(1).any(|rest| kinds().any(|kind| rest.starts_with(kind)))
}

/// A text that comes in pieces: a piece is held back while it could still be the beginning of a secret.
///
/// Secrets of one line hold no blanks, so everything up to the last blank can go; a private key is held from its first
/// line to its last.
#[derive(Debug, Default)]
pub struct RedactingStream {
    held: String,
}

impl RedactingStream {
    /// Takes a piece and returns what may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let open_key =
            self.held.rfind("-----BEGIN ").filter(|at| !self.held.get(*at..).unwrap_or_default().contains("-----END "));
        let last_blank = self
            .held
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + self.held.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
        let upto = open_key.unwrap_or(last_blank).min(last_blank);
        let rest = self.held.split_off(upto);
        let ready = std::mem::replace(&mut self.held, rest);
        redact_text(&ready).into_owned()
    }

    /// The end: everything that was still held back.
    pub fn finish(&mut self) -> String {
        redact_text(&std::mem::take(&mut self.held)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Put together at run time, so that no scanner takes this file for a leak.
    fn planted() -> String {
        format!("ghp_{}", "a1B2".repeat(9))
    }

    /// Shows R18, R164.
    #[test]
    fn secrets_leave_a_marker_that_names_them() {
        let text = format!("token {} and password = \"hunter2hunter2\" end", planted());
        assert_eq!(redact_text(&text), "token [redacted:token] and password = \"[redacted:assignment]\" end");
        let key = format!("a\n-----BEGIN {0} KEY-----\nMIIB\n-----END {0} KEY-----\nb", "PRIVATE");
        assert_eq!(redact_text(&key), "a\n[redacted:private-key]\nb");
        let value = redact_value(serde_json::json!({ planted(): [planted(), 1] }));
        assert_eq!(value, serde_json::json!({"[redacted:token]": ["[redacted:token]", 1]}));
        assert!(holds_marker(&value) && !holds_marker(&serde_json::json!("[redacted:")));
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
    fn a_stream_never_shows_half_a_secret() {
        let text = format!("the token {} is here", planted());
        for cut in 0..text.len() {
            let mut stream = RedactingStream::default();
            let (a, b) = text.split_at(cut);
            let shown = format!("{}{}{}", stream.push(a), stream.push(b), stream.finish());
            assert_eq!(shown, "the token [redacted:token] is here", "cut at {cut}");
        }
    }
}
