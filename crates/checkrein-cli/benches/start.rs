//! What a start costs: the whole process, from `exec` to the last line of a session whose model answers at once. The
//! journal is opened, the first event flushed, one request planned, sent and answered, and everything flushed again.

use std::fs;
use std::process::{Command, Stdio};

use divan::Bencher;

fn main() {
    divan::main();
}

fn command(folder: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_checkrein"));
    command.env_clear().env("HOME", folder).env("CHECKREIN_HOME", folder.join("state")).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::inherit());
    command
}

fn desk() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    fs::create_dir(folder.path().join("task")).expect("a folder");
    let task = "version = 1\nprompt = \"Say yes.\"\nscript = \"script.toml\"\n";
    fs::write(folder.path().join("task/task.toml"), task).expect("a task");
    fs::write(folder.path().join("task/script.toml"), "version = 1\n[[step]]\ntext = \"yes\"\n").expect("a script");
    folder
}

/// A session of one answer.
#[divan::bench(sample_count = 40, sample_size = 1)]
fn one_answer(bencher: Bencher<'_, '_>) {
    let desk = desk();
    bencher.bench_local(|| {
        let status = command(desk.path()).args(["run", "task", "--json"]).status().expect("it starts");
        assert!(status.success());
    });
}

/// `policy check`, which begins no session.
#[divan::bench(sample_count = 40, sample_size = 1)]
fn policy_check(bencher: Bencher<'_, '_>) {
    let desk = desk();
    bencher.bench_local(|| {
        let status =
            command(desk.path()).args(["policy", "check", "git status", "--json"]).status().expect("it starts");
        assert_eq!(status.code(), Some(10));
    });
}

/// The bare process, for comparison.
#[divan::bench(sample_count = 40, sample_size = 1)]
fn version(bencher: Bencher<'_, '_>) {
    let desk = desk();
    bencher.bench_local(|| command(desk.path()).arg("--version").status().expect("it starts"));
}
