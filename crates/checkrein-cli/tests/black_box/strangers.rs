//! The vendors' own clients, for Python and for Node, at `script serve`: whole replies, streams, calls and their results, an
//! error that passes, one that stays, streams that break off in three ways, the length limit, and a script at its end.
//!
//! Each client has a program in `strangers/` that goes through the same script and says what it was told.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::served::{Served, told};
use crate::support::{Desk, ended, repository, skipped};

/// What differs from wire to wire.
struct Words {
    kind: &'static str,
    /// Why a reply ended: by itself, with calls, at its length limit.
    stops: [&'static str; 3],
    /// Its clients wait as long as the server says. Google's wait by a measure of their own.
    waits: bool,
}

const ANTHROPIC: Words = Words { kind: "anthropic", stops: ["end_turn", "tool_use", "max_tokens"], waits: true };
const RESPONSES: Words = Words { kind: "openai", stops: ["completed", "completed", "max_output_tokens"], waits: true };
const CHAT: Words = Words { kind: "compatible", stops: ["stop", "tool_calls", "length"], waits: true };
const GEMINI: Words = Words { kind: "gemini", stops: ["STOP", "STOP", "MAX_TOKENS"], waits: false };

/// Lets a program at a server, and holds what it was told against the script.
fn meets(words: &Words, program: &str, silent: bool) {
    let tools = repository().join("target/tools");
    let python = program.ends_with(".py");
    let interpreter = if python { tools.join("sdk-python/bin/python") } else { "node".into() };
    if !tools.join(if python { "sdk-python.txt" } else { "sdk-node.txt" }).exists() {
        return skipped("the vendors' clients are not installed here");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/black_box/strangers");
    let desk = Desk::new();
    let served = Served::new(&desk, &folder.join("script.toml"), &["--json"]);
    let mut command = std::process::Command::new(interpreter);
    command.arg(folder.join(program)).env_clear();
    desk.surroundings(&mut command);
    command.env("SERVED", served.address()).env("PACKAGES", tools.join("sdk-node")).env("PYTHONDONTWRITEBYTECODE", "1");
    let told = told(&ended(command.output().expect("the program starts")));

    let [end, with_calls, length] = words.stops;
    let pieces = ["A ", "long ", "answer "];
    let said = |case: &str, text: &str, calls: Value, stop: &str| {
        let told = &told[case];
        assert_eq!(
            (&told["text"], &told["calls"], &told["stop"]),
            (&json!(text), &calls, &json!(stop)),
            "{program}, {case}: {told}"
        );
    };
    assert_eq!(told["models"], json!(["script.toml"]), "{program}");
    said("whole", "Plain words, señor 🐎.", json!([]), end);
    assert_eq!(told["whole"]["usage"], json!([11, 7]), "{program}");
    said("streamed", "One two three.", json!([]), end);
    assert_eq!(told["streamed"]["pieces"], json!(["One ", "two ", "three."]), "{program}");
    assert_eq!(told["streamed"]["usage"], json!([12, 3]), "{program}");
    said("calls", "I look.", json!([["look", { "path": "src", "depth": 2 }], ["count", {}]]), with_calls);
    said("results", "There are 3 files, and 12 in all.", json!([]), end);
    said("streamed_calls", "Again.", json!([["look", { "path": "señor 🐎" }], ["count", {}]]), with_calls);
    said("streamed_results", "Now there are 4.", json!([]), end);
    // The client tried again by itself, after as long as it was told.
    said("busy", "After the wait.", json!([]), end);
    let waits = told["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 1, "{program}: {waits:?}");
    assert!(!words.waits || waits[0].as_f64() == Some(7.0), "{program}: {waits:?}");
    for case in ["wrong", "exhausted"] {
        assert_eq!(told[case]["status"], 400, "{program}, {case}");
    }
    for case in ["cut", "ended", "garbage"] {
        assert_eq!(told[case]["pieces"], json!(pieces), "{program}, {case}");
    }
    for case in ["cut", "garbage"] {
        assert!(told[case]["raised"].is_string(), "{program}, {case}: {}", told[case]);
    }
    // A stream that just ends is an error to some; others hand over what there is, without a reason why it ended.
    assert_eq!((told["ended"]["raised"].is_string(), &told["ended"]["stop"]), (!silent, &Value::Null), "{program}");
    said("length", "Not all of", json!([]), length);

    let ended = served.end("-TERM");
    assert_eq!(ended.code, 1, "one request more than there are steps");
    assert!(ended.err.contains("SCRIPT_EXHAUSTED") && !ended.err.contains("SCRIPT_UNUSED"), "{}", ended.err);
    let requests: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asked = |request: &&Value| request["wire"] == words.kind;
    assert_eq!(requests.iter().filter(asked).count(), requests.len() - 1, "all but the list of models: {}", ended.out);
}

/// Shows R119.
#[test]
fn anthropic_for_python() {
    meets(&ANTHROPIC, "anthropic_sdk.py", true);
}

#[test]
fn anthropic_for_node() {
    meets(&ANTHROPIC, "anthropic_sdk.mjs", false);
}

#[test]
fn openai_responses_for_python() {
    meets(&RESPONSES, "openai_responses.py", false);
}

#[test]
fn openai_responses_for_node() {
    meets(&RESPONSES, "openai_responses.mjs", false);
}

#[test]
fn openai_chat_for_python() {
    meets(&CHAT, "openai_chat.py", true);
}

#[test]
fn openai_chat_for_node() {
    meets(&CHAT, "openai_chat.mjs", false);
}

#[test]
fn gemini_for_python() {
    meets(&GEMINI, "gemini_sdk.py", true);
}

#[test]
fn gemini_for_node() {
    meets(&GEMINI, "gemini_sdk.mjs", true);
}
