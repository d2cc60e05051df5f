//! A journal that is taken elsewhere: paused in one folder, copied to another, approved and resumed there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Desk, Lines, ended};

const POLICY: &str = "version = 1\n[[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";
const SCRIPT: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// The binary with its state folder elsewhere on the desk.
fn there(desk: &Desk, state: &str, arguments: &[&str]) -> Command {
    let mut command = desk.command(arguments);
    command.env("CHECKREIN_HOME", desk.path(state));
    command
}

/// Shows R101, R167: a session with a workspace of its own goes on where its state folder is now, moved or copied, under the
/// yes that was given to it; a copy leaves the workspace that it was copied from alone.
#[test]
fn the_workspace_comes_along() {
    for moved in [true, false] {
        let desk = Desk::new();
        let task = desk.task(SCRIPT, POLICY, "workspace = \"copy\"\n");
        let paused = desk.json(["run".as_ref(), task.as_os_str()]);
        let (session, id) = (paused.session(), paused.outcome()["approvals"][0].as_str().expect("an id").to_owned());
        let workspace = format!("sessions/{session}/workspace/a.txt");
        if moved {
            fs::rename(desk.path("state"), desk.path("there")).expect("moved");
        } else {
            copied(&desk.path("state"), &desk.path("there"));
        }
        let run = |arguments: &[&str]| ended(there(&desk, "there", arguments).output().expect("it starts"));
        assert_eq!(run(&["approvals", "approve", &id, "--by", "dana"]).code, 0);
        let done = Lines::of_command(&mut there(&desk, "there", &["resume", &session]));
        assert_eq!((done.status(), done.ended.code), ("completed", 0), "{}", done.outcome());
        assert_eq!(fs::read_to_string(desk.path("there").join(&workspace)).expect("written"), "hello");
        assert!(!desk.path("state").join(&workspace).exists(), "nothing happens where it was");
        for arguments in [["journal", "verify"].as_slice(), &["replay", session.as_str()]] {
            let sound = run(arguments);
            assert_eq!(sound.code, 0, "{}{}", sound.out, sound.err);
        }
    }
}

/// A session whose workspace is gone does not go on, and keeps the yes that was given to it.
#[test]
fn no_yes_is_spent_on_what_can_not_run() {
    let desk = Desk::new();
    let task = desk.task(SCRIPT, POLICY, "workspace = \"copy\"\n");
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    let (session, id) = (paused.session(), paused.outcome()["approvals"][0].as_str().expect("an id").to_owned());
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let workspace = desk.path(&format!("state/sessions/{session}/workspace"));
    fs::rename(&workspace, desk.path("away")).expect("moved");
    let refused = desk.run(["resume", &session]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("is not here: there is no folder"), "{}", refused.err);
    fs::rename(desk.path("away"), &workspace).expect("moved back");
    assert_eq!(desk.json(["resume", &session]).status(), "completed");
    assert_eq!(fs::read_to_string(workspace.join("a.txt")).expect("written"), "hello");
}

/// Shows R101, R167: nothing but the journal is needed to answer and to go on, and what one of the two journals did, the other
/// does not know; the head that was noted before the pause is an anchor in both.
#[test]
fn paused_here_approved_and_resumed_there() {
    let desk = Desk::new();
    let task = desk.task(SCRIPT, POLICY, "");
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(paused.status(), "needs_approval", "{}", paused.outcome());
    let (session, id) = (paused.session(), paused.outcome()["approvals"][0].as_str().expect("an id").to_owned());
    copied(&desk.path("state"), &desk.path("elsewhere/state"));
    let there = |arguments: &[&str]| there(&desk, "elsewhere/state", arguments);
    let approved = ended(there(&["approvals", "approve", &id, "--by", "dana"]).output().expect("it starts"));
    assert_eq!(approved.code, 0, "{}", approved.err);
    let done = Lines::of_command(&mut there(&["resume", &session]));
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    assert_eq!(fs::read_to_string(task.join("a.txt")).expect("written"), "hello");
    for arguments in [["journal", "verify", session.as_str()].as_slice(), &["replay", session.as_str()]] {
        let sound = ended(there(arguments).output().expect("it starts"));
        assert_eq!(sound.code, 0, "{}{}", sound.out, sound.err);
    }
    // The journal here knows nothing of it, and its question is open.
    let here = desk.run(["sessions"]).out;
    assert!(here.contains("needs_approval"), "{here}");
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}
