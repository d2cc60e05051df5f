//! `replay`: sessions of every kind come out the same; what was changed in an exported journal is named; another policy.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Desk, Ended};

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"reading is free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"look\"\ndecision = \"allow\"\nreason = \"looking is free\"\neffect = \"run\"\nread_only = true\n";
const SCRIPT: &str = "version = 1\n\
    [[step]]\ntext = \"I look.\"\ncalls = [{ tool = \"read\", args = { file_path = \"a.txt\" } }, { tool = \"bash\", args = { command = \"cat a.txt\" } }]\n\
    [[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"b.txt\", content = \"new\" } }]\n\
    [[step]]\ncalls = [{ tool = \"nonsense\" }, { tool = \"task\", args = { prompt = \"Look.\" } }]\n\
    [[step]]\nsub = 1\ntext = \"Nothing.\"\n\
    [[step]]\ntext = \"done\"\n";

/// A desk with a session that asked, was approved, delegated and completed.
fn worked() -> (Desk, String) {
    let desk = Desk::new();
    let task = desk.task(SCRIPT, POLICY, "workspace = \"copy\"\n[[verify]]\nfile = \"b.txt\"\ncontains = \"new\"\n");
    desk.write("task/a.txt", "one\ntwo\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = lines.outcome()["approvals"][0].as_str().expect("it asks").to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let lines = desk.json(["resume", &lines.session()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    let session = lines.session();
    (desk, session)
}

fn told(arguments: &[&str], ended: &Ended) -> String {
    let words = arguments.join(" ");
    let text = format!("$ checkrein {words}\n{}{}(exit {})\n\n", ended.out, ended.err, ended.code);
    // A digest of a request holds whatever a model is told, so it changes with every word of that.
    let digest = |word: &str| word.len() == 66 && word.trim_matches('"').bytes().all(|b| b.is_ascii_hexdigit());
    let words =
        |line: &str| line.split(' ').map(|w| if digest(w) { "DIGEST" } else { w }).collect::<Vec<_>>().join(" ");
    text.split('\n').map(words).collect::<Vec<_>>().join("\n")
}

/// Shows R173: without its script, from the journal and from an export of it, line by line the same; what was changed is named
/// by event and place.
#[test]
fn a_session_is_done_again_without_a_model() {
    let (desk, session) = worked();
    fs::remove_file(desk.path("task/script.toml")).expect("nobody needs the model");
    let mut all = String::new();
    let mut shown = |arguments: &[&str]| {
        let ended = desk.run(arguments);
        all.push_str(&told(arguments, &ended));
        ended
    };
    assert_eq!(shown(&["replay", &session]).code, 0);
    assert_eq!(shown(&["replay"]).code, 0, "the sub-session as well");

    let export = desk.run(["export", &session]).out;
    desk.write("x.jsonl", &export);
    assert_eq!(shown(&["replay", "--file", "x.jsonl"]).code, 0);
    let changed = |line: &str, old: &str, new: &str| {
        let lines =
            export.lines().map(|text| if text.contains(line) { text.replace(old, new) } else { text.to_owned() });
        let lines = lines.collect::<Vec<_>>().join("\n");
        assert_ne!(lines, export.trim_end(), "{line}");
        desk.write("x.jsonl", &lines);
    };
    changed("\"type\":\"decision\"", "looking is free", "looking is fine");
    assert_eq!(shown(&["replay", "--file", "x.jsonl"]).code, 1);
    changed("\"call\":\"c1-1\"", "1: one", "1: three");
    assert_eq!(shown(&["replay", "--file", "x.jsonl"]).code, 1);
    changed("UNKNOWN_TOOL", "by its exact name", "by any name");
    assert_eq!(shown(&["replay", "--file", "x.jsonl", "--json"]).code, 1);
    // What a person said is not made again: only the chain tells.
    changed("\"by\":\"person:dana\"", "person:dana", "person:kim");
    assert_eq!(shown(&["replay", "--file", "x.jsonl"]).code, 1);
    desk.write("x.jsonl", "no line of ours\n");
    assert_eq!(shown(&["replay", "--file", "x.jsonl"]).code, 2);
    assert_snapshot!(desk.steady(&all));
}

/// The first decision that another policy would give otherwise, with both rules, and an exit code for CI.
#[test]
fn another_policy_decides_otherwise() {
    let (desk, session) = worked();
    desk.write("same.toml", POLICY);
    desk.write("tighter.toml", &POLICY.replace("\"allow\"\nreason = \"looking", "\"deny\"\nreason = \"looking"));
    desk.write("looser.toml", &POLICY.replace("\"ask\"\nreason = \"a person", "\"allow\"\nreason = \"a person"));
    let mut all = String::new();
    let mut shown = |arguments: &[&str]| {
        let ended = desk.run(arguments);
        all.push_str(&told(arguments, &ended));
        ended
    };
    assert_eq!(shown(&["replay", &session, "--policy", "same.toml"]).code, 0);
    assert_eq!(shown(&["replay", &session, "--policy", "tighter.toml"]).code, 10);
    assert_eq!(shown(&["replay", &session, "--policy", "looser.toml"]).code, 11);
    let line: Value =
        serde_json::from_str(&desk.run(["replay", &session, "--policy", "looser.toml", "--json"]).out).expect("JSON");
    assert_eq!(
        (line["from"].as_str(), line["to"].as_str(), line["call"].as_str()),
        (Some("ask"), Some("allow"), Some("c2-1"))
    );
    assert_eq!((line["new"]["rule"].as_str(), line["same_before"].as_u64()), (Some("write"), Some(2)), "{line}");
    assert_snapshot!(desk.steady(&all));
}

/// What another agent asked for is done again too.
#[test]
fn a_watched_session_is_the_same_again() {
    let desk = Desk::new();
    let payload = serde_json::json!({
        "session_id": "theirs-1", "cwd": desk.path("home"), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "cat a.txt; rm -rf /" }, "permission_mode": "default",
    });
    for _ in 0..2 {
        let mut hook = desk.command(["hook", "--for", "claude"]);
        hook.stdin(fs::File::open(desk.write("payload.json", &payload.to_string())).expect("a payload"));
        hook.output().expect("the hook answers");
    }
    let ended = desk.run(["replay", "--json"]);
    let line: Value = serde_json::from_str(ended.out.trim()).expect("JSON");
    assert_eq!(
        (line["same"].as_bool(), line["proposals"].as_u64(), line["decisions"].as_u64()),
        (Some(true), Some(2), Some(2)),
        "{line}"
    );
}
