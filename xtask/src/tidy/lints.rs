//! Strict lints: which crates deny what could panic, and that every crate takes the workspace's lints.

use super::{House, Report, Violation};
use crate::rust::Source;

/// Crates whose code must not be able to panic.
const STRICT: &[&str] = &["checkrein-contract", "checkrein-policy", "checkrein-gate", "checkrein-session"];

/// What they deny.
const DENIED: &[&str] = &["clippy::unwrap_used", "clippy::expect_used", "clippy::panic", "clippy::indexing_slicing"];

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let mut violations = Vec::new();
    let mut manifests: Vec<String> =
        house.workspace.crates()?.into_iter().map(|name| format!("crates/{name}/Cargo.toml")).collect();
    manifests.push("xtask/Cargo.toml".to_owned());
    for file in &manifests {
        violations.extend(manifest(file, &house.workspace.read(file)?));
    }
    let strict = |source: &&Source| STRICT.iter().any(|name| source.path == format!("crates/{name}/src/lib.rs"));
    violations.extend(house.sources.iter().filter(strict).filter_map(denies));
    Ok(Report::new(violations, format!("{} manifests", manifests.len())))
}

fn manifest(file: &str, text: &str) -> Option<Violation> {
    let inherits = text.parse::<toml::Table>().is_ok_and(|table| {
        let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    });
    let what = "the crate does not take the workspace's lints";
    if inherits { None } else { Some(Violation::new(file, 1, what, "add `[lints]` with `workspace = true`")) }
}

fn denies(source: &Source) -> Option<Violation> {
    let code: String = source.code.split_whitespace().collect();
    let missing: Vec<&str> = code
        .match_indices("deny(")
        .map(|(at, open)| code[at + open.len()..].split(')').next().unwrap_or_default())
        .map(|list| DENIED.iter().filter(|lint| !list.split(',').any(|word| word == **lint)).copied().collect())
        .min_by_key(Vec::len)
        .unwrap_or_else(|| DENIED.to_vec());
    if missing.is_empty() {
        return None;
    }
    let what = format!("what could panic is not denied: {}", missing.join(", "));
    let mend = format!("add `#![cfg_attr(not(test), deny({}))]`", DENIED.join(", "));
    Some(Violation::new(&source.path, 1, what, mend))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(attribute: &str) -> Source {
        Source::new("crates/checkrein-gate/src/lib.rs", format!("//! Gate.\n\n{attribute}\n"))
    }

    #[test]
    fn a_manifest_takes_the_lints_or_is_a_violation() {
        assert_eq!(manifest("a", "[package]\nname = \"a\"\n[lints]\nworkspace = true\n"), None);
        for bad in ["", "[lints]\nworkspace = false\n", "[lints.clippy]\nall = \"warn\"\n", "[lints"] {
            assert!(manifest("a", bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn strict_crates_deny_all_four() {
        let all = DENIED.join(",\n    ");
        assert_eq!(denies(&library(&format!("#![cfg_attr(not(test), deny({all}))]"))), None);
        assert_eq!(denies(&library(&format!("#![deny({all})]"))), None);
        let found = denies(&library("#![deny(clippy::unwrap_used, clippy::panic)]")).unwrap();
        assert!(found.what.ends_with("clippy::expect_used, clippy::indexing_slicing"), "{}", found.what);
        assert!(denies(&library("// deny(everything)")).is_some());
    }
}
