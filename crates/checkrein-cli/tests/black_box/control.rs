//! What steers a session is out of its reach.

use std::fs;

use crate::support::Desk;

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
    std::os::unix::fs::symlink("policy.toml", desk.path("task/link.toml")).unwrap();
    let before = fs::read_to_string(desk.path("task/policy.toml")).unwrap();
    let run = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.ended.code, 0, "{}{}", run.ended.out, run.ended.err);
    let codes: Vec<_> =
        run.of("finished").iter().map(|line| line["code"].as_str().unwrap_or("ok").to_owned()).collect();
    assert_eq!(codes, [["DENIED"; 8].as_slice(), &["ok"]].concat(), "{}", run.ended.out);
    assert_eq!(fs::read_to_string(desk.path("task/policy.toml")).unwrap(), before);
    assert_eq!(fs::read_to_string(desk.path("task/notes.txt")).unwrap(), "mine");
}
