//! What must not be in any tracked file: secret-shaped tokens, hosts of private package registries, and paths that exist
//! on one machine only.
//!
//! The patterns are written so that this file does not match them.

use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use super::{House, Report, Violation};
use crate::workspace::Workspace;

/// One thing to look for. Group 1, where there is one, is what names the finding.
struct Shape {
    pattern: &'static str,
    what: &'static str,
    mend: &'static str,
}

const SECRET: &str = "put it together at run time in a test, and take it out of history if it was real";

const SHAPES: &[Shape] = &[
    Shape { pattern: r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", what: "an access key id", mend: SECRET },
    Shape { pattern: r"\bgh[pousr]_[A-Za-z0-9]{30,}", what: "a token of a code host", mend: SECRET },
    Shape { pattern: r"\bgithub_pat_[A-Za-z0-9_]{22,}", what: "a token of a code host", mend: SECRET },
    Shape { pattern: r"\bglpat-[A-Za-z0-9_-]{20,}", what: "a token of a code host", mend: SECRET },
    Shape { pattern: r"\bsk-[A-Za-z0-9_-]{24,}", what: "a key of a model provider", mend: SECRET },
    Shape { pattern: r"\bAIza[A-Za-z0-9_-]{35}", what: "a key of a cloud", mend: SECRET },
    Shape { pattern: r"\bxox[abprs]-[A-Za-z0-9-]{10,}", what: "a chat token", mend: SECRET },
    Shape { pattern: r"\bnpm_[A-Za-z0-9]{36}", what: "a token of a package registry", mend: SECRET },
    Shape { pattern: r"\bpypi-[A-Za-z0-9_-]{40,}", what: "a token of a package registry", mend: SECRET },
    Shape { pattern: r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.", what: "a signed web token", mend: SECRET },
    Shape {
        pattern: r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/]{30}",
        what: "a private key",
        mend: SECRET,
    },
    Shape {
        pattern: r"\b(?:sparse|registry)\+https?://[^\s]+",
        what: "the address of a package registry",
        mend: "name crates only; where they come from is the machine's business",
    },
    Shape {
        pattern: r"(?i)https?://((?:[a-z0-9-]+\.)*(?:[a-z0-9-]*(?:artifactory|nexus|registry|mirror|pypi|devpi)[a-z0-9-]*|index)\.[a-z0-9.-]+)",
        what: "the host of a package registry",
        mend: "take it out; examples use hosts under `.example`",
    },
    Shape {
        pattern: r#"(?m)(?:^|[\s"'`=(\[{:,;<>|])/(?:root|work)/[A-Za-z0-9._]"#,
        what: "a path that exists on one machine only",
        mend: "make it relative, or use /home/user",
    },
    Shape {
        pattern: r#"(?m)(?:^|[\s"'`=(\[{:,;<>|])/home/([A-Za-z0-9_][A-Za-z0-9._-]*)"#,
        what: "the home folder of somebody",
        mend: "use /home/user, /home/dev or /home/ops",
    },
];

/// Names that stand for anybody, and hosts that nobody can own.
const ANYBODY: &[&str] = &["dev", "user", "ops"];
const RESERVED: &[&str] = &[".example", ".test", ".invalid", ".localhost", "example.com", "example.org", "example.net"];

/// Findings that are meant: the file, what stands there, and why. An entry is argued in its commit.
const MEANT: &[(&str, &str, &str)] = &[(
    "crates/checkrein-journal/src/transcript.rs",
    concat!("/home", "/devel"),
    "a test needs a home whose name begins like another one",
)];

/// Written by cargo, which names the public registry in it.
const SKIPPED: &[&str] = &["Cargo.lock"];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().map(|shape| Regex::new(shape.pattern).expect("a valid pattern")).collect());

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let files = tracked(house.workspace)?;
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| !SKIPPED.iter().any(|name| file.rsplit('/').next() == Some(name))) {
        // What is not UTF-8 is no text of ours; what is gone is listed until it is committed as gone.
        let Ok(text) = std::fs::read_to_string(house.workspace.root.join(file)) else { continue };
        violations.extend(judge(file, &text, MEANT));
    }
    Ok(Report::new(violations, format!("{} files", files.len())))
}

/// Files that git tracks or would track.
fn tracked(workspace: &Workspace) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&workspace.root)
        .output()
        .map_err(|e| format!("git can not be started: {e}; install it"))?;
    if !output.status.success() {
        return Err(format!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(list.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

fn judge(file: &str, text: &str, meant: &[(&str, &str, &str)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (shape, pattern) in SHAPES.iter().zip(PATTERNS.iter()) {
        for hit in pattern.captures_iter(text) {
            let Some(whole) = hit.get(0) else { continue };
            let name = hit.get(1).map(|name| name.as_str().trim_end_matches('.'));
            let harmless = name.is_some_and(|name| {
                ANYBODY.contains(&name) || RESERVED.iter().any(|host| name.to_lowercase().ends_with(host))
            });
            let here = whole.as_str().trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/');
            if harmless || meant.iter().any(|(path, what, _)| *path == file && here.starts_with(what)) {
                continue;
            }
            let line = 1 + text[..whole.end()].trim_end().matches('\n').count();
            let seen: String = here.chars().take(12).collect();
            found.push(Violation::new(file, line, format!("{} (`{}...`)", shape.what, seen.trim_end()), shape.mend));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together at run time, so that this file does not match itself.
    fn bad() -> Vec<String> {
        vec![
            format!("key = AKIA{}", "A1B2".repeat(4)),
            format!("ghp_{}", "a1B2".repeat(9)),
            format!("\"sk-{}\"", "abcd".repeat(8)),
            format!("-----BEGIN {} KEY-----\n{}", "PRIVATE", "MIIB".repeat(10)),
            format!("index = \"sparse+{}://x.example/\"", "https"),
            format!("{}://crates-registry.corp.io/x", "https"),
            format!("cd /{}/main", "work"),
            format!("see `/{}/.cargo`", "root"),
            format!("/home/{}/x", "alice"),
        ]
    }

    #[test]
    fn what_must_not_be_tracked_is_found_with_its_line() {
        for text in bad() {
            let found = judge("a.md", &format!("one\n{text}\n"), &[]);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!((2..=3).contains(&found[0].line), "{text}: {found:?}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "/home/user/project /home/dev /home/ops/x /home/$USER",
            "the sk-learn package, ghp_ and AKIA",
            "~/work/x, a/root/b, /workspace, \"/root\"",
            "https://docs.rs/registry, https://registry.corp.example/x, the registry",
            "https://github.com/a/b",
        ] {
            assert_eq!(judge("a.md", text, &[]), [], "{text}");
        }
    }

    #[test]
    fn a_finding_that_is_meant_is_listed() {
        let text = format!("/home/{}/x", "alice");
        assert!(judge("a.md", &text, &[("a.md", &format!("/home/{}", "alice"), "the tutorial's person")]).is_empty());
        assert_eq!(judge("b.md", &text, &[("a.md", "/home", "elsewhere")]).len(), 1);
    }
}
