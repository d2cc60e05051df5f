//! The hook in front of the real Codex: its model is a script on loopback that asks for two commands; the one that the
//! policy denies is not run, the one it allows is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::support::{Desk, ended, repository, skipped};

const POLICY: &str = r#"version = 1
[[rule]]
id = "look"
decision = "allow"
reason = "what it does to files is judged by their paths"
effect = "run"
read_only = true
[[rule]]
id = "write"
decision = "allow"
reason = "the project is there to be changed"
effect = "write"
paths = ["{root}/**"]
[[rule]]
id = "not-that-one"
decision = "deny"
reason = "this file is not written"
effect = "write"
paths = ["{root}/denied.txt"]
"#;

/// What the model says, turn by turn, in the protocol of the Responses API.
fn turns() -> Vec<Value> {
    let command = |line: &str| {
        let arguments = json!({ "cmd": line }).to_string();
        json!({ "type": "function_call", "name": "exec_command", "arguments": arguments })
    };
    let text = json!({ "type": "output_text", "text": "done", "annotations": [] });
    vec![
        command("echo no > denied.txt"),
        command("echo yes > allowed.txt"),
        json!({ "type": "message", "role": "assistant", "content": [text] }),
    ]
}

/// A model server; its port, and every request it was sent.
fn model() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || serve(&stream, &seen));
        }
    });
    (port, requests)
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (kind, text) = if first.starts_with("POST") {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = turns();
        let turn = seen.len().min(turns.len() - 1);
        seen.push(String::from_utf8_lossy(&body).into_owned());
        ("text/event-stream", events(turn, &turns[turn]))
    } else {
        ("application/json", json!({ "object": "list", "data": [], "models": [] }).to_string())
    };
    let mut out = stream;
    let length = text.len();
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
    .ok()
}

fn events(turn: usize, item: &Value) -> String {
    let mut item = item.clone();
    item["id"] = json!(format!("item_{turn}"));
    item["status"] = json!("completed");
    if item["type"] == "function_call" {
        item["call_id"] = json!(format!("call_{turn}"));
    }
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    let whole = json!({
        "id": format!("resp_{turn}"), "object": "response", "status": "completed", "model": "script",
        "output": [item], "usage": usage,
    });
    let mut open = whole.clone();
    open["status"] = json!("in_progress");
    let events = [
        json!({ "type": "response.created", "response": open }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": whole }),
    ];
    let lines =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()));
    lines.collect()
}

/// Shows R77, R95: the same policy stands in front of an agent that is not ours.
#[test]
fn a_denied_command_of_codex_is_not_run() {
    let codex = repository().join("target/tools/node/node_modules/.bin/codex");
    if !codex.exists() {
        return skipped("Codex is not installed here");
    }
    let desk = Desk::new();
    let policy = desk.write("policy.toml", POLICY);
    let (port, requests) = model();
    let settings = format!(
        "model = \"script\"\nmodel_provider = \"script\"\napproval_policy = \"never\"\n\
         # What stops a command is the hook and nothing else.\nsandbox_mode = \"danger-full-access\"\n\
         check_for_update_on_startup = false\n\n[model_providers.script]\nname = \"script\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPT_KEY\"\n\n\
         [analytics]\nenabled = false\n"
    );
    desk.write("home/.codex/config.toml", &settings);
    let policy = policy.display().to_string();
    let installed = desk.run(["hook", "install", "--for", "codex", "--policy", &policy, "--yes"]);
    assert_eq!(installed.code, 0, "{}", installed.err);
    desk.write("project/a.txt", "a\n");
    let project = desk.path("project");
    let git = Command::new("git").args(["init", "-q"]).current_dir(&project).status();
    assert!(git.is_ok_and(|status| status.success()), "git makes a repository");

    let mut command = Command::new(&codex);
    command.args(["exec", "--json", "--dangerously-bypass-hook-trust", "go"]).env_clear().current_dir(&project);
    desk.surroundings(&mut command);
    command.env("CODEX_HOME", desk.path("home/.codex")).env("SCRIPT_KEY", "x").stdin(Stdio::null());
    let ran = ended(command.output().expect("Codex starts"));
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(!project.join("denied.txt").exists(), "the denied command ran: {}", ran.out);
    assert!(project.join("allowed.txt").exists(), "the allowed command did not run: {}", ran.out);
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    assert!(requests.contains("this file is not written"), "the model was told why");

    let listed = desk.run(["sessions", "--json"]);
    let session: Value = serde_json::from_str(listed.out.lines().next().expect("one session")).expect("JSON");
    assert_eq!(session["events"], 1 + 2 * 3, "{session}");
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}
