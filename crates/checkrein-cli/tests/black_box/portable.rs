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
    let there = |arguments: &[&str]| -> Command {
        let mut command = desk.command(arguments);
        command.env("CHECKREIN_HOME", desk.path("elsewhere/state"));
        command
    };
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
