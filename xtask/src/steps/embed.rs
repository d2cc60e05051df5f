//! The example crate that uses ours as a stranger would: outside the workspace, with a lock file of its own. It builds into the
//! workspace's folder, so that both share what others wrote.

use crate::cargo;
use crate::workspace::Workspace;

const MANIFEST: &str = "examples/embed/Cargo.toml";

/// Formatted, free of warnings, and its tests pass.
pub(super) fn run(workspace: &Workspace) -> Result<(), String> {
    let target = cargo::metadata(workspace)?.target_directory;
    cargo::run(workspace, &["fmt", "--manifest-path", MANIFEST, "--check"])?;
    let fresh = ["metadata", "--format-version", "1", "--locked", "--manifest-path", MANIFEST];
    cargo::capture(workspace, &fresh).map_err(|error| {
        format!("{error}; where our crates need others now, `cargo metadata --manifest-path {MANIFEST}` writes its lock file anew")
    })?;
    let shared = ["--manifest-path", MANIFEST, "--locked", "--target-dir", target.as_str()];
    cargo::run(workspace, &[&["test"], &shared[..]].concat())?;
    cargo::run(workspace, &[&["clippy", "--all-targets"], &shared[..], &["--", "-D", "warnings"]].concat())
}
