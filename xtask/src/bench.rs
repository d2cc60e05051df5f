//! `cargo xtask bench`: the benchmarks, one after the other, as they print themselves. It judges no figure.

use crate::cargo;
use crate::workspace::Workspace;

/// Package and benchmark.
const BENCHES: &[(&str, &str)] = &[
    ("checkrein-policy", "decide"),
    ("checkrein-policy", "cases"),
    ("checkrein-sandbox", "confined"),
    ("checkrein-journal", "million"),
    ("checkrein", "turn"),
    ("checkrein", "many"),
    ("checkrein-cli", "start"),
];

/// Runs all benchmarks that are there; one that is missing is an error at the end.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let metadata = cargo::metadata(workspace)?;
    let mut missing = Vec::new();
    for (package, bench) in BENCHES {
        let found = metadata.packages.iter().filter(|known| known.name.as_str() == *package);
        if found.flat_map(|known| &known.targets).any(|target| target.is_bench() && target.name == *bench) {
            cargo::run(workspace, &["bench", "--locked", "-p", package, "--bench", bench])?;
        } else {
            missing.push(format!("`{bench}` of {package}"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("no such benchmark: {}; write it, or mend BENCHES in xtask/src/bench.rs", missing.join(", ")))
}
