//! Cargo, as this program calls it: capture its output, or let it through, and ask it about the workspace.
//!
//! It never builds into another folder than the workspace's, unless the caller names one.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use cargo_metadata::{Metadata, MetadataCommand};

use crate::workspace::Workspace;

/// A cargo command at the root; without colour unless people look on.
pub(crate) fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workspace.root);
    if !std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "never").env("NO_COLOR", "1");
    }
    command
}

/// Runs cargo with its output let through.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let status = cargo(workspace, arguments).status().map_err(|e| format!("cargo can not be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed: see above", arguments.join(" "))) }
}

/// Runs cargo and gives its standard output; what it says about its work is let through.
pub(crate) fn capture(workspace: &Workspace, arguments: &[&str]) -> Result<String, String> {
    let output = cargo(workspace, arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo can not be started: {e}"))?;
    if !output.status.success() {
        return Err(format!("`cargo {}` failed: see above", arguments.join(" ")));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`cargo {}` did not print UTF-8", arguments.join(" ")))
}

/// The members of the workspace, as their manifests say.
pub(crate) fn metadata(workspace: &Workspace) -> Result<Metadata, String> {
    MetadataCommand::new()
        .manifest_path(workspace.root.join("Cargo.toml"))
        .no_deps()
        .other_options(["--locked".to_owned()])
        .exec()
        .map_err(|e| format!("`cargo metadata --no-deps --locked` failed: {}", e.to_string().trim()))
}
