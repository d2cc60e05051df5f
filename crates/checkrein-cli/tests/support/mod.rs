//! A desk for black-box tests: its own state folder and home, task folders written on the spot, the real binary.

pub(crate) mod served;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A policy under which a person decides about writing, and reading is free.
pub(crate) const ASK_WRITES: &str = "version = 1\n[[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"writing is decided by a person\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

/// A desk.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What one command did.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir_all(desk.path("home")).expect("a home");
        desk
    }

    /// A path on the desk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the desk is there").join(name)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Copies an example of the repository onto the desk.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        let from = repository().join("examples").join(name);
        let to = self.path(name);
        copy(&from, &to);
        to
    }

    /// The binary with these arguments, in this folder of the desk, with a clean environment.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkrein"));
        command.args(arguments).env_clear().current_dir(self.folder.path());
        self.surroundings(&mut command);
        command
    }

    /// The environment of the desk.
    pub(crate) fn surroundings(&self, command: &mut Command) {
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // `cargo xtask coverage` counts what the binary runs: all its processes into one file, since there are hundreds.
        if let Some(profile) = std::env::var("LLVM_PROFILE_FILE").ok().filter(|profile| profile.contains("%m-%p")) {
            command.env("LLVM_PROFILE_FILE", profile.replace("%m-%p", "%m-all"));
        }
        // A real toolchain looks for itself below the real home, which the desk's home hides.
        if std::env::var_os("RUSTUP_HOME").is_none()
            && let Some(home) = std::env::var_os("HOME")
        {
            command.env("RUSTUP_HOME", Path::new(&home).join(".rustup"));
        }
        command
            .env("HOME", self.path("home"))
            .env("CHECKREIN_HOME", self.path("state"))
            .env("USER", "sam")
            .env("TZ", "UTC");
    }

    /// Runs it to its end.
    pub(crate) fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Ended {
        ended(self.command(arguments).output().expect("the binary starts"))
    }

    /// Runs another program in the same surroundings to its end. One that is not there has the code -1.
    pub(crate) fn program<I: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = I>) -> Ended {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir(self.folder.path());
        self.surroundings(&mut command);
        command.output().map_or_else(|error| Ended { code: -1, out: String::new(), err: error.to_string() }, ended)
    }

    /// Runs a task as JSON lines.
    pub(crate) fn json<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Lines {
        Lines::of_command(&mut self.command(arguments))
    }

    /// The events of a session, as exported.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        self.exported(&["export", session])
    }

    /// What `export` prints, line by line.
    pub(crate) fn exported(&self, arguments: &[&str]) -> Vec<Value> {
        let exported = self.run(arguments);
        assert_eq!(exported.code, 0, "{}", exported.err);
        exported.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The journal proves itself, and every session comes out the same when it is done again.
    pub(crate) fn sound(&self) {
        for arguments in [["journal", "verify"].as_slice(), &["replay"]] {
            let ended = self.run(arguments);
            assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        }
    }

    /// Writes a task folder called `task` with this script and policy, and whatever else is given for task.toml.
    pub(crate) fn task(&self, script: &str, policy: &str, more: &str) -> PathBuf {
        self.write("task/script.toml", script);
        self.write("task/policy.toml", policy);
        let head = "version = 1\nprompt = \"Do it.\"\nscript = \"script.toml\"\npolicy = \"policy.toml\"\n";
        self.write("task/task.toml", &format!("{head}{more}"));
        self.path("task")
    }

    /// The text with everything that differs from run to run replaced.
    pub(crate) fn steady(&self, text: &str) -> String {
        let desk = self.folder.path().canonicalize().expect("the desk is there").display().to_string();
        let text = text.replace(&desk, "DESK").replace(env!("CARGO_BIN_EXE_checkrein"), "checkrein");
        let text = replace_ids(&text, "s-", 8, "SESSION");
        let text = replace_ids(&text, "a-", 10, "APPROVAL");
        let text = replace_ids(&text, "binds ", 12, "binds DIGEST");
        text.lines().map(steady_line).collect::<Vec<_>>().join("\n")
    }
}

/// The lines of a session.
pub(crate) struct Lines {
    pub(crate) ended: Ended,
    pub(crate) lines: Vec<Value>,
}

impl Lines {
    /// Runs this command to its end, with `--json`.
    pub(crate) fn of_command(command: &mut Command) -> Self {
        let ended = ended(command.arg("--json").output().expect("the binary starts"));
        let lines = ended.out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        Self { ended, lines }
    }

    /// The last line.
    pub(crate) fn outcome(&self) -> &Value {
        self.lines.last().unwrap_or_else(|| panic!("no lines at all: {}", self.ended.err))
    }

    /// All lines of one type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    /// The result of the n-th finished call (from 0), as the model read it.
    pub(crate) fn result(&self, n: usize) -> &str {
        self.of("finished")
            .get(n)
            .and_then(|line| line["text"].as_str())
            .unwrap_or_else(|| panic!("no result {n}: {}{}", self.ended.out, self.ended.err))
    }

    pub(crate) fn session(&self) -> String {
        self.outcome()["session"].as_str().expect("a session").to_owned()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        PathBuf::from(self.outcome()["workspace"].as_str().expect("a workspace"))
    }

    pub(crate) fn status(&self) -> &str {
        self.outcome()["status"].as_str().expect("a status")
    }
}

/// Says that a test did not run, and why; where the tests must be whole, that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}; `cargo xtask test` installs what the tests need");
    eprintln!("skipped: {why}");
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let below = |entry: fs::DirEntry| {
        if entry.file_type().expect("a type").is_dir() { files(&entry.path()) } else { vec![entry.path()] }
    };
    entries.flat_map(below).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Replaces `s-0123abcd` by a word.
fn replace_ids(text: &str, prefix: &str, digits: usize, word: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let id = after.get(prefix.len()..prefix.len() + digits);
        let starts = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        if starts && id.is_some_and(|id| id.bytes().all(|b| b.is_ascii_hexdigit())) {
            out.push_str(word);
            rest = &after[prefix.len() + digits..];
        } else {
            out.push_str(prefix);
            rest = &after[prefix.len()..];
        }
    }
    out.push_str(rest);
    out
}

/// Durations and times of day.
fn steady_line(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 0..words.len() {
        let bare = words[at].trim_start_matches('[');
        let number = bare.strip_suffix('s').unwrap_or(bare).to_owned();
        let seconds = number.contains('.') && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if seconds && (words[at].ends_with('s') || words.get(at + 1).is_some_and(|next| next.starts_with('s'))) {
            words[at] = words[at].replace(&number, "N");
        }
        let date = words[at].len() == 10 && words[at].bytes().filter(|b| *b == b'-').count() == 2;
        if date && words.get(at + 1).is_some_and(|next| next.len() >= 5 && next.as_bytes()[2] == b':') {
            words[at] = "DATE".to_owned();
            words[at + 1] = format!("TIME{}", &words[at + 1][5..]);
        }
    }
    // How long a call took stands there only where it took long: on a busy machine any may.
    let line = words.join(" ");
    line.strip_suffix("  [N s]").unwrap_or(&line).to_owned()
}
