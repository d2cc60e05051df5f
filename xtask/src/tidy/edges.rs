//! Which crate of ours may import which. It reads manifests, not code.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Metadata};

use super::{House, Report, Violation};
use crate::cargo;

/// Crates and what each may import, lowest first. A new edge is a decision about the house, not a detail: a change of
/// this table is its own commit, and the commit's text argues it.
const EDGES: &[(&str, &[&str])] = &[
    ("checkrein-contract", &[]),
    ("checkrein-toml", &[]),
    ("checkrein-shell", &[]),
    ("checkrein-policy", &["checkrein-contract", "checkrein-shell", "checkrein-toml"]),
    ("checkrein-gate", &["checkrein-contract", "checkrein-policy"]),
    ("checkrein-session", &["checkrein-contract", "checkrein-gate"]),
    ("checkrein-tools", &["checkrein-contract", "checkrein-policy", "checkrein-gate"]),
    ("checkrein-facts", &["checkrein-contract", "checkrein-policy", "checkrein-gate"]),
    ("checkrein-sandbox", &["checkrein-contract", "checkrein-gate"]),
    ("checkrein-journal", &["checkrein-contract", "checkrein-gate"]),
    ("checkrein-providers", &["checkrein-contract", "checkrein-toml"]),
    ("checkrein-context", &["checkrein-contract", "checkrein-toml"]),
    ("checkrein-mcp", &["checkrein-contract", "checkrein-gate"]),
    (
        "checkrein",
        &[
            "checkrein-contract",
            "checkrein-toml",
            "checkrein-policy",
            "checkrein-gate",
            "checkrein-session",
            "checkrein-tools",
            "checkrein-facts",
            "checkrein-sandbox",
            "checkrein-journal",
            "checkrein-providers",
            "checkrein-context",
            "checkrein-mcp",
        ],
    ),
    ("checkrein-cli", &["checkrein", "checkrein-contract"]),
    ("checkrein-acp", &["checkrein", "checkrein-contract"]),
    ("checkrein-web", &["checkrein", "checkrein-contract"]),
    ("checkrein-evals", &["checkrein", "checkrein-contract"]),
    // Whole sessions in users' tests need the facade. The crates below it use the testkit without that part (a feature that is
    // off for them), so that their tests build no more than the gate.
    (TESTKIT, &["checkrein-contract", "checkrein-policy", "checkrein-gate", "checkrein-session", "checkrein"]),
    ("xtask", &[]),
];

/// Neighbours that tests may use, because a mock would prove nothing: the tools' tests start real programs.
const TEST_EDGES: &[(&str, &[&str])] = &[("checkrein-tools", &["checkrein-facts", "checkrein-sandbox"])];

/// Every crate may use this one in its tests.
const TESTKIT: &str = "checkrein-testkit";

/// What the testkit needs for whole sessions only: a feature of it, which the tests of the crates below leave off.
const FACADE: &str = "checkrein";

/// Where people look for the table.
const TABLE: &str = "EDGES in xtask/src/tidy/edges.rs";

/// One import of a crate of ours.
#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    for_tests: bool,
}

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let edges = edges(&cargo::metadata(house.workspace)?);
    let mut violations = Vec::new();
    for (edge, what) in edges.iter().filter_map(|edge| wrong(edge).map(|what| (edge, what))) {
        let folder = if edge.from == "xtask" { String::new() } else { "crates/".to_owned() };
        let file = format!("{folder}{}/Cargo.toml", edge.from);
        let manifest = house.workspace.read_if_there(&file)?.unwrap_or_default();
        let line = manifest.lines().position(|line| names(line, &edge.to)).map_or(1, |index| index + 1);
        violations.push(Violation::new(&file, line, what, format!("drop it, or argue a change of {TABLE}")));
    }
    for name in house.workspace.crates()?.iter().filter(|name| allowed(name).is_none()) {
        let file = format!("crates/{name}/Cargo.toml");
        violations.push(Violation::new(
            &file,
            1,
            format!("nothing says what `{name}` may import"),
            format!("add it to {TABLE}"),
        ));
    }
    Ok(Report::new(violations, format!("{} imports", edges.len())))
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut found = Vec::new();
    for package in &metadata.packages {
        for dependency in package.dependencies.iter().filter(|dependency| ours.contains(dependency.name.as_str())) {
            found.push(Edge {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                for_tests: dependency.kind == DependencyKind::Development,
            });
        }
    }
    found
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    EDGES.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
}

/// Everything that stands below a crate, itself included.
fn below(name: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::from([name]);
    for to in allowed(name).unwrap_or_default() {
        found.extend(below(to));
    }
    found
}

/// What the tests of every crate may use: the testkit, and what it needs for less than whole sessions.
fn of_tests() -> BTreeSet<&'static str> {
    let needs = allowed(TESTKIT).unwrap_or_default().iter().filter(|name| **name != FACADE);
    needs.flat_map(|name| below(name)).chain([TESTKIT]).collect()
}

fn wrong(edge: &Edge) -> Option<String> {
    let Edge { from, to, for_tests } = edge;
    if allowed(from).unwrap_or_default().contains(&to.as_str()) {
        return None;
    }
    if !for_tests {
        return Some(format!("`{from}` may not import `{to}`"));
    }
    let neighbour = TEST_EDGES.iter().any(|(crate_, to_)| crate_ == from && to_.contains(&to.as_str()));
    let fine = neighbour || from != "xtask" && (below(from).contains(to.as_str()) || of_tests().contains(to.as_str()));
    if fine { None } else { Some(format!("tests of `{from}` may not import `{to}`, which stands beside or above it")) }
}

/// Whether a line of a manifest names this dependency.
fn names(line: &str, dependency: &str) -> bool {
    let rest = line.trim_start().trim_start_matches('"').strip_prefix(dependency);
    rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, for_tests: bool) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), for_tests }
    }

    #[test]
    fn listed_edges_and_lower_crates_in_tests_are_fine() {
        for (from, to, for_tests) in [
            ("checkrein-gate", "checkrein-policy", false),
            ("checkrein", "checkrein-tools", false),
            ("checkrein-session", "checkrein-policy", true),
            ("checkrein-gate", "checkrein-testkit", true),
            ("checkrein-cli", "checkrein-journal", true),
            ("checkrein-tools", "checkrein-sandbox", true),
        ] {
            assert_eq!(wrong(&edge(from, to, for_tests)), None, "{from} {to}");
        }
    }

    /// Shows R5: the policy can not come to know a model client through a crate of ours.
    #[test]
    fn an_edge_that_goes_up_or_sideways_is_a_violation() {
        for (from, to, for_tests) in [
            ("checkrein-policy", "checkrein-gate", false),
            ("checkrein-policy", "checkrein-providers", false),
            ("checkrein-policy", "checkrein-providers", true),
            ("checkrein-sandbox", "checkrein-tools", true),
            ("checkrein-contract", "checkrein-toml", false),
            ("checkrein-gate", "checkrein-testkit", false),
            ("xtask", "checkrein-policy", true),
        ] {
            assert!(wrong(&edge(from, to, for_tests)).is_some(), "{from} {to}");
        }
    }

    #[test]
    fn the_table_is_without_circles_and_names_known_crates() {
        for (from, to) in EDGES {
            for name in *to {
                let place = |n: &str| EDGES.iter().position(|(known, _)| *known == n);
                assert!(place(name) < place(from), "{from} -> {name}");
            }
        }
    }

    #[test]
    fn the_line_of_a_dependency_is_found() {
        assert!(names("checkrein-gate.workspace = true", "checkrein-gate"));
        assert!(names("checkrein = { workspace = true }", "checkrein"));
        assert!(!names("checkrein-gate.workspace = true", "checkrein"));
    }
}
