//! What steers a session is out of its reach.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Desk, Lines};

const POLICY: &str = "version = 1\n[[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"the task\"\neffect = \"write\"\npaths = [\"/**\"]\n";

/// Shows R176: where a session works in the folder that holds its task, it can write neither the task nor its script,
/// policy, tools and skills, however the path is spelled and whatever the policy of the task says.
#[test]
fn a_session_can_not_change_what_steers_it() {
    let desk = Desk::new();
    let mut script = "version = 1\n[[step]]\ncalls = [\n".to_owned();
    let control = [
        "task.toml",
        "./script.toml",
        "sub/../policy.toml",
        "tools/more.toml",
        "tools",
        "tool.sh",
        "skills/house/SKILL.md",
        "link.toml",
    ];
    for path in control.iter().chain(&["notes.txt"]) {
        script.push_str(&format!("{{ tool = \"write\", args = {{ file_path = \"{path}\", content = \"mine\" }} }},\n"));
    }
    script.push_str("]\n[[step]]\ntext = \"done\"\n");
    let task = desk.task(&script, POLICY, "skills = [\"skills/house\"]\n");
    desk.write("task/sub/keep", "");
    desk.write("task/tool.sh", "#!/bin/sh\necho '{}'\n");
    desk.write("task/skills/house/SKILL.md", "---\nname: house\ndescription: House rules.\n---\nBe kind.\n");
    desk.write(
        "task/tools/mine.toml",
        "version = 1\nname = \"mine\"\ndescription = \"Does nothing.\"\nargv = [\"./tool.sh\"]\nkind = \"pure\"\neffects = []\n",
    );
    symlink("policy.toml", desk.path("task/link.toml")).unwrap();
    let before = fs::read_to_string(desk.path("task/policy.toml")).unwrap();
    let run = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.ended.code, 0, "{}{}", run.ended.out, run.ended.err);
    let codes: Vec<_> =
        run.of("finished").iter().map(|line| line["code"].as_str().unwrap_or("ok").to_owned()).collect();
    assert_eq!(codes, [["DENIED"; 8].as_slice(), &["ok"]].concat(), "{}", run.ended.out);
    assert_eq!(fs::read_to_string(desk.path("task/policy.toml")).unwrap(), before);
    assert_eq!(fs::read_to_string(desk.path("task/notes.txt")).unwrap(), "mine");
}

/// The folders of configuration and state are guarded wherever the environment puts them, by the name they were given and by what
/// they really are, also where they lie in the very folder that a session works in.
#[test]
fn a_session_can_not_change_the_harness_wherever_it_keeps_its_things() {
    let all = ["write", "delete", "metadata"].map(|effect| {
        format!("[[rule]]\nid = \"{effect}\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"{effect}\"\npaths = [\"/**\"]\n")
    });
    let run = "[[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"rm\", \"chmod\", \"sh\"]\n";
    let read =
        "[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";
    let policy = format!("version = 1\n{run}{read}{}", all.concat());
    for (config, state) in [("conf", "state"), ("to-conf", "to-state")] {
        let desk = Desk::new();
        desk.write("task/conf/checkrein/policy.toml", "version = 1\n");
        desk.write("task/state/keep", "");
        symlink("conf", desk.path("task/to-conf")).unwrap();
        symlink("state", desk.path("task/to-state")).unwrap();
        let held =
            ["conf/checkrein/policy.toml", "to-conf/checkrein/keys.toml", "state/notes.txt", "to-state/journal.db"];
        let mut calls: Vec<String> = held
            .map(|path| format!("{{ tool = \"write\", args = {{ file_path = \"{path}\", content = \"mine\" }} }}"))
            .to_vec();
        let commands = [
            "rm conf/checkrein/policy.toml",
            "rm -r state",
            "chmod 666 state/journal.db",
            "chmod 666 to-conf/checkrein/policy.toml",
        ];
        calls.extend(commands.map(|command| format!("{{ tool = \"bash\", args = {{ command = \"{command}\" }} }}")));
        calls.push("{ tool = \"write\", args = { file_path = \"conf/other.txt\", content = \"mine\" } }".to_owned());
        let script = format!("version = 1\n[[step]]\ncalls = [\n{}\n]\n[[step]]\ntext = \"done\"\n", calls.join(",\n"));
        let task = desk.task(&script, &policy, "");
        let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
        command
            .env("XDG_CONFIG_HOME", desk.path("task").join(config))
            .env("CHECKREIN_HOME", desk.path("task").join(state));
        let run = Lines::of_command(&mut command);
        let codes: Vec<_> =
            run.of("finished").iter().map(|line| line["code"].as_str().unwrap_or("ok").to_owned()).collect();
        assert_eq!(codes, [["DENIED"; 8].as_slice(), &["ok"]].concat(), "{config}: {}{}", run.ended.out, run.ended.err);
        // Nor can what runs there, though it may write whatever else lies in the project.
        let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"sh change.sh\" } }]\n[[step]]\ntext = \"done\"\n";
        desk.task(script, &policy, "");
        desk.write("task/change.sh", "for f in conf/checkrein/policy.toml to-conf/checkrein/new.toml state/new; do echo mine > $f; done\necho mine > conf/other.txt\n");
        let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
        command
            .env("XDG_CONFIG_HOME", desk.path("task").join(config))
            .env("CHECKREIN_HOME", desk.path("task").join(state));
        let run = Lines::of_command(&mut command);
        assert_eq!(run.status(), "completed", "{}{}", run.outcome(), run.ended.err);
        assert_eq!(fs::read_to_string(desk.path("task/conf/checkrein/policy.toml")).unwrap(), "version = 1\n");
        for path in ["task/conf/checkrein/new.toml", "task/state/new"] {
            assert!(!desk.path(path).exists(), "{path}: {}", run.ended.out);
        }
        assert_eq!(fs::read_to_string(desk.path("task/conf/other.txt")).unwrap(), "mine\n", "{}", run.ended.out);
    }
}
