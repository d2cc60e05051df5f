//! `fork`: another end from the same beginning, in a workspace of its own, with nobody's yes but its own.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::Desk;

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"write\"\npaths = [\"{root}/**\"]\nexcept = [\"{root}/asked/**\"]\n\
    [[rule]]\nid = \"asked\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/asked/**\"]\n\
    [[rule]]\nid = \"touch\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"run\"\nwords = [\"touch\"]\n\
    [[rule]]\nid = \"time\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"metadata\"\npaths = [\"{root}/**\"]\n";
const READ: &str =
    "version = 1\n[[step]]\ntext = \"I look.\"\ncalls = [{ tool = \"read\", args = { file_path = \"a.txt\" } }]\n";
const COPY: &str = "workspace = \"copy\"\n";

fn write(path: &str, content: &str) -> String {
    format!(
        "[[step]]\ncalls = [{{ tool = \"write\", args = {{ file_path = \"{path}\", content = \"{content}\" }} }}]\n"
    )
}

fn answer(text: &str) -> String {
    format!("[[step]]\ntext = \"{text}\"\n")
}

fn desk(script: &str, more: &str) -> (Desk, String) {
    let desk = Desk::new();
    let task = desk.task(script, POLICY, more);
    desk.write("task/a.txt", "one\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let session = lines.session();
    (desk, session)
}

/// The number of the n-th event of this type, from 0.
fn seq(desk: &Desk, session: &str, kind: &str, n: usize) -> u64 {
    let events = desk.events(session);
    let mut found = events.iter().filter(|event| event["type"] == kind);
    found.nth(n).unwrap_or_else(|| panic!("no {kind} {n}"))["seq"].as_u64().expect("a number")
}

/// Forks, with these words, and gives the new session and what was said of it.
fn fork(desk: &Desk, arguments: &[&str]) -> Value {
    let ended = desk.run(["fork"].iter().chain(arguments).chain(&["--json"]));
    assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.err);
    serde_json::from_str(&ended.out).expect("JSON")
}

fn contents(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Before the wrong turn, with another script, to another end: the first events are those of the other session, the
/// workspace is as it was given to that one, and both journals prove what they hold.
#[test]
fn another_end_from_before_a_wrong_turn() {
    let script = [READ, &write("wrong.txt", "x"), &answer("Wrong.")].concat();
    let (desk, session) = desk(&script, COPY);
    let at = seq(&desk, &session, "request", 1) - 1;
    desk.write("other.toml", &["version = 1\n", &write("right.txt", "one"), &answer("Right.")].concat());
    let name = format!("{session}@{at}");
    let said = desk.run(["fork", &name, "--model", "script:other.toml", "--by", "dana"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let forked = said.out.split_whitespace().next().expect("its id").to_owned();
    assert_snapshot!(desk.steady(&said.out));
    let done = desk.json(["resume", &forked]);
    assert_eq!((done.status(), done.outcome()["answer"].as_str()), ("completed", Some("Right.")), "{}", done.outcome());
    assert_eq!(contents(&done.workspace()), ["a.txt", "right.txt"]);
    assert_eq!(contents(&desk.path(&format!("state/sessions/{session}/workspace"))), ["a.txt", "wrong.txt"]);
    desk.sound();

    let (old, new) = (desk.events(&session), desk.events(&forked));
    for (old, new) in old.iter().zip(&new).take(usize::try_from(at).unwrap()).skip(1) {
        let bare = |event: &Value| {
            let mut event = event.clone();
            let fields = event.as_object_mut().expect("an object");
            fields.remove("hash");
            fields.remove("journal");
            event
        };
        assert_eq!(bare(old), bare(new));
    }
    let from = &new[0]["forked"];
    assert_eq!((from["session"].as_str(), from["seq"].as_u64()), (Some(session.as_str()), Some(at)));
    assert_eq!(from["hash"], old[usize::try_from(at).unwrap() - 1]["hash"]);
    let begins = &new[usize::try_from(at).unwrap()];
    assert_eq!((begins["type"].as_str(), begins["by"].as_str()), (Some("recomposed"), Some("person:dana")));
    // It is whole by itself: verified and done again from its export alone.
    desk.write("fork.jsonl", &desk.run(["export", &forked]).out);
    assert_eq!(desk.run(["replay", "--file", "fork.jsonl"]).code, 0);
    let list = desk.run(["sessions"]).out;
    assert_eq!(list.lines().count(), 2, "{list}");
}

/// Behind a change: the workspace is a copy of what is there now, what came later is named, and what was seen of a file before
/// was seen of its copy, so that an edit goes on without another look.
#[test]
fn behind_a_change_the_workspace_is_copied_as_it_is() {
    let edit = "[[step]]\ncalls = [{ tool = \"edit\", args = { file_path = \"b.txt\", edits = [{ old = \"mid\", new = \"end\" }] } }]\n";
    let touch = "[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"touch late.txt\" } }]\n";
    let script = [READ, &write("b.txt", "mid"), touch, &answer("done")].concat();
    let (desk, session) = desk(&script, COPY);
    let at = seq(&desk, &session, "request", 2) - 1;
    desk.write("other.toml", &["version = 1\n", edit, &answer("edited")].concat());
    let made = fork(&desk, &[&format!("{session}@{at}"), "--model", "script:other.toml"]);
    assert_eq!((made["workspace"].as_str(), made["later"][0]["tool"].as_str()), (Some("copy"), Some("bash")), "{made}");
    assert_eq!(made["later"].as_array().map(Vec::len), Some(1), "{made}");
    let done = desk.json(["resume", made["session"].as_str().unwrap()]);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    assert_eq!(fs::read_to_string(done.workspace().join("b.txt")).unwrap(), "end", "{}", done.result(0));
    assert_eq!(contents(&done.workspace()), ["a.txt", "b.txt", "late.txt"]);
    let old = desk.path(&format!("state/sessions/{session}/workspace/b.txt"));
    assert_eq!(fs::read_to_string(old).unwrap(), "mid", "the other session's is left alone");
    desk.sound();
}

/// Shows R96, R100, R106: a yes that was given in one session is none in its fork, used or not; the fork asks for itself.
#[test]
fn no_yes_of_the_other_session_counts() {
    let script = ["version = 1\n", &write("asked/x", "1"), &answer("done")].concat();
    let (desk, session) = desk(&script, COPY);
    let waiting = |desk: &Desk| -> Vec<Value> {
        let list = desk.run(["approvals", "list", "--json", "--all"]).out;
        list.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let id = waiting(&desk)[0]["id"].as_str().unwrap().to_owned();
    let pending = fork(&desk, &[&session]);
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let approved = fork(&desk, &[&session]);
    for made in [&pending, &approved] {
        let forked = made["session"].as_str().unwrap();
        assert_eq!(made["workspace"], "fresh");
        let lines = desk.json(["resume", forked]);
        assert_eq!((lines.ended.code, lines.status()), (3, "needs_approval"), "{}", lines.outcome());
        let own = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
        assert_ne!(own, id);
        assert_eq!(lines.of("ask")[0]["session"], forked);
        assert!(!lines.workspace().join("asked/x").exists());
    }
    assert_eq!(waiting(&desk).len(), 3, "one each");
    let done = desk.json(["resume", &session]);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    // Behind its use: the write is in the past of the fork, and no yes is left over for another one.
    let after = fork(&desk, &[&format!("{session}@{}", seq(&desk, &session, "finished", 0))]);
    assert_eq!((after["workspace"].as_str(), after["next"].as_str()), (Some("copy"), Some("request 2 to the model")));
    let lines = desk.json(["resume", after["session"].as_str().unwrap()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    let own = pending["session"].as_str().unwrap();
    let request = waiting(&desk).into_iter().find(|line| line["session"] == *own).expect("its own question");
    assert_eq!(desk.run(["approvals", "approve", request["id"].as_str().unwrap(), "--by", "dana"]).code, 0);
    assert_eq!(desk.json(["resume", own]).status(), "completed");
    desk.sound();
}

/// What had been started and has no end at the cut is a person's to settle, as after a crash; a reply that was on its way is
/// asked for again.
#[test]
fn what_the_cut_leaves_open_is_as_on_resume() {
    let touch = "[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"touch made.txt\" } }]\n";
    let (desk, session) = desk(&["version = 1\n", touch, &answer("done")].concat(), COPY);
    let at = |kind: &str| format!("{session}@{}", seq(&desk, &session, kind, 0));
    let started = fork(&desk, &[&at("started")]);
    let lines = desk.json(["resume", started["session"].as_str().unwrap()]);
    assert_eq!((lines.status(), lines.outcome()["code"].as_str()), ("needs_input", Some("TOOL_OUTCOME_UNKNOWN")));
    let done = desk.json(["resume", &lines.session(), "--unknown", "c1-1=done", "--note", "it is there"]);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    let requested = fork(&desk, &[&at("request")]);
    assert_eq!(desk.json(["resume", requested["session"].as_str().unwrap()]).status(), "completed");
    desk.sound();
}

/// A session that is over goes on with another word of a person; a fork can be forked; a folder that is worked in itself is
/// shared, and the fork says so.
#[test]
fn words_go_on_where_a_session_ended() {
    let script = [READ, &answer("one")].concat();
    let (desk, session) = desk(&script, "");
    desk.write("more.toml", "version = 1\n[[step]]\nwhen = { user_contains = \"And twice?\" }\ntext = \"two\"\n");
    let more = ["--model", "script:more.toml"];
    let first = fork(&desk, &[&session, "And", "twice?", more[0], more[1]]);
    assert_eq!(
        (first["workspace"].as_str(), first["later"].as_array().map(Vec::len)),
        (Some("same"), Some(0)),
        "{first}"
    );
    let done = desk.json(["resume", first["session"].as_str().unwrap()]);
    assert_eq!((done.status(), done.outcome()["answer"].as_str()), ("completed", Some("two")), "{}", done.outcome());
    assert_eq!(done.workspace(), desk.path("task"));
    let second = fork(&desk, &[&done.session(), "And twice? Again.", more[0], more[1]]);
    let done = desk.json(["resume", second["session"].as_str().unwrap()]);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    let forked = &desk.events(&done.session())[0]["forked"];
    assert_eq!(forked["session"], first["session"]);
    assert_eq!(forked["before"]["session"].as_str(), Some(session.as_str()));
    desk.sound();
}

/// Where a session can not be cut, what to type instead.
#[test]
fn what_can_not_be_forked_says_why() {
    let task = "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Look.\" } }]\n[[step]]\nsub = 1\ntext = \"Nothing.\"\n";
    let (desk, session) = desk(&[READ, task, &answer("done")].concat(), COPY);
    let last = desk.events(&session).len();
    let middle = seq(&desk, &session, "decision", 0);
    let sub = desk.run(["sessions"]).out;
    let sub = sub.lines().next().and_then(|line| line.split(' ').next()).expect("the newest").to_owned();
    let mut all = String::new();
    for arguments in [
        vec![session.clone()],
        vec![format!("{session}@0")],
        vec![format!("{session}@{}", last + 1)],
        vec![format!("{session}@x")],
        vec![format!("{session}@{middle}"), "And then?".to_owned()],
        vec![sub],
        vec!["s-none@1".to_owned()],
        vec![format!("{session}@2"), "--model".to_owned(), "script:none.toml".to_owned()],
        vec![format!("{session}@2"), "--policy".to_owned(), "none.toml".to_owned()],
    ] {
        let ended = desk.run(["fork".to_owned()].iter().chain(&arguments));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
        all.push_str(&format!("$ checkrein fork {}\n{}\n", arguments.join(" "), ended.err));
    }
    assert_eq!(desk.run(["sessions"]).out.lines().count(), 2, "nothing was made");
    assert_snapshot!(desk.steady(&all));
}

/// Another policy holds in the fork from the cut on, and what was decided before is judged by the one of its time.
#[test]
fn another_policy_holds_from_the_cut_on() {
    let script = [READ, &write("b.txt", "x"), &answer("done")].concat();
    let (desk, session) = desk(&script, COPY);
    desk.write(
        "strict.toml",
        &POLICY.replace("id = \"write\"\ndecision = \"allow\"", "id = \"write\"\ndecision = \"deny\""),
    );
    let at = seq(&desk, &session, "request", 1) - 1;
    let made = fork(&desk, &[&format!("{session}@{at}"), "--policy", "strict.toml"]);
    let lines = desk.json(["resume", made["session"].as_str().unwrap()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_eq!(lines.of("finished")[0]["code"], "DENIED");
    assert!(!lines.workspace().join("b.txt").exists());
    desk.sound();
}
