//! Bad input: a clear error that names the place, and nothing lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::support::Desk;

const GOOD_SCRIPT: &str = "version = 1\n[[step]]\ntext = \"done\"\n";
const GOOD_POLICY: &str = "version = 1\n";

fn complaint(script: &str, policy: &str, more: &str) -> String {
    let desk = Desk::new();
    let task = desk.task(script, policy, more);
    let ended = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert_eq!(ended.out, "", "nothing began");
    desk.steady(&ended.err)
}

/// Broken files name file, line, key and the near miss.
#[test]
fn mistakes_in_files_name_their_place() {
    let mut all = String::new();
    for (script, policy, more) in [
        (GOOD_SCRIPT, GOOD_POLICY, "promt = \"x\"\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "[budget]\nsetps = 3\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "[budget]\nsteps = \"many\"\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "on_ask = \"pauze\"\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "workspace = \"copied\"\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "tools = [\"raed\"]\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "skills = [\"skills/none\"]\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "[[verify]]\nfile = \"a\"\n"),
        (GOOD_SCRIPT, GOOD_POLICY, "[context]\npolicy = \"keep_evrything\"\n"),
        (GOOD_SCRIPT, "version = 2\n", ""),
        (GOOD_SCRIPT, "version = 1\ndefault = \"allow\"\n", ""),
        (
            GOOD_SCRIPT,
            "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"alow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n",
            "",
        ),
        (
            GOOD_SCRIPT,
            "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npath = [\"{root}/**\"]\n",
            "",
        ),
        (
            GOOD_SCRIPT,
            "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"ask\"\nreason = \"r\"\neffect = \"tool\"\ntool = \"raed\"\n",
            "",
        ),
        (
            GOOD_SCRIPT,
            "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"deny\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/a\"]\nmatches = [\"b\"]\n",
            "",
        ),
        (
            GOOD_SCRIPT,
            "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"tool\"\ntool = \"read\"\nwhere.amount = { min = 3, max = 2 }\n",
            "",
        ),
        ("version = 1\n[[step]]\ntxt = \"a\"\n", GOOD_POLICY, ""),
        ("version = 1\n[[step]\n", GOOD_POLICY, ""),
    ] {
        all.push_str(&complaint(script, policy, more));
        all.push('\n');
    }
    assert_snapshot!(all);
}

#[test]
fn words_and_folders_that_are_none() {
    let desk = Desk::new();
    desk.write("empty/readme.md", "nothing");
    desk.write("half/task.toml", "version = 1\nprompt = \"x\"\nscript = \"gone.toml\"\n");
    let mut all = String::new();
    for arguments in [
        vec!["run", "examples/none"],
        vec!["run", "empty"],
        vec!["run", "half"],
        vec!["run", "half", "and", "more"],
        vec!["run", "say hello"],
        vec!["run", "say hello", "--model", "anthropic:some-model"],
        vec!["run", "say hello", "--model", "script:gone.toml"],
        vec!["run", "half", "--budget", "steps=many"],
        vec!["resume", "s-none"],
        vec!["show", "s-none"],
        vec!["approvals", "approve", "a-none"],
        vec!["policy", "check", "ls", "--policy", "gone.toml"],
        vec!["runn"],
    ] {
        let ended = desk.run(&arguments);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
        all.push_str(&format!("$ checkrein {}\n{}\n", arguments.join(" "), desk.steady(&ended.err)));
    }
    assert_snapshot!(all);
}

/// A program that reads lines of JSON gets one where something went wrong, too: with the code, where there is one.
#[test]
fn programs_read_what_went_wrong() {
    let desk = Desk::new();
    let mut all = String::new();
    for arguments in [["run", "examples/none"], ["show", "s-none"], ["approvals", "list"], ["sessions", "--nonsense"]] {
        let ended = desk.run(arguments.iter().chain(&["--json"]));
        all.push_str(&format!("{}: {}\n", ended.code, desk.steady(&ended.out)));
    }
    assert_snapshot!(all);
}

/// A journal that is no journal is named and left as it is.
#[test]
fn a_corrupt_journal_is_left_as_it_is() {
    let desk = Desk::new();
    let task = desk.task(GOOD_SCRIPT, GOOD_POLICY, "");
    fs::create_dir_all(desk.path("state")).unwrap();
    fs::write(desk.path("state/journal.db"), b"this is no database, but it may be somebody's".repeat(200)).unwrap();
    let before = fs::read(desk.path("state/journal.db")).unwrap();
    for arguments in [vec!["run", task.to_str().unwrap()], vec!["sessions"], vec!["journal", "verify"]] {
        let ended = desk.run(&arguments);
        assert_eq!(ended.code, 1, "{}", ended.err);
        assert!(ended.err.contains("journal.db"), "{}", ended.err);
        assert_eq!(fs::read(desk.path("state/journal.db")).unwrap(), before);
    }
}

/// A state folder that can not be made is an error with its path.
#[test]
fn a_state_folder_that_is_a_file() {
    let desk = Desk::new();
    let task = desk.task(GOOD_SCRIPT, GOOD_POLICY, "");
    fs::write(desk.path("state"), "a file").unwrap();
    let ended = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(ended.code, 1);
    assert_snapshot!(desk.steady(&ended.err), @"error: the state folder DESK/state can not be used: File exists (os error 17)");
}

/// Nobody else can look into the state folder.
#[test]
fn the_state_folder_is_private() {
    let desk = Desk::new();
    let task = desk.task(GOOD_SCRIPT, GOOD_POLICY, "");
    assert_eq!(desk.run(["run".as_ref(), task.as_os_str()]).code, 0);
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("state"), mode("state/journal.db")), (0o700, 0o600));
}
