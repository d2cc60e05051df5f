//! Somebody is told that a session waits: by a program of the person's, run through the gate.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Desk, Lines};

const WRITE: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";
/// `TASK` stands for the task's folder.
const TELL: &str = "#!/bin/sh\ncat > TASK/told.json\necho told\n";
const NOTIFY: &str = "version = 1\nname = \"notify\"\nargv = [\"./tell\"]\noutput = \"text\"\n";

/// A desk whose person has this file and this program.
fn desk(notify: &str, program: &str) -> Desk {
    let desk = Desk::new();
    desk.write("home/.config/checkrein/notify.toml", notify);
    own_program(&desk, "home/.config/checkrein/tell", program);
    desk
}

fn own_program(desk: &Desk, name: &str, program: &str) {
    let path = desk.write(name, &program.replace("TASK", &desk.path("task").display().to_string()));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
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
        let decided = ("notify_decided", " ");
        let expected = [decided, decided, ("notifies", " "), ("notified", "ok ")];
        assert_eq!(notes, expected.map(|(name, how)| (name.to_owned(), how.to_owned())));
        fs::remove_file(desk.path("task/told.json")).unwrap();
        assert_eq!(desk.run(["approvals", "approve", id.as_str().unwrap()]).code, 0);
        assert_eq!(desk.json(["resume", &lines.session()]).status(), "completed");
        assert_eq!(told(&desk), None, "it waits no more");
        assert_eq!(desk.run(["journal", "verify"]).code, 0);
        assert_eq!(desk.run(["replay"]).code, 0);
    }
}

/// What was decided of it is on record: that the rules ask, that the person's file is the yes, or the rule that says no.
#[test]
fn the_decision_is_on_record() {
    let no = "version = 1\n[[rule]]\nid = \"quiet\"\ndecision = \"deny\"\nreason = \"nobody is told\"\neffect = \"tool\"\ntool = \"notify\"\n";
    for (policy, verdicts, rule) in [("version = 1\n", &["ask", "allow"][..], "r-notify"), (no, &["deny"], "quiet")] {
        let desk = desk(NOTIFY, TELL);
        let session = paused(&desk, policy, &[]).session();
        let decided: Vec<Value> =
            desk.events(&session).into_iter().filter(|event| event["name"] == "notify_decided").collect();
        let found: Vec<&str> = decided.iter().filter_map(|event| event["decision"]["decision"].as_str()).collect();
        assert_eq!(found, verdicts, "{decided:?}");
        let last = &decided.last().unwrap()["decision"]["trace"][0];
        assert!(last["rule"] == *rule || last["file"] == *rule, "{last}");
        desk.sound();
    }
}

/// The program is the person's own: it runs in the configuration folder, and nothing that lies in the project is taken for it or for
/// what it starts, whatever `PATH` says.
#[test]
fn a_project_brings_no_program_that_tells() {
    let theirs = "#!/bin/sh\necho theirs > TASK/theirs\n";
    let tell = "#!/bin/sh\npwd > TASK/told.json\nmore-of-it\n";
    for (argv, told_from) in [("\"./tell\"", "tell"), ("\"tell-me\"", "own/tell-me"), ("\"sh\", \"tell\"", "tell")] {
        let desk = desk(&NOTIFY.replace("\"./tell\"", argv), tell);
        own_program(&desk, "own/tell-me", tell);
        own_program(&desk, "own/more-of-it", "#!/bin/sh\nexit 0\n");
        for name in ["task/tell", "task/tell-me", "task/bin/tell-me", "task/sh", "task/bin/sh", "task/bin/more-of-it"] {
            own_program(&desk, name, theirs);
        }
        let task = desk.task(WRITE, "version = 1\n", "");
        let own = desk.path("own").display().to_string();
        let path = format!(".:bin::{}:{own}:/usr/bin:/bin", desk.path("task/bin").display());
        let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
        let lines = Lines::of_command(command.current_dir(&task).env("PATH", path));
        assert_eq!(lines.status(), "needs_approval", "{}{}", lines.outcome(), lines.ended.err);
        let notes = notes(&desk, &lines.session());
        assert!(notes.last().unwrap().1.starts_with("ok "), "{argv} {told_from}: {notes:?}");
        assert!(!desk.path("task/theirs").exists(), "{argv}");
        let folder = fs::read_to_string(desk.path("task/told.json")).unwrap();
        assert_eq!(folder.trim(), desk.path("home/.config/checkrein").display().to_string(), "{argv}");
    }
    for odd in ["bin/tell", "../checkrein/tell"] {
        let desk = desk(&NOTIFY.replace("./tell", odd), TELL);
        let task = desk.task(WRITE, "version = 1\n", "");
        let ended = desk.run(["run".as_ref(), task.as_os_str()]);
        assert!(ended.code == 2 && ended.err.contains("notify.toml:3: `argv`: name a program"), "{}", ended.err);
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
