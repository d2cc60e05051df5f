//! The real binary as a server of a script, and how it ends.

use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{Desk, Ended};

/// A server, ended with the test.
pub(crate) struct Served {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    /// Its first line.
    pub(crate) first: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Served {
    /// Serves a script until it is ended.
    pub(crate) fn new(desk: &Desk, script: &Path, options: &[&str]) -> Self {
        let mut command = desk.command(["script", "serve"]);
        let spawned = command.arg(script).args(options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.expect("the binary starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = out.next().expect("a first line").expect("UTF-8");
        Self { child, out, first }
    }

    /// Where it is, as it says.
    pub(crate) fn address(&self) -> String {
        let from = self.first.find("http://").expect("an address");
        let address = &self.first[from..];
        address[..address.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(address.len())]
            .trim_end_matches(':')
            .to_owned()
    }

    /// Ends it with a signal: what it printed since, and its exit code.
    pub(crate) fn end(mut self, signal: &str) -> Ended {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let out = (&mut self.out).map_while(Result::ok).map(|line| line + "\n").collect();
        let mut err = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
        let code = self.child.wait().expect("it ends").code().unwrap_or(-1);
        Ended { code, out, err }
    }
}

/// The base address of each wire, as its vendor's clients and ours are told it.
pub(crate) fn surrounded(command: &mut Command, address: &str) {
    command
        .env("ANTHROPIC_BASE_URL", address)
        .env("OPENAI_BASE_URL", format!("{address}/v1"))
        .env("GOOGLE_GEMINI_BASE_URL", address);
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
        command.env(key, "key-of-nobody-4711");
    }
}

/// What a program said about its cases.
pub(crate) fn told(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}{}", ended.out, ended.err))
}
