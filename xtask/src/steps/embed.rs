//! The example crate that uses ours as a stranger would: outside the workspace, with a lock file of its own. It builds into the
//! workspace's folder, so that both share what others wrote.

use crate::cargo;
use crate::workspace::Workspace;

const MANIFEST: &str = "examples/embed/Cargo.toml";

/// Formatted, free of warnings, and its tests pass.
pub(super) fn run(workspace: &Workspace) -> Result<(), String> {
    let target = cargo::metadata(workspace)?.target_directory;
    cargo::run(workspace, &["fmt", "--manifest-path", MANIFEST, "--check"])?;
    let shared = ["--manifest-path", MANIFEST, "--locked", "--target-dir", target.as_str()];
    cargo::run(workspace, &[&["test"], &shared[..]].concat())?;
    cargo::run(workspace, &[&["clippy", "--all-targets"], &shared[..], &["--", "-D", "warnings"]].concat())
}
