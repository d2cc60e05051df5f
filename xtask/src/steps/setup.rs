//! The first step: programs that tests need, looked for and installed where they are missing.
//!
//! It installs nothing that is there, and touches the system only as root on a machine with apt.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::workspace::Workspace;

/// Programs that tests call, and the Debian package each is in. All but the first few are what the traced tier runs.
#[rustfmt::skip]
const PROGRAMS: &[(&str, &str)] = &[
    ("strace", "strace"),
    ("tmux", "tmux"),
    ("setpriv", "util-linux"),
    ("7z", "p7zip-full"),
    ("ack", "ack"),
    ("ag", "silversearcher-ag"),
    ("aria2c", "aria2"),
    ("ar", "binutils"),
    ("batcat", "bat"),
    ("bc", "bc"),
    ("busybox", "busybox"),
    ("bzip2", "bzip2"),
    ("cmake", "cmake"),
    ("colordiff", "colordiff"),
    ("cpio", "cpio"),
    ("curl", "curl"),
    ("dig", "bind9-dnsutils"),
    ("dos2unix", "dos2unix"),
    ("fdfind", "fd-find"),
    ("file", "file"),
    ("gawk", "gawk"),
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("gdb", "gdb"),
    ("getfacl", "acl"),
    ("gh", "gh"),
    ("gpg", "gnupg"),
    ("groff", "groff-base"),
    ("hexdump", "bsdextrautils"),
    ("host", "bind9-host"),
    ("hyperfine", "hyperfine"),
    ("ifconfig", "net-tools"),
    ("ip", "iproute2"),
    ("jq", "jq"),
    ("ksh", "ksh"),
    ("less", "less"),
    ("lsattr", "e2fsprogs"),
    ("lsb_release", "lsb-release"),
    ("lsof", "lsof"),
    ("lua5.4", "lua5.4"),
    ("lz4", "lz4"),
    ("make", "make"),
    ("man", "man-db"),
    ("meson", "meson"),
    ("mksh", "mksh"),
    ("mpstat", "sysstat"),
    ("nc", "netcat-openbsd"),
    ("ncat", "ncat"),
    ("ninja", "ninja-build"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("openssl", "openssl"),
    ("parallel", "parallel"),
    ("patch", "patch"),
    ("ping", "iputils-ping"),
    ("ps", "procps"),
    ("psql", "postgresql-client"),
    ("pstree", "psmisc"),
    ("python3", "python3"),
    ("rg", "ripgrep"),
    ("rsync", "rsync"),
    ("ruby", "ruby"),
    ("shellcheck", "shellcheck"),
    ("shfmt", "shfmt"),
    ("socat", "socat"),
    ("sqlite3", "sqlite3"),
    ("ssh", "openssh-client"),
    ("time", "time"),
    ("tree", "tree"),
    ("unzip", "unzip"),
    ("wdiff", "wdiff"),
    ("wget", "wget"),
    ("xmllint", "libxml2-utils"),
    ("xxd", "xxd"),
    ("xz", "xz-utils"),
    ("yq", "yq"),
    ("zip", "zip"),
    ("zsh", "zsh"),
    ("zstd", "zstd"),
];

/// Tools of Python that the traced tier runs, in an environment of their own.
const PYTHON: &[&str] = &[
    "black==26.10.1",
    "coverage==7.17.5",
    "flake8==7.5.0",
    "isort==9.0.2",
    "mypy==2.4.1",
    "poetry==2.5.1",
    "pre_commit==4.7.0",
    "pylint==4.1.4",
    "pytest==9.2.0",
    "ruff==0.17.6",
    "setuptools==66.1.1",
    "tox==4.67.15",
    "uv==0.13.9",
    "virtualenv==21.15.11",
    "yamllint==1.38.0",
];

/// Packages of npm: the Codex whose hook is answered, a server of models that nobody here wrote, and what the traced tier
/// runs.
const NODE: &[&str] = &[
    "@biomejs/biome@2.6.8",
    "@copilotkit/aimock@1.43.0",
    "@openai/codex@0.171.0",
    "bun@1.4.5",
    "deno@2.9.6",
    "esbuild@0.28.2",
    "eslint@10.15.0",
    "jest@30.5.2",
    "markdownlint-cli2@0.22.1",
    "mocha@12.0.3",
    "nx@24.0.6",
    "pnpm@9.15.9",
    "prettier@3.10.1",
    "rollup@4.68.8",
    "tsx@4.23.15",
    "turbo@2.11.11",
    "typescript@7.0.2",
    "vitest@3.2.7",
    "webpack@5.113.0",
    "webpack-cli@7.3.1",
    "yarn@1.22.22",
];

/// The vendors' own clients, which our server of scripts is held against. Each language has a folder of its own for them: what
/// they need may be at odds with what the tools need.
const PYTHON_CLIENTS: &[&str] = &["anthropic==2.14.0", "google-genai==3.6.1", "openai==3.57.0"];
const NODE_CLIENTS: &[&str] = &["@anthropic-ai/sdk@1.14.0", "@google/genai@3.3.0", "openai@7.59.0"];

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
pub(crate) const TARPAULIN: Tool = Tool {
    name: "cargo-tarpaulin",
    version: "0.37.5",
    asks: &["cargo", "tarpaulin", "--version"],
    installs: &["cargo", "install", "--locked", "--version", "0.37.5", "cargo-tarpaulin"],
};

/// Checks everything, and installs what is missing.
pub(super) fn run(workspace: &Workspace) -> Result<(), String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    let packages = missing(PROGRAMS, there);
    if !packages.is_empty() {
        apt(&packages)?;
    }
    TOOLS.iter().try_for_each(ensure)?;
    let tools = workspace.root.join("target/tools");
    python(&tools, "python", PYTHON)?;
    python(&tools, "sdk-python", PYTHON_CLIENTS)?;
    node(&tools, "node", NODE)?;
    node(&tools, "sdk-node", NODE_CLIENTS)
}

/// An environment of Python in a folder of its own.
fn python(tools: &Path, name: &str, packages: &[&str]) -> Result<(), String> {
    let folder = tools.join(name).display().to_string();
    once(&tools.join(format!("{name}.txt")), packages, |packages| {
        // The system's own: another one in PATH may not see the system's libraries.
        let system = if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" };
        let make = || started(&[system, "-m", "venv", "--clear", &folder]);
        make().or_else(|_| apt(&["python3-venv"]).and_then(|()| make()))?;
        let pip = format!("{folder}/bin/pip");
        started(&[&[pip.as_str(), "install", "--quiet"], packages].concat())
    })
}

/// Packages of npm in a folder of their own.
fn node(tools: &Path, name: &str, packages: &[&str]) -> Result<(), String> {
    let folder = tools.join(name).display().to_string();
    once(&tools.join(format!("{name}.txt")), packages, |packages| {
        let install =
            ["npm", "install", "--prefix", &folder, "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"];
        started(&[&install, packages].concat())
    })
}

/// Installs packages, unless a note says that these were installed.
fn once(note: &Path, packages: &[&str], install: impl Fn(&[&str]) -> Result<(), String>) -> Result<(), String> {
    let wanted = packages.join("\n");
    if std::fs::read_to_string(note).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let folder = note.parent().unwrap_or(note);
    println!("installing {} packages into {}", packages.len(), folder.display());
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    install(packages)?;
    std::fs::write(note, wanted).map_err(|error| format!("{}: {error}", note.display()))
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
        for tool in TOOLS.iter().chain([&FUZZ, &MUTANTS, &TARPAULIN]) {
            assert!(tool.installs.iter().any(|word| word.contains(tool.version)), "{}", tool.name);
        }
    }
}
