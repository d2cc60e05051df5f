//! Redaction from outside: streams that are cut anywhere, forms of known values, and what must be left alone.

use std::collections::BTreeMap;

use checkrein_gate::{Redactor, redact_text};
use proptest::prelude::*;

/// Put together at run time, so that no scanner takes this file for a leak.
fn planted() -> Vec<String> {
    let pem = |kind: &str, body: &str| format!("-----BEGIN {kind} KEY-----\n{body}\n-----END {kind} KEY-----");
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    vec![
        format!("ghp_{}", "a1B2c3D4e5F6".repeat(3)),
        format!("AKIA{}", "Z2Y3X4W5V6U7T2S3"),
        format!(
            "eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}",
            "zdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
        ),
        format!("sk-ant-{}-{}", "api03", "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe".repeat(2)),
        format!("glpat-{}", "x9Kq2Zr7Lw4Xt8Vb3Nm5"),
        pem("RSA PRIVATE", &line.repeat(12)),
        pem("PRIVATE", "MIIB"),
        format!("xoxb-{}-{}-{}", "123456789012", "1234567890123", "AbCdEfGhIjKlMnOpQrStUvWx"),
    ]
}

/// Values that are secrets by the name in front of them.
fn named() -> Vec<(&'static str, &'static str)> {
    vec![
        ("password = \"", "hunter2hunter2"),
        ("export AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI7K7MDENGbPxRfiCYzzzzKEY1234"),
        ("\\\"api_key\\\": \\\"", "a8Kq2Zr9Lw4Xt7Vb"),
        ("Authorization: Bearer ", "s3cr3t.t0ken-4711"),
        ("postgres://app:", "p4ss-w0rd!x"),
        ("token: ", "q7Wm2Zx9Lk4Vt8Rb3Nc6"),
    ]
}

fn secrets() -> BTreeMap<String, String> {
    [("SHOP", "plain words/that+open \"doors\""), ("PIN", "zebra-77"), ("LONG", "zebra-77-and-more-of-it")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn redactor() -> Redactor {
    Redactor::knowing(&secrets()).unwrap()
}

/// A text with everything in it, in between what looks a little like it.
fn sample() -> String {
    let mut text = String::from("Grüße: the key of the api is a token, see access_log; password: <none>\n");
    for secret in planted() {
        text.push_str(&format!("found {secret} in key = value, x=[{secret}]\n"));
    }
    for (name, value) in named() {
        let behind = if name.contains("://") { "@host" } else { "" };
        text.push_str(&format!("{name}{value}{behind}\" é {name}{value}{behind}\n"));
    }
    for value in secrets().values() {
        text.push_str(&format!("it is {value}, ({value}){value}\n"));
    }
    text
}

fn streamed(redactor: &Redactor, pieces: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
    let mut stream = redactor.stream();
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for piece in pieces {
        all.extend(stream.push_bytes(piece));
        ends.push(all.len());
    }
    all.extend(stream.finish_bytes());
    (all, ends)
}

/// Shows R164: every cut into two, at every byte.
#[test]
fn a_cut_anywhere_changes_nothing() {
    let (redactor, text) = (redactor(), sample());
    let whole = redactor.text(&text).into_owned();
    for secret in
        planted().iter().flat_map(|secret| secret.lines()).filter(|line| line.len() > 4 && !line.starts_with('-'))
    {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
    for value in secrets().values().map(String::as_str).chain(named().into_iter().map(|(_, value)| value)) {
        assert!(!whole.contains(value), "{value} in {whole}");
    }
    let bytes = text.as_bytes();
    for cut in 0..=bytes.len() {
        let (all, ends) = streamed(&redactor, &[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(String::from_utf8_lossy(&all), whole, "cut at {cut}");
        assert!(ends.iter().all(|end| whole.as_bytes().starts_with(&all[..*end])), "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(streamed(&redactor, &single).0, whole.as_bytes());
}

/// Pieces that look like a beginning, a middle or an end of something, in any order.
fn fragment() -> impl Strategy<Value = String> {
    let mut parts: Vec<String> = planted();
    parts.extend(named().into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_owned()]));
    parts.extend(secrets().into_values());
    parts.extend(planted().iter().map(|secret| secret.chars().take(secret.len() / 2).collect::<String>()));
    parts.extend(
        ["key", "=", ": ", "\n", " ", "é", "ghp_", "eyJ", "-----BEGIN ", "-----END ", "zebra", "AKIA", "\"", ",", "q~"]
            .map(str::to_owned),
    );
    prop_oneof![proptest::sample::select(parts), "[ -~\n]{0,12}", "[A-Za-z0-9+/]{0,70}"]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever comes, in whatever pieces: the same as at once, and what is shown early is never taken back.
    #[test]
    fn cuts_change_nothing(parts in prop::collection::vec(fragment(), 0..14), cuts in prop::collection::vec(0_usize..2_000, 0..8)) {
        let (redactor, text) = (redactor(), parts.concat());
        let whole = redactor.text(&text).into_owned();
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let (all, _) = streamed(&redactor, &pieces);
        prop_assert_eq!(String::from_utf8_lossy(&all), whole.as_str());
        prop_assert_eq!(redactor.text(&whole), whole.as_str(), "redacting twice");
    }

    /// A value in a text that it is no part of, in every form, at every place of a group of three.
    #[test]
    fn a_known_value_is_found_in_every_form(value in "[ -~]{12,40}", before in "[a-z ]{0,6}", behind in "[a-z ]{0,6}") {
        prop_assume!(value.trim() == value);
        let redactor = Redactor::knowing(&[("V".to_owned(), value.clone())].into()).unwrap();
        let json = serde_json::Value::from(format!("{before}{value}{behind}")).to_string();
        let hex: String = format!("{before}{value}{behind}").bytes().map(|byte| format!("{byte:02x}")).collect();
        let url: String = value.bytes().map(|byte| if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect();
        let base64 = base64(format!("{before}{value}{behind}").as_bytes());
        for (form, text) in [("plain", format!("{before}{value}{behind}")), ("json", json), ("hex", hex), ("url", url), ("url-safe", base64.replace('+', "-").replace('/', "_")), ("base64", base64)] {
            let cleaned = redactor.text(&text).into_owned();
            prop_assert!(cleaned.contains("[redacted:secret V]"), "{}: {} {}", form, text, cleaned);
        }
    }
}

/// Written apart from the one in the crate.
fn base64(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let chunks = bits.as_bytes().chunks(6).map(|six| format!("{:0<6}", String::from_utf8_lossy(six)));
    chunks.map(|six| letters[usize::from_str_radix(&six, 2).unwrap()]).collect()
}

/// Digests, identifiers and versions are the material of builds; a harness that eats them is of no use.
#[test]
fn what_builds_and_histories_hold_is_left_alone() {
    let sha = "9fceb02d0ae598e95dc970b74767f19372d61af8";
    for text in [
        format!("commit {sha}\nAuthor: A <a@example.org>\n"),
        format!("index {}..{} 100644", &sha[..7], &sha[8..15]),
        format!("cache-key: linux-{sha}"),
        format!("key = {sha}\naccess: {sha}"),
        "checksum = \"00f2432f284bd2af7d84c2bd1a8bd8f2e2b0f6f7a3de4f2f0d8a0d1c4e3b5a69\"".to_owned(),
        "\"integrity\": \"sha512-Kx1zmEeB0Xk6AI1aZ8vOXl0l2q8bUWsqZ3k7l0n1hJ4gYk0+Jd/uEO5rNJmWc1yYqk2p6Hd1sYl7n5Lh9QpXbA==\"".to_owned(),
        "key: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".to_owned(),
        "id: 6f0c1a4e-7d2b-4c59-9a3f-1b2c3d4e5f60, key: 6f0c1a4e-7d2b-4c59-9a3f-1b2c3d4e5f60".to_owned(),
        "h1:EtIGeXnhT7Zr4gq4uNGxKCQ7oQe4mAdQ5dPzhF5dSNA= github.com/auth0/go-jwt v1.2.3".to_owned(),
        "   Compiling secrecy v0.10.3\n   Compiling keyring v3.6.2\n    Finished `dev` profile in 12.31s".to_owned(),
        "2026-11-30T20:26:24.123Z INFO auth: access granted in 0.123ms (api v2.3.1)".to_owned(),
        "test tokens::a_token_ends ... ok".to_owned(),
        "let token = self.tokens.next_token2(state);".to_owned(),
        "const SECRET_LEN: usize = 32usize; let password = read_password2(&tty)?;".to_owned(),
        "passwd: password updated successfully; secret/data/app1: permission denied".to_owned(),
    ] {
        assert_eq!(redact_text(&text), text);
    }
}

/// The sources and lock files of this very repository, but for the lines in which tests plant something.
#[test]
fn this_repository_is_left_alone() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert_eq!(redact_text(&lock), lock);
    let mut folders = vec![root.join("crates"), root.join("docs"), root.join("xtask"), root.join("examples")];
    let (mut files, mut found) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let skipped = ["tests", "target", "detectors"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !skipped {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files += 1;
                let cleaned = redact_text(&text).into_owned();
                let lines = text.lines().zip(cleaned.lines()).filter(|(a, b)| a != b);
                found.extend(lines.map(|(line, _)| format!("{}: {line}", path.display())));
            }
        }
    }
    assert!(files > 300, "{files}");
    // Unit tests plant some.
    let planted = ["hunter2hunter2", "abcdefgh12345678", "user:word@"];
    found.retain(|line| !planted.iter().any(|word| line.contains(word)));
    assert!(found.is_empty(), "{found:#?}");
}
