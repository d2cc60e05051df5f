//! Building and running the gate's stage tests in the copy, and reading how they came out.
//!
//! A removed time limit may leave a test waiting for ever, so the tests run under a limit of their own.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cargo_metadata::Message;

use crate::cargo;
use crate::workspace::Workspace;

/// How long the tests may take, build not counted. They take a second or two.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);

/// The copy, ready to be built.
pub(super) struct Trial<'a> {
    copy: &'a Workspace,
}

/// How a run of the tests came out.
enum Ran {
    Passed(usize),
    Failed(Vec<String>),
    Hung,
}

impl<'a> Trial<'a> {
    pub(super) fn new(copy: &'a Workspace) -> Self {
        Self { copy }
    }

    /// Whether the gate compiles.
    pub(super) fn check(&self) -> Result<(), String> {
        self.cargo(&["check", "-p", "checkrein-gate"]).map(|_| ())
    }

    /// The tests of the unchanged copy; they must pass.
    pub(super) fn unchanged(&self) -> Result<usize, String> {
        match self.tests()? {
            Ran::Passed(count) if count > 0 => Ok(count),
            Ran::Passed(_) => Err("the stage tests hold no test: write some".to_owned()),
            Ran::Failed(names) => Err(format!("the unchanged copy fails already: {}", names.join(", "))),
            Ran::Hung => Err(format!("the unchanged copy did not end within {} s", LIMIT.as_secs())),
        }
    }

    /// The tests with a stage taken out; they must fail, and not because of the compiler.
    pub(super) fn removed(&self) -> Result<String, String> {
        match self.tests()? {
            Ran::Failed(names) => {
                let fail = if names.len() == 1 { "test fails" } else { "tests fail" };
                Ok(format!("{} {fail} ({})", names.len(), names.join(", ")))
            }
            Ran::Hung => Ok(format!("the tests wait for ever (stopped after {} s)", LIMIT.as_secs())),
            Ran::Passed(count) => Err(format!("NOT NOTICED, {count} tests pass without it")),
        }
    }

    fn tests(&self) -> Result<Ran, String> {
        let build = [
            "test",
            "-p",
            "checkrein-gate",
            "--test",
            "stages",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
        ];
        let messages = self.cargo(&build).map_err(|output| format!("does not compile:\n{output}"))?;
        let program =
            Message::parse_stream(messages.as_bytes()).filter_map(Result::ok).find_map(|message| match message {
                Message::CompilerArtifact(artifact) if artifact.target.name == "stages" => artifact.executable,
                _ => None,
            });
        let program = program.ok_or("cargo did not say where the tests are")?;
        let mut command = Command::new(program.as_std_path());
        // Tests expect to run in the folder of their crate.
        command.current_dir(self.copy.root.join("crates/checkrein-gate")).env("RUST_BACKTRACE", "0");
        run_limited(command, LIMIT)
    }

    /// Runs cargo in the copy, without the network first; gives standard output, or on failure what was said.
    fn cargo(&self, arguments: &[&str]) -> Result<String, String> {
        let offline: Vec<&str> = [&["--offline", "--quiet"], arguments].concat();
        let (said, fine) = self.once(&offline)?;
        if fine {
            return Ok(said);
        }
        // Nothing but a missing download is mended by the network.
        if !said.contains("--offline") && !said.contains("offline mode") {
            return Err(said);
        }
        let (said, fine) = self.once(arguments)?;
        if fine { Ok(said) } else { Err(said) }
    }

    fn once(&self, arguments: &[&str]) -> Result<(String, bool), String> {
        let target = self.copy.root.with_file_name("target");
        let mut command = cargo::cargo(self.copy, arguments);
        command.env("CARGO_TARGET_DIR", target).env("CARGO_TERM_COLOR", "never").stdin(Stdio::null());
        let output = command.output().map_err(|e| format!("cargo can not be started: {e}"))?;
        let of = if output.status.success() { output.stdout } else { output.stderr };
        Ok((String::from_utf8_lossy(&of).into_owned(), output.status.success()))
    }
}

/// Runs a test program and stops it at the limit.
fn run_limited(mut command: Command, limit: Duration) -> Result<Ran, String> {
    let wrong = |e: std::io::Error| format!("the tests can not be run: {e}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(wrong)?;
    // The pipe is emptied while the tests run, or a long report would block them.
    let reader = child.stdout.take().map(|mut stdout| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stdout.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(wrong)? {
            break Some(status);
        }
        if begin.elapsed() > limit {
            child.kill().map_err(wrong)?;
            child.wait().map_err(wrong)?;
            break None;
        }
        std::thread::sleep(POLL);
    };
    let text = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    match status {
        None => Ok(Ran::Hung),
        Some(status) => read(&text, status.success()),
    }
}

/// Reads the report of a test program.
fn read(text: &str, success: bool) -> Result<Ran, String> {
    let result = text.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    match result {
        Some(line) if success && line.starts_with("ok.") => {
            let passed = line.split_whitespace().nth(1).and_then(|number| number.parse().ok());
            Ok(Ran::Passed(passed.unwrap_or_default()))
        }
        Some(line) if !success && line.starts_with("FAILED") => Ok(Ran::Failed(failures(text))),
        _ => Err("the tests broke off without a result: run them by hand".to_owned()),
    }
}

/// Names in the last list of failures.
fn failures(text: &str) -> Vec<String> {
    let list = text.rsplit_once("failures:\n").map_or("", |(_, list)| list);
    let names = list.lines().take_while(|line| !line.starts_with("test result: ")).map(str::trim);
    names.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "running 3 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\npanicked\n\n\nfailures:\n    b\n    c::d\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n\n";

    #[test]
    fn failures_are_named() {
        assert!(matches!(read(FAILED, false), Ok(Ran::Failed(names)) if names == ["b", "c::d"]));
        let fine = "running 3 tests\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n";
        assert!(matches!(read(fine, true), Ok(Ran::Passed(3))));
    }

    #[test]
    fn a_run_without_a_result_is_no_failure_of_a_test() {
        assert!(read("running 3 tests\n", false).is_err());
        assert!(read(FAILED, true).is_err());
    }

    #[test]
    fn a_run_that_waits_for_ever_is_stopped() {
        let mut command = Command::new("sleep");
        command.arg("600");
        assert!(matches!(run_limited(command, Duration::ZERO), Ok(Ran::Hung)));
    }
}
