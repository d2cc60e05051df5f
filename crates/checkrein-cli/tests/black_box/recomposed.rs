//! A session that is taken up while its tools, rules or instructions are not what they were any more.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::{Desk, Ended};

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";
const DENY: &str = "[[rule]]\nid = \"never\"\ndecision = \"deny\"\nreason = \"b is left alone\"\neffect = \"write\"\npaths = [\"{root}/b.txt\"]\n";
const ALLOW: &str = "[[rule]]\nid = \"fine\"\ndecision = \"allow\"\nreason = \"c is free\"\neffect = \"run\"\nwords = [\"cat\", \"c.txt\"]\n";
const SCRIPT: &str = "version = 1\n\
    [[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"1\" } }]\n\
    [[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"b.txt\", content = \"2\" } }, { tool = \"bash\", args = { command = \"cat c.txt\" } }]\n\
    [[step]]\ntext = \"done\"\n";
const TOOL: &str = "version = 1\nname = \"look\"\ndescription = \"Look somewhere.\"\nargv = [\"./look\", \"{where}\"]\noutput = \"text\"\n\
    effects = []\n[params.where]\ntype = \"string\"\nrequired = true\ndescription = \"where\"\n";

/// Says yes to what waits.
fn approve(desk: &Desk) {
    let list = desk.run(["approvals", "list", "--json"]).out;
    let lines = list.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    for line in lines.filter(|line| line["state"] == "pending") {
        assert_eq!(desk.run(["approvals", "approve", line["id"].as_str().unwrap(), "--by", "dana"]).code, 0);
    }
}

/// A session that waits for a yes to its first write.
fn waiting(script: &str) -> (Desk, String, PathBuf) {
    let desk = Desk::new();
    let task = desk.task(script, POLICY, "");
    desk.write("task/c.txt", "see\n");
    desk.write("task/look", "#!/bin/sh\necho looked\n");
    desk.write("task/tools/look.toml", TOOL);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    approve(&desk);
    let session = lines.session();
    (desk, session, task)
}

/// The lines of what is in force from there on: by whom, and what.
fn recomposed(desk: &Desk, session: &str) -> Vec<String> {
    let events = desk.events(session);
    let events = events.iter().filter(|event| event["type"] == "recomposed");
    events.map(|event| format!("{}: {}", event["by"].as_str().unwrap(), event["changes"])).collect()
}

fn said(desk: &Desk, ended: &Ended) -> String {
    let lines = format!("{}{}(exit {})", ended.out, ended.err, ended.code);
    let lines = lines.lines().filter(|line| !line.trim_start().starts_with("time  ")).collect::<Vec<_>>().join("\n");
    desk.steady(&lines)
}

/// Stricter rules hold at once, and the journal says from where on.
#[test]
fn a_tightened_policy_counts_at_once() {
    let (desk, session, task) = waiting(SCRIPT);
    fs::write(task.join("policy.toml"), [POLICY, DENY].concat()).unwrap();
    let lines = desk.json(["resume", &session]);
    let codes: Vec<Option<String>> =
        lines.of("finished").iter().map(|line| line["code"].as_str().map(str::to_owned)).collect();
    assert_eq!(codes.first(), Some(&None), "what was approved is judged by rules that say the same of it");
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    let denied = lines.of("decision").into_iter().find(|line| line["call"] == "c2-1").expect("decided");
    assert_eq!((denied["decision"].as_str(), denied["reason"].as_str()), (Some("deny"), Some("b is left alone")));
    let changes = recomposed(&desk, &session);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(
        changes[0].starts_with("code: ") && changes[0].contains("rule `never` is new and asks or denies"),
        "{changes:?}"
    );
    desk.sound();
    // Nothing is new the next time.
    desk.json(["resume", &session]);
    assert_eq!(recomposed(&desk, &session).len(), 1);
}

/// Looser rules wait for a person's word, however often the session is taken up; the word is recorded by name.
#[test]
fn a_loosened_policy_waits_for_a_word() {
    let (desk, session, task) = waiting(SCRIPT);
    fs::write(task.join("policy.toml"), [POLICY, ALLOW].concat()).unwrap();
    let ended = desk.run(["resume", &session]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_snapshot!(said(&desk, &ended));
    assert_eq!(recomposed(&desk, &session), Vec::<String>::new(), "nothing changed");
    // What is stricter in the same edit counts nevertheless.
    fs::write(task.join("policy.toml"), [POLICY, ALLOW, DENY].concat()).unwrap();
    desk.json(["resume", &session]);
    assert_eq!(recomposed(&desk, &session).len(), 1);
    approve(&desk);
    let accepted = desk.json(["resume", &session, "--accept-changes", "--by", "dana"]);
    let changes = recomposed(&desk, &session);
    assert!(
        changes[1].starts_with("person:dana: ") && changes[1].contains("rule `fine` is new and allows"),
        "{changes:?}"
    );
    assert_eq!(accepted.status(), "completed", "{}", accepted.outcome());
    let last = accepted.of("decision").into_iter().rfind(|line| line["call"] == "c2-2").expect("decided");
    assert_eq!(last["decision"], "allow", "{last}");
    desk.sound();
}

/// A tool that takes other arguments, or is gone, keeps a session from going on until a person says so, and sees what.
#[test]
fn another_tool_needs_a_word() {
    let (desk, session, task) = waiting(SCRIPT);
    fs::write(task.join("tools/look.toml"), TOOL.replace("required = true", "required = true\npattern = \"^[a-z]+$\""))
        .unwrap();
    let refused = desk.run(["resume", &session]);
    assert_eq!(refused.code, 2);
    assert_snapshot!(said(&desk, &refused));
    assert!(!task.join("a.txt").exists(), "nothing ran");
    let lines = desk.json(["resume", &session, "--accept-changes"]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    assert!(recomposed(&desk, &session)[0].starts_with("person:sam: "), "{:?}", recomposed(&desk, &session));
    assert_eq!(fs::read_to_string(task.join("a.txt")).unwrap(), "1");
    desk.sound();
    fs::remove_file(task.join("tools/look.toml")).unwrap();
    let gone = desk.run(["resume", &session]);
    assert!(gone.code == 2 && gone.err.contains("tool `look` is gone"), "{}", gone.err);
}

/// Other words for a tool are harmless; a new tool is not on offer before somebody said so; other instructions wait as well.
#[test]
fn what_is_harmless_goes_on() {
    let script = [
        "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"1\" } }]\n",
        "[[step]]\ncalls = [{ tool = \"peek\", args = {} }]\n[[step]]\ntext = \"done\"\n",
    ];
    let (desk, session, task) = waiting(&script.concat());
    fs::write(task.join("tools/look.toml"), TOOL.replace("Look somewhere.", "Look somewhere else.")).unwrap();
    let peek = TOOL.replace("\"look\"", "\"peek\"").replace(", \"{where}\"", "");
    fs::write(task.join("tools/peek.toml"), peek.split("[params").next().unwrap()).unwrap();
    let toml = fs::read_to_string(task.join("task.toml")).unwrap();
    fs::write(task.join("task.toml"), toml.replace("version = 1\n", "version = 1\nsecrets = [\"SHOP\"]\n")).unwrap();
    let mut resume = desk.command(["resume", session.as_str()]);
    let ended = crate::support::ended(resume.env("CHECKREIN_SECRET_SHOP", "s").output().expect("it starts"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(
        ended.out.contains("not counted: tool `peek` is new\nnot counted: the instructions are others\n"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("there is no tool `peek` here"), "{}", ended.out);
    let changes = recomposed(&desk, &session);
    assert_eq!(changes, ["code: [\"tool `look` is described in other words\"]"]);
    desk.sound();
}

/// A sub-session that is taken up again has the rules that hold in the session that gave it its part.
#[test]
fn a_sub_session_takes_over_what_counts() {
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Write.\", may = \"work\" } }]\n\
        [[step]]\nsub = 1\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"1\" } }]\n\
        [[step]]\nsub = 1\ncalls = [{ tool = \"write\", args = { file_path = \"b.txt\", content = \"1\" } }]\n\
        [[step]]\nsub = 1\ntext = \"Written.\"\n[[step]]\ntext = \"done\"\n";
    let (desk, session, task) = waiting(script);
    fs::write(task.join("policy.toml"), [POLICY, DENY].concat()).unwrap();
    let lines = desk.json(["resume", &session]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert!(task.join("a.txt").exists() && !task.join("b.txt").exists());
    desk.sound();
}
