//! A server that nobody here wrote, `@copilotkit/aimock`: it reads our requests as it reads those of the vendors' own
//! clients, and answers as it thinks the vendors do.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use checkrein_contract::{ModelRequest, ProviderFault, RawCall, StopReason, ToolChoice};
use serde_json::json;

use super::{ask, follow_up, kinds, open, request, user};

/// The server, ended with the test.
struct Stranger {
    child: Child,
    address: String,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Says that the test did not run, and why; where the tests must be whole, that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}; `cargo xtask test` installs what the tests need");
    eprintln!("skipped: {why}");
}

impl Stranger {
    fn new(program: &Path) -> Self {
        // A reply with a call; an answer to the result of that very call; an error; a stream that is cut off.
        let fixtures = json!({ "fixtures": [
            { "match": { "userMessage": "busy" },
              "response": { "error": { "message": "Slow down", "type": "rate_limit_error" }, "status": 429, "retryAfter": 3 } },
            { "match": { "userMessage": "cut" }, "truncateAfterChunks": 3, "chunkSize": 5,
              "response": { "content": "A long answer that is cut off somewhere in the middle of what it says." } },
            { "match": { "toolCallId": "c1-1", "toolResultContains": "three files", "systemMessage": "Be exact." },
              "response": { "content": "There are three files." } },
            { "match": { "userMessage": "What is there?", "systemMessage": "Be exact." },
              "response": { "content": "I look.", "reasoning": "First look.",
                            "toolCalls": [{ "name": "look", "arguments": "{\"path\":\"src\"}" }] } },
        ] });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fixtures.json");
        std::fs::write(&file, fixtures.to_string()).unwrap();
        let mut child = Command::new("node")
            .arg(program)
            .args(["-p", "0", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // `[aimock] aimock server listening on http://127.0.0.1:37307`
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("listening on ")).expect("the server starts");
        let address = line.split("listening on ").nth(1).unwrap().trim().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Where a wire finds it: the addresses of some vendors have a version in them.
    fn address(&self, kind: &str) -> String {
        if kind == "openai" { format!("{}/v1", self.address) } else { self.address.clone() }
    }
}

fn program() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    repository.join("target/tools/node/node_modules/.bin/llmock")
}

fn asking(text: &str) -> ModelRequest {
    ModelRequest { messages: vec![Arc::new(user(text))], ..request() }
}

/// A call, its result, an error with a wait, a stream that is cut off: the same from the stranger on every wire.
#[test]
fn a_stranger_understands_and_is_understood() {
    let program = program();
    if !program.exists() {
        return skipped("aimock is not installed here");
    }
    let stranger = Stranger::new(&program);
    for kind in kinds() {
        let provider = open(kind, &stranger.address(kind));
        let reply = ask(&provider, &request()).reply.unwrap_or_else(|error| panic!("{error}"));
        let look = RawCall { tool: "look".to_owned(), arguments: "{\"path\":\"src\"}".to_owned() };
        assert_eq!(
            (reply.text.as_str(), &reply.calls[..], reply.stop),
            ("I look.", &[look][..], StopReason::Calls),
            "{kind}"
        );
        let mut next = follow_up(&reply);
        next.messages.truncate(3);
        next.tool_choice = ToolChoice::Auto;
        let outcome = ask(&provider, &next);
        let answer = outcome.reply.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((answer.text.as_str(), answer.stop), ("There are three files.", StopReason::End), "{kind}");
        assert_eq!(outcome.shown, answer.text);
        let busy = ask(&provider, &asking("busy")).reply.unwrap_err();
        assert_eq!((busy.fault, busy.retry_after_ms), (ProviderFault::RateLimited, Some(3000)), "{kind}: {busy}");
        let cut = ask(&provider, &asking("cut")).reply.unwrap_err();
        // It may drop the connection before anything of the answer was sent.
        assert!(matches!(cut.fault, ProviderFault::Broken | ProviderFault::Server), "{kind}: {cut}");
    }
}
