//! Files that are there to hold secrets: what is read from them is looked at more strictly.
//!
//! The floor keeps some of them from being read at all; a test holds that all of those are known here too. The others are read
//! in ordinary work (`.npmrc`), so their values are taken out and the rest is left.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::entropy::entropy;
use super::value::{is_digest, is_placeholder};

/// Names of files, in lower case.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".flaskenv",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    ".yarnrc.yml",
    "auth.json",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "environ",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "kubeconfig",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "shadow",
    "terraform.tfvars",
];
/// Beginnings and ends of names.
const BEGINNINGS: &[&str] = &[".env."];
const ENDS: &[&str] = &[".jks", ".kdbx", ".key", ".keystore", ".ovpn", ".p12", ".pem", ".pfx", ".ppk", ".tfvars"];
/// Folders of which every file is one.
const FOLDERS: &[&str] = &[".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh"];
/// Names that look like one and hold what everybody may see.
const HARMLESS: &[&str] = &[".env.example", ".env.sample", ".env.template", "known_hosts"];

/// Whether a path is that of such a file.
pub(crate) fn holds_secrets(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let file = NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end));
    !HARMLESS.contains(&name) && !name.ends_with(".pub") && (file || parts.any(|folder| FOLDERS.contains(&folder)))
}

/// What is left in the place of a value.
pub(crate) const KIND: &str = "file-secret";

/// A name that says what is given to it, and the value: with an operator or, as in `.netrc`, without.
const NAMED: &str = r#"(?i)[\w.-]*(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|auth|cred(?:ential)?s?|dsn)[\w.-]*["']?(?:\s*[:=]\s*|[ \t]+)["']?([^\s"'\[\]{},;]{4,})"#;
/// Any other value: what stands between blanks, quotes and operators.
const WORD: &str = r#"[^\s"'=:,;<>\[\](){}]{8,}"#;

/// Takes every value out of a text of such a file that is no ordinary word, number or place.
pub(crate) fn strict(text: &str) -> Cow<'_, str> {
    static SHAPES: LazyLock<Option<(Regex, Regex)>> =
        LazyLock::new(|| Some((Regex::new(NAMED).ok()?, Regex::new(WORD).ok()?)));
    let Some((named, word)) = SHAPES.as_ref() else { return Cow::Owned(format!("[redacted:{KIND}]")) };
    let by_name = named.captures_iter(text).filter_map(|found| found.get(1)).filter(|value| is_value(value.as_str()));
    let mut ranges: Vec<_> = by_name.map(|value| value.range()).collect();
    ranges.extend(word.find_iter(text).filter(|word| is_random(word.as_str())).map(|word| word.range()));
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        if range.start >= done {
            out.push_str(text.get(done..range.start).unwrap_or_default());
            out.push_str(&format!("[redacted:{KIND}]"));
        }
        done = done.max(range.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

fn is_value(value: &str) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit()) || value.contains("redacted:");
    !plain && !value.starts_with("${") && !is_placeholder(value.as_bytes())
}

/// Letters and digits without an order, of some length.
fn is_random(word: &str) -> bool {
    let bytes = word.as_bytes();
    let mixed = bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic);
    let place = word.starts_with('/') || word.contains("//") || word.contains("redacted");
    mixed && !place && entropy(bytes) > 3.0 && !is_placeholder(bytes) && !is_digest(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_hold_secrets() {
        for path in ["/w/.env", "/w/.env.local", "/h/.ssh/config", "/h/.netrc", "/w/keys/a.PEM", "/h/.aws/credentials"]
        {
            assert!(holds_secrets(path), "{path}");
        }
        for path in ["/w/.env.example", "/w/env.rs", "/h/.ssh/id_rsa.pub", "/w/src/key.rs", "/w/Cargo.lock"] {
            assert!(!holds_secrets(path), "{path}");
        }
    }

    /// Whatever the floor keeps from being read is such a file, so that one list can not fall behind the other.
    #[test]
    fn the_floors_own_list_is_known() {
        let floor = include_str!("../../../checkrein-policy/src/floor.toml");
        let rule = floor.split("[[rule]]").find(|rule| rule.contains("\"floor-secret-read\"")).unwrap();
        let paths = rule.split("paths = [").nth(1).unwrap().split(']').next().unwrap();
        let paths: Vec<String> =
            paths.split('"').skip(1).step_by(2).map(|path| path.replace("**", "x").replace('*', "x")).collect();
        assert!(paths.len() >= 9, "{paths:?}");
        for path in paths {
            assert!(holds_secrets(&path), "{path}");
        }
    }

    #[test]
    fn values_are_taken_out_and_the_rest_is_left() {
        let text = "# 2026\nmachine api.example.org login me password s3cret\nDB_PASS=abcd\nHOST=db.example.org\nPORT=5432\n\
            X=q7Wm2Zx9Lk4V\nregistry=https://registry.example.org/npm1\nTOKEN=${FROM_CI}\n";
        let cleaned = strict(text);
        let kept = text.replace("s3cret", "[redacted:file-secret]").replace("abcd", "[redacted:file-secret]");
        assert_eq!(cleaned, kept.replace("q7Wm2Zx9Lk4V", "[redacted:file-secret]"));
        assert_eq!(strict(&cleaned), cleaned);
    }
}
