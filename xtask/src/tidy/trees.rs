//! What crates pull in from outside, all the way down: purity and size, by `cargo tree` and by manifests.
//!
//! The dependency graph is judged, not the text of the code: what is not in the tree can not be called.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Metadata};

use super::{House, Report, Violation};
use crate::cargo;
use crate::rust::Source;

/// What one crate of ours may have in its tree. Features are off, so that this is the least a user can get.
struct Tree {
    package: &'static str,
    /// Fewer crates than this, its own included.
    below: usize,
    /// No async runtime either.
    plain: bool,
    /// The only crates of ours.
    ours: &'static [&'static str],
}

/// A change of these numbers is argued in its commit.
const TREES: &[Tree] = &[
    Tree { package: "checkrein-contract", below: 35, plain: true, ours: &["checkrein-contract"] },
    Tree {
        package: "checkrein-policy",
        below: 50,
        plain: true,
        ours: &["checkrein-policy", "checkrein-contract", "checkrein-shell", "checkrein-toml"],
    },
    Tree {
        package: "checkrein-gate",
        below: 60,
        plain: false,
        ours: &["checkrein-gate", "checkrein-policy", "checkrein-contract", "checkrein-shell", "checkrein-toml"],
    },
    Tree {
        package: "checkrein-session",
        below: 60,
        plain: false,
        ours: &[
            "checkrein-session",
            "checkrein-gate",
            "checkrein-policy",
            "checkrein-contract",
            "checkrein-shell",
            "checkrein-toml",
        ],
    },
];

/// Async runtimes and executors.
const RUNTIMES: &[&str] =
    &["tokio", "async-std", "smol", "futures-executor", "async-executor", "async-global-executor", "glommio", "monoio"];

/// Ways to the network, to databases and to models.
const OUTWARD: &[&str] = &[
    "hyper",
    "hyper-util",
    "reqwest",
    "ureq",
    "h2",
    "h3",
    "isahc",
    "surf",
    "curl",
    "attohttpc",
    "minreq",
    "awc",
    "tonic",
    "quinn",
    "rustls",
    "native-tls",
    "openssl",
    "openssl-sys",
    "boring",
    "tungstenite",
    "tokio-tungstenite",
    "rusqlite",
    "libsqlite3-sys",
    "sqlx",
    "sqlx-core",
    "postgres",
    "tokio-postgres",
    "diesel",
    "redis",
    "mongodb",
    "async-openai",
    "openai-api-rs",
    "genai",
    "rig-core",
    "anthropic",
    "anthropic-sdk",
    "ollama-rs",
    "llm",
    "langchain-rust",
    "rmcp",
    "agent-client-protocol",
];

/// Crates that speak HTTP to others, or to models. Only one crate of ours may name one, besides [`PAGES`].
const CLIENTS: &[&str] = &[
    "hyper",
    "hyper-util",
    "reqwest",
    "ureq",
    "h2",
    "isahc",
    "surf",
    "curl",
    "attohttpc",
    "minreq",
    "awc",
    "async-openai",
    "openai-api-rs",
    "genai",
    "rig-core",
    "anthropic",
    "anthropic-sdk",
    "ollama-rs",
    "llm",
    "langchain-rust",
];
const SPEAKS_TO_MODELS: &str = "checkrein-providers";

/// Pages of the web, for models to read: who may name which client, and the one file that may use it. Each request goes
/// to what a call was granted, so nothing can be asked of a model there that no rule has seen.
const PAGES: (&str, &str, &str) = ("checkrein-tools", "reqwest", "crates/checkrein-tools/src/web.rs");

const TABLE: &str = "the tables in xtask/src/tidy/trees.rs";

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let present = house.workspace.crates()?;
    let mut violations = Vec::new();
    let mut sizes = Vec::new();
    for tree in TREES.iter().filter(|tree| present.iter().any(|name| name == tree.package)) {
        let text = cargo::capture(
            house.workspace,
            &["tree", "--locked", "-e", "normal", "--no-default-features", "--prefix", "none", "-p", tree.package],
        )?;
        let (found, size) = judge(tree, &text);
        violations.extend(found);
        sizes.push(format!("{} {size} of {}", tree.package, tree.below - 1));
    }
    violations.extend(clients(&direct(&cargo::metadata(house.workspace)?)));
    violations.extend(house.sources.iter().filter_map(strays));
    Ok(Report::new(violations, format!("crates in the trees: {}", sizes.join(", "))))
}

/// The violations in the text of a tree (`cargo tree --prefix none`), and how many crates it holds.
fn judge(tree: &Tree, text: &str) -> (Vec<Violation>, usize) {
    let mut crates = BTreeSet::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            crates.insert((name, version));
        }
    }
    let file = format!("crates/{}/Cargo.toml", tree.package);
    let mut found = Vec::new();
    for (name, version) in &crates {
        let banned = OUTWARD.contains(name) || (tree.plain && RUNTIMES.contains(name));
        let foreign = name.starts_with("checkrein") && !tree.ours.contains(name);
        if banned || foreign {
            let what = format!("`{name}` {version} is in the dependency tree of `{}`", tree.package);
            let mend = format!("`cargo tree -e normal -p {} -i {name}` says through whom; take it out", tree.package);
            found.push(Violation::new(&file, 1, what, mend));
        }
    }
    if crates.len() >= tree.below {
        let what =
            format!("`{}` pulls in {} crates, fewer than {} is the rule", tree.package, crates.len(), tree.below);
        found.push(Violation::new(&file, 1, what, format!("drop a dependency, or argue a change of {TABLE}")));
    }
    (found, crates.len())
}

/// Dependencies that ship, as (crate of ours, dependency).
fn direct(metadata: &Metadata) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for package in &metadata.packages {
        let shipped = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        found.extend(shipped.map(|dependency| (package.name.to_string(), dependency.name.clone())));
    }
    found
}

fn clients(direct: &[(String, String)]) -> Vec<Violation> {
    let may = |from: &str, to: &str| from == SPEAKS_TO_MODELS || (from, to) == (PAGES.0, PAGES.1);
    let wrong = direct.iter().filter(|(from, to)| CLIENTS.contains(&to.as_str()) && !may(from, to));
    wrong
        .map(|(from, to)| {
            let what = format!("`{from}` depends on the HTTP client `{to}`");
            let mend = format!("only {SPEAKS_TO_MODELS} speaks to models; use its port");
            Violation::new(&format!("crates/{from}/Cargo.toml"), 1, what, mend)
        })
        .collect()
}

/// The client of pages in another file than theirs.
fn strays(source: &Source) -> Option<Violation> {
    let (package, client, file) = PAGES;
    let elsewhere = source.path.starts_with(&format!("crates/{package}/src/")) && source.path != file;
    let line = source.code.lines().position(|line| line.contains(client)).filter(|_| elsewhere)?;
    let mend = format!("only {file} speaks to servers; use what it offers");
    Some(Violation::new(&source.path, line + 1, format!("it uses the HTTP client `{client}`"), mend))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> &'static Tree {
        &TREES[1]
    }

    const CLEAN: &str =
        "checkrein-policy v0.1.0 (/x)\ncheckrein-contract v0.1.0 (/y)\nserde v1.0.0\nserde v1.0.0 (*)\n";

    #[test]
    fn a_clean_tree_is_fine_and_counted_once() {
        let (found, size) = judge(policy(), CLEAN);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(size, 3);
    }

    /// Shows R5, R6: the check that keeps model clients out of the policy can fail.
    #[test]
    fn a_network_crate_a_runtime_or_an_upper_crate_is_a_violation() {
        for bad in
            ["hyper v1.0.0", "tokio v1.0.0", "genai v0.1.0", "checkrein-gate v0.1.0 (/z)", "libsqlite3-sys v0.1.0"]
        {
            let (found, _) = judge(policy(), &format!("{CLEAN}{bad}\n"));
            assert_eq!(found.len(), 1, "{bad}");
            let name = bad.split(' ').next().unwrap();
            assert!(found[0].what.starts_with(&format!("`{name}` ")), "{}", found[0]);
        }
    }

    #[test]
    fn the_gate_may_have_a_runtime_but_no_client() {
        let text = "checkrein-gate v0.1.0\ntokio v1.0.0\n";
        assert!(judge(&TREES[2], text).0.is_empty());
        assert_eq!(judge(&TREES[2], &format!("{text}reqwest v0.1.0\n")).0.len(), 1);
    }

    #[test]
    fn a_tree_that_grew_is_a_violation() {
        let many: String = (0..50).map(|n| format!("a{n} v1.0.0\n")).collect();
        let (found, size) = judge(policy(), &many);
        assert_eq!((found.len(), size), (1, 50));
        assert!(found[0].what.contains("50 crates"));
    }

    #[test]
    fn only_the_providers_crate_may_name_a_client() {
        let pair = |from: &str| (from.to_owned(), "reqwest".to_owned());
        assert!(clients(&[pair("checkrein-providers"), pair("checkrein-tools")]).is_empty());
        assert_eq!(clients(&[pair("checkrein-gate"), pair("checkrein")]).len(), 2);
        assert_eq!(clients(&[("checkrein-tools".to_owned(), "hyper".to_owned())]).len(), 1);
    }

    #[test]
    fn pages_are_fetched_in_one_file() {
        let source = |path: &str| Source::new(path, "//! A.\n\nuse reqwest::Client;\n".to_owned());
        assert!(strays(&source("crates/checkrein-tools/src/web.rs")).is_none());
        assert!(strays(&source("crates/checkrein-providers/src/a.rs")).is_none());
        assert_eq!(strays(&source("crates/checkrein-tools/src/builtin/bash.rs")).unwrap().line, 3);
    }
}
