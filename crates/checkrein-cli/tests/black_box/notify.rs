//! Somebody is told that a session waits: by a program of the person's, run through the gate.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Desk, Lines};

const WRITE: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";
const TELL: &str = "#!/bin/sh\ncat > told.json\necho told\n";
const NOTIFY: &str = "version = 1\nname = \"notify\"\nargv = [\"./tell\"]\noutput = \"text\"\n";

/// A desk whose person has this file and this program.
fn desk(notify: &str, program: &str) -> Desk {
    let desk = Desk::new();
    desk.write("home/.config/checkrein/notify.toml", notify);
    let path = desk.write("home/.config/checkrein/tell", program);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    desk
}

fn told(desk: &Desk) -> Option<Value> {
    let text = fs::read_to_string(desk.path("task/told.json")).ok()?;
    assert_eq!(text.lines().count(), 1, "one line: {text}");
    Some(serde_json::from_str(&text).unwrap())
}

/// The notes about telling: name and how it ended, with what was said.
fn notes(desk: &Desk, session: &str) -> Vec<(String, String)> {
    let exported = desk.run(["export", session]).out;
    let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let notes = events.filter(|event| event["type"] == "note");
    notes.map(|note| (text(&note, "name"), format!("{} {}", text(&note, "ended"), text(&note, "said")))).collect()
}

fn paused(desk: &Desk, policy: &str, more: &[&str]) -> Lines {
    let task = desk.task(WRITE, policy, "");
    let mut arguments = vec!["run", task.to_str().unwrap()];
    arguments.extend(more);
    let lines = desk.json(arguments);
    assert_eq!(lines.status(), "needs_approval", "{}{}", lines.outcome(), lines.ended.err);
    lines
}

/// The program gets one line that says what is waited for, confined or not; what came of it is in the journal, which verifies,
/// and the session goes on as if nobody had been told.
#[test]
fn a_session_that_waits_tells() {
    for more in [&[][..], &["--unconfined"]] {
        let desk = desk(NOTIFY, TELL);
        let lines = paused(&desk, "version = 1\n", more);
        let (said, id) = (told(&desk).expect("it was told"), lines.outcome()["approvals"][0].clone());
        assert_eq!((&said["session"], &said["resume"]), (&lines.session().into(), &lines.session().into()));
        assert_eq!((&said["status"], &said["code"]), (&"needs_approval".into(), &"NEEDS_APPROVAL".into()));
        assert_eq!((&said["waits_for"][0]["id"], &said["waits_for"][0]["tool"]), (&id, &"write".into()));
        assert!(!said.to_string().contains("hello"), "no arguments: {said}");
        let notes = notes(&desk, &lines.session());
        assert_eq!(notes, [("notifies".to_owned(), " ".to_owned()), ("notified".to_owned(), "ok ".to_owned())]);
        fs::remove_file(desk.path("task/told.json")).unwrap();
        assert_eq!(desk.run(["approvals", "approve", id.as_str().unwrap()]).code, 0);
        assert_eq!(desk.json(["resume", &lines.session()]).status(), "completed");
        assert_eq!(told(&desk), None, "it waits no more");
        assert_eq!(desk.run(["journal", "verify"]).code, 0);
        assert_eq!(desk.run(["replay"]).code, 0);
    }
}

/// A question of the model is told as well.
#[test]
fn a_question_is_told() {
    let desk = desk(NOTIFY, TELL);
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"ask_user\", args = { question = \"Blue or green?\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(script, "version = 1\n", "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "needs_input", "{}", lines.outcome());
    let said = told(&desk).expect("it was told");
    assert_eq!((&said["status"], &said["reason"]), (&"needs_input".into(), &"Blue or green?".into()));
}

/// A program that fails, hangs or may not run changes nothing of the session, and is told and noted.
#[test]
fn a_notification_that_fails_changes_nothing() {
    let hangs = format!("{NOTIFY}timeout_s = 1\n");
    let no = "version = 1\n[[rule]]\nid = \"quiet\"\ndecision = \"deny\"\nreason = \"nobody is told\"\neffect = \"tool\"\ntool = \"notify\"\n";
    for (notify, program, policy, said) in [
        (NOTIFY, "#!/bin/sh\necho no line >&2\nexit 3\n", "version = 1\n", "no line"),
        (&hangs, "#!/bin/sh\nsleep 60\n", "version = 1\n", "was ended after its limit of 1 s"),
        (NOTIFY, "no program", "version = 1\n", "there is no program"),
        (NOTIFY, TELL, no, "nobody is told"),
    ] {
        let desk = desk(notify, program);
        if program == "no program" {
            fs::remove_file(desk.path("home/.config/checkrein/tell")).unwrap();
        }
        let lines = paused(&desk, policy, &[]);
        let notes = notes(&desk, &lines.session());
        let (name, last) = notes.last().unwrap();
        assert!(name == "notified" && last.starts_with("failed ") && last.contains(said), "{said}: {notes:?}");
        assert_eq!(told(&desk), None);
        assert_eq!(desk.run(["journal", "verify"]).code, 0);
        let live = desk.run(["run".as_ref(), desk.path("task").as_os_str()]);
        assert_eq!((live.code, live.out.contains("nobody could be told that it waits")), (3, true), "{}", live.out);
    }
}

/// A file that names no program, or wants what nobody could give, is a mistake with its place.
#[test]
fn a_broken_file_is_named() {
    for wrong in
        ["version = 1\nname = \"notify\"\n", &NOTIFY.replace("\"notify\"", "\"other\""), "version = 1\nargv = 3\n"]
    {
        let desk = desk(wrong, TELL);
        let task = desk.task(WRITE, "version = 1\n", "");
        let ended = desk.run(["run".as_ref(), task.as_os_str()]);
        assert_eq!((ended.code, ended.err.contains("notify.toml:")), (2, true), "{}", ended.err);
    }
}
