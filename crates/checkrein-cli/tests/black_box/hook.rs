//! `hook`: what other agents hear, what stays in the journal, and that nothing which goes wrong lets a call through.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Desk, Ended, ended, skipped};

const POLICY: &str = r#"version = 1
[[rule]]
id = "look"
decision = "allow"
reason = "looking changes nothing"
effect = "run"
read_only = true
[[rule]]
id = "read"
decision = "allow"
reason = "reading the project is free"
effect = "read"
paths = ["{root}/**"]
[[rule]]
id = "push"
decision = "ask"
reason = "pushing is visible to others"
effect = "run"
words = ["git", "push"]
"#;

/// A desk with a person's policy, and a project.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("home/.config/checkrein/policy.toml", POLICY);
    desk.write("project/a.txt", "a\n");
    desk
}

fn payload(desk: &Desk, tool: &str, input: &Value, mode: &str) -> String {
    json!({
        "session_id": "theirs-1",
        "transcript_path": null,
        "cwd": desk.path("project"),
        "permission_mode": mode,
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "t-1",
        "a_field_of_tomorrow": true,
    })
    .to_string()
}

fn bash(desk: &Desk, command: &str) -> String {
    payload(desk, "Bash", &json!({ "command": command }), "default")
}

fn answered(desk: &Desk, mut command: Command, payload: &str) -> Ended {
    command.current_dir(desk.path("project")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the hook starts");
    // A hook that blocks before it has read all closes the pipe.
    _ = child.stdin.take().expect("a pipe").write_all(payload.as_bytes());
    ended(child.wait_with_output().expect("the hook ends"))
}

fn hook(desk: &Desk, agent: &str, payload: &str) -> Ended {
    answered(desk, desk.command(["hook", "--for", agent]), payload)
}

fn told(ended: &Ended) -> String {
    format!("exit {}\nout: {}\nerr: {}", ended.code, ended.out, ended.err)
}

/// Each verdict in the words of each agent. Codex knows no *ask*; Claude Code asks nobody in some of its modes.
///
/// Shows R77, R112.
#[test]
fn verdicts_in_the_callers_words() {
    let desk = desk();
    let mut all = String::new();
    for (what, text) in [
        ("allow", bash(&desk, "cat a.txt")),
        ("ask", bash(&desk, "git push")),
        ("ask where nobody is asked", payload(&desk, "Bash", &json!({ "command": "git push" }), "bypassPermissions")),
        ("deny", bash(&desk, "cat .env")),
        ("a tool of its own session", payload(&desk, "TodoWrite", &json!({ "todos": [] }), "default")),
        ("a tool nobody knows", payload(&desk, "Teleport", &json!({}), "default")),
    ] {
        for agent in ["claude", "codex"] {
            all.push_str(&format!("== {what}, {agent}\n{}\n", told(&hook(&desk, agent, &text))));
        }
    }
    assert_snapshot!(desk.steady(&all));
}

/// What can not be read blocks, and says why to a person and to the model.
///
/// Shows R14: fail closed.
#[test]
fn what_can_not_be_read_blocks() {
    let desk = desk();
    let good = bash(&desk, "cat a.txt");
    let mut all = String::new();
    for (what, text) in [
        ("nothing", String::new()),
        ("no JSON", "rm -rf /".to_owned()),
        ("cut in the middle", good[..good.len() / 2].to_owned()),
        ("a list", "[1, 2]".to_owned()),
        ("another event", good.replace("PreToolUse", "PostToolUse")),
        ("no tool", good.replace("\"Bash\"", "\"\"")),
        ("arguments that are a text", payload(&desk, "Bash", &json!("ls"), "default")),
        ("a folder that is not absolute", good.replace(&desk.path("project").display().to_string(), "project")),
        ("two hundred thousand brackets", "[".repeat(200_000)),
    ] {
        let ended = hook(&desk, "claude", &text);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{what}: {}", ended.err);
        all.push_str(&format!("== {what}\n{}", ended.err));
    }
    assert_snapshot!(desk.steady(&all));
    let huge = hook(&desk, "codex", &format!("{{\"x\": \"{}\"}}", "y".repeat(17 * 1024 * 1024)));
    assert_eq!((huge.code, huge.out.as_str()), (2, ""), "{}", huge.err);
    assert!(huge.err.contains("longer than 16 MiB"), "{}", huge.err);
}

/// A policy with a mistake, a journal that can not be written: nothing is let through, nothing goes unrecorded.
#[test]
fn a_broken_desk_blocks() {
    let desk = desk();
    let text = bash(&desk, "cat a.txt");
    desk.write("home/.config/checkrein/policy.toml", "version = 1\n[[rule]]\nid = 3\n");
    let broken = hook(&desk, "claude", &text);
    assert_eq!(broken.code, 2);
    assert!(broken.err.contains("policy.toml:3"), "the mistake is named: {}", broken.err);
    desk.write("home/.config/checkrein/policy.toml", POLICY);
    let file = desk.write("in-the-way", "a file where the folder should be");
    let mut command = desk.command(["hook", "--for", "codex"]);
    command.env("CHECKREIN_HOME", file);
    let stateless = answered(&desk, command, &text);
    assert_eq!((stateless.code, stateless.out.as_str()), (2, ""), "{}", stateless.err);
}

/// The judging process is killed, dies of a fault, aborts or hangs, wherever the tracer makes it: the call is blocked.
#[test]
fn a_judge_that_dies_or_hangs_blocks() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skipped("strace is not installed here");
    }
    let desk = desk();
    // Only the process that judges opens a policy.
    let policy = desk.path("home/.config/checkrein/policy.toml");
    for fault in ["signal=SIGKILL", "signal=SIGILL", "signal=SIGABRT", "error=EIO", "delay_enter=8000000"] {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=openat", "-P"]).arg(&policy);
        command.args(["-e", &format!("inject=openat:{fault}")]).arg(env!("CARGO_BIN_EXE_checkrein"));
        command.args(["hook", "--for", "claude"]).env_clear();
        desk.surroundings(&mut command);
        let ended = answered(&desk, command, &bash(&desk, "cat a.txt"));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{fault}: {}", ended.err);
        assert!(ended.err.contains("blocked"), "{fault}: {}", ended.err);
    }
}

/// No thread to be had, as under a fork bomb, or no file: the call is blocked.
#[test]
fn a_machine_without_room_blocks() {
    let id = Command::new("id").arg("-u").output().expect("id starts");
    if !id.stdout.starts_with(b"0\n") {
        return skipped("only root can become another user, and a limit of processes does not hold for root");
    }
    let desk = desk();
    for (user, limit, why) in [
        (&["setpriv", "--reuid=65534", "--clear-groups"][..], "--nproc=1", "no thread could be started"),
        (&["env"][..], "--nofile=4", "could not be started again"),
    ] {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).args(["prlimit", limit, "--"]).arg(env!("CARGO_BIN_EXE_checkrein"));
        command.args(["hook", "--for", "codex"]).env_clear();
        desk.surroundings(&mut command);
        let ended = answered(&desk, command, &bash(&desk, "cat a.txt"));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{limit}: {}", ended.err);
        assert!(ended.err.contains(why), "{limit}: {}", ended.err);
    }
}

/// Each call is proposal, decision and end, also where several are asked about at once; secrets stay out; it verifies.
///
/// Shows R161, R172.
#[test]
fn calls_are_journaled() {
    let desk = desk();
    let secret = format!("echo {}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    std::thread::scope(|scope| {
        for command in ["cat a.txt", "git push", "cat .env", "ls", &secret, "wc a.txt"] {
            let desk = &desk;
            scope.spawn(move || {
                let ended = hook(desk, "claude", &bash(desk, command));
                assert_eq!(ended.code, 0, "{command}: {}", ended.err);
            });
        }
    });
    let listed = desk.run(["sessions", "--json"]);
    let session: Value = serde_json::from_str(listed.out.lines().next().expect("one session")).expect("JSON");
    assert_eq!(listed.out.lines().count(), 1, "one session of theirs is one of ours: {}", listed.out);
    assert_eq!(session["events"], 1 + 6 * 3, "{session}");
    desk.sound();
    let by = desk.events(session["session"].as_str().expect("an id"));
    assert!(!json!(by).to_string().contains("a1B2c3D4e5F6"), "{by:?}");
    assert!(by.iter().any(|event| event["type"] == "proposal" && event["by"] == "hook:claude"));
    assert!(by.iter().any(|event| event["type"] == "finished" && event["as"] == "left"));
    assert!(by.iter().any(|event| event["type"] == "finished" && event["as"] == "refused"));
}

/// Another agent's settings: the change is shown, what was there is kept, and comes back to the byte.
#[test]
fn settings_are_changed_and_restored() {
    let desk = desk();
    let claude = "{\n  \"model\": \"x\", // mine\n  \"hooks\": {}\n}\n";
    let codex = "# mine\nmodel = \"x\"   # so\n\n[tui]\ntheme = \"dark\"\n";
    let mut all = String::new();
    for (agent, name, text) in
        [("claude", "home/.claude/settings.json", claude), ("codex", "home/.codex/config.toml", codex)]
    {
        let file = desk.write(name, text);
        assert_eq!(desk.run(["hook", "install", "--for", agent]).code, 2, "nobody said yes");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
        let installed = desk.run(["hook", "install", "--for", agent, "--yes"]);
        assert_eq!(installed.code, 0, "{}", installed.err);
        all.push_str(&format!("$ checkrein hook install --for {agent} --yes\n{}\n", installed.out));
        let again = desk.run(["hook", "install", "--for", agent, "--yes"]);
        assert!(again.out.contains("there already"), "{}", again.out);
        let removed = desk.run(["hook", "uninstall", "--for", agent, "--yes"]);
        assert_eq!(removed.code, 0, "{}", removed.err);
        all.push_str(&format!("$ checkrein hook uninstall --for {agent} --yes\n{}\n", removed.out));
        assert_eq!(fs::read_to_string(&file).expect("it is there"), text, "to the byte");
        assert_eq!(fs::read_dir(file.parent().expect("a folder")).expect("a folder").count(), 1, "no copy is left");
    }
    assert_snapshot!(desk.steady(&all).replace(env!("CARGO_BIN_EXE_checkrein"), "checkrein"));
    let fresh: PathBuf = desk.path("fresh/settings.json");
    let at = fresh.display().to_string();
    assert_eq!(desk.run(["hook", "install", "--for", "claude", "--file", &at, "--yes"]).code, 0);
    assert!(fresh.is_file());
    assert_eq!(desk.run(["hook", "uninstall", "--for", "claude", "--file", &at, "--yes"]).code, 0);
    assert!(!fresh.exists(), "what was not there is not there again");
    // Twice, with another command; behind a link; with a mode of its own.
    let kept = desk.write("dotfiles/settings.json", claude);
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).expect("its mode");
    let link = desk.path("linked.json");
    std::os::unix::fs::symlink(&kept, &link).expect("a link");
    let policy = desk.path("home/.config/checkrein/policy.toml").display().to_string();
    let at = link.display().to_string();
    assert_eq!(desk.run(["hook", "install", "--for", "claude", "--file", &at, "--yes"]).code, 0);
    assert_eq!(desk.run(["hook", "install", "--for", "claude", "--file", &at, "--policy", &policy, "--yes"]).code, 0);
    for entry in fs::read_dir(desk.path("dotfiles")).expect("a folder").flatten() {
        assert_eq!(entry.metadata().expect("it is there").permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    assert_eq!(desk.run(["hook", "uninstall", "--for", "claude", "--file", &at, "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&kept).expect("it is there"), claude, "to the byte");
    assert!(link.is_symlink());
    let broken = desk.write("broken.json", "{ nonsense");
    let refused = desk.run(["hook", "install", "--for", "claude", "--file", &broken.display().to_string(), "--yes"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert_eq!(fs::read_to_string(&broken).expect("it is there"), "{ nonsense");
}
