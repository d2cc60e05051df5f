//! The first step: programs that tests need, looked for and installed where they are missing.
//!
//! It installs nothing that is there, and touches the system only as root on a machine with apt.

use std::path::Path;
use std::process::{Command, Stdio};

/// Program that tests call, and the Debian package it is in.
const PROGRAMS: &[(&str, &str)] = &[("strace", "strace"), ("tmux", "tmux"), ("setpriv", "util-linux")];

/// A tool in one version. The tool is called with `asks`; what it prints must hold the version, else `installs` is run.
/// A row for npm says `npm install --global NAME@VERSION`, one for pip says `python3 -m pip install NAME==VERSION`.
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    asks: &'static [&'static str],
    installs: &'static [&'static str],
}

const TOOLS: &[Tool] = &[Tool {
    name: "cargo-deny",
    version: "0.20.2",
    asks: &["cargo", "deny", "--version"],
    installs: &["cargo", "install", "--locked", "--version", "0.20.2", "cargo-deny"],
}];

/// What the long runs need besides; the one test command does not.
pub(crate) const FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    version: "0.13.2",
    asks: &["cargo", "fuzz", "--version"],
    installs: &["cargo", "install", "--locked", "--version", "0.13.2", "cargo-fuzz"],
};
pub(crate) const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    asks: &["cargo", "mutants", "--version"],
    installs: &["cargo", "install", "--locked", "--version", "27.1.0", "cargo-mutants"],
};

/// Checks everything, and installs what is missing.
pub(super) fn run() -> Result<(), String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    let packages = missing(PROGRAMS, there);
    if !packages.is_empty() {
        apt(&packages)?;
    }
    TOOLS.iter().try_for_each(ensure)
}

/// Installs a tool that is not there in its version.
pub(crate) fn ensure(tool: &Tool) -> Result<(), String> {
    let Tool { name, version, .. } = tool;
    if has(&printed(tool.asks), version) {
        return Ok(());
    }
    println!("installing {name} {version}");
    started(tool.installs)?;
    if has(&printed(tool.asks), version) {
        return Ok(());
    }
    Err(format!("{name} {version} is still not what answers: is another one first in PATH?"))
}

/// Packages of the programs that are not there, each once.
fn missing(programs: &[(&str, &'static str)], there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut packages: Vec<&str> =
        programs.iter().filter(|(program, _)| !there(program)).map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn apt(packages: &[&str]) -> Result<(), String> {
    let list = packages.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(format!("the tests need programs of these packages: {list}; install them and run this again"));
    }
    if printed(&["id", "-u"]).trim() != "0" {
        return Err(format!("the tests need these packages: run `sudo apt-get install {list}` and then this again"));
    }
    println!("installing {list}");
    let mut install = vec!["apt-get", "install", "--yes", "--no-install-recommends"];
    install.extend_from_slice(packages);
    // A machine's list of packages may be empty or old; then it is fetched first.
    started(&install).or_else(|_| started(&["apt-get", "update"]).and_then(|()| started(&install)))
}

/// What a command prints; nothing where it can not be started.
fn printed(words: &[&str]) -> String {
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn started(words: &[&str]) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).env("DEBIAN_FRONTEND", "noninteractive");
    let status = command.status().map_err(|e| format!("`{program}` can not be started: {e}; install it"))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: see above", words.join(" "))) }
}

fn has(printed: &str, version: &str) -> bool {
    printed.split_whitespace().any(|word| word.trim_start_matches('v') == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_named_and_each_package_once() {
        let programs = [("strace", "strace"), ("setpriv", "util-linux"), ("unshare", "util-linux"), ("tmux", "tmux")];
        assert_eq!(missing(&programs, |program| program == "tmux"), ["strace", "util-linux"]);
        assert!(missing(&programs, |_| true).is_empty());
    }

    #[test]
    fn a_version_is_a_whole_word() {
        assert!(has("cargo-deny 0.20.2\n", "0.20.2"));
        assert!(has("v1.2.3", "1.2.3"));
        assert!(!has("cargo-deny 0.20.21\n", "0.20.2"));
        assert!(!has("", "0.20.2"));
    }

    #[test]
    fn rows_install_the_version_that_they_check() {
        for tool in TOOLS.iter().chain([&FUZZ, &MUTANTS]) {
            assert!(tool.installs.iter().any(|word| word.contains(tool.version)), "{}", tool.name);
        }
    }
}
