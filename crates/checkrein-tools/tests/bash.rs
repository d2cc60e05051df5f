//! `bash`: what the model reads of a program's end and output, and that nothing is lost or left running.

use checkrein_contract::{Code, Verdict};
use serde_json::json;

use crate::support::{World, next_call};

/// Shows R75: exit status, signal and cut are separate facts, and a failed build never looks clean.
#[tokio::test]
async fn every_end_is_said() {
    let mut world = World::new();
    for (command, expected) in [
        ("echo hello", "hello\n"),
        ("printf hello", "hello\n"),
        ("true", "[no output; exit code 0]"),
        ("false", "[exit code 1]"),
        ("echo out; echo err >&2; exit 101", "out\n[stderr]\nerr\n[exit code 101]"),
        ("echo out; echo warning >&2", "out\n[stderr]\nwarning\n"),
        ("kill -9 $$", "[ended by signal 9 (KILL)]"),
        ("no-such-program", "[stderr]\nbash: line 1: no-such-program: command not found\n[exit code 127]"),
        ("printf '[exit code 0]'; exit 3", "[exit code 0]\n[exit code 3]"),
    ] {
        let finished = world.call("bash", json!({"command": command})).await;
        assert_eq!((finished.text.as_str(), finished.code), (expected, None), "{command}");
    }
}

/// A fresh shell each time: no input, no state, no start-up files, in the working directory.
#[tokio::test]
async fn each_call_is_a_fresh_shell() {
    let mut world = World::new();
    world.file("../home/.bashrc", "echo from the start-up file\n");
    assert_eq!(world.text("bash", json!({"command": "cd /; export A=1"})).await, "[no output; exit code 0]");
    let here = world.place.cwd.clone();
    assert_eq!(
        world.text("bash", json!({"command": "pwd; echo \"${A-unset}\"; cat"})).await,
        format!("{here}\nunset\n")
    );
}

/// Shows R68, R69, R71: the end is kept, the cut says how much is missing, and the named call reads the whole.
#[tokio::test]
async fn long_output_is_kept_whole_in_a_file() {
    let mut world = World::new();
    let finished = world.call("bash", json!({"command": "seq 20000; seq 30000 >&2; exit 2"})).await;
    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    assert!(finished.cut && finished.text.starts_with(&whole[whole.len() - 64_000..]));
    let lines: Vec<_> = finished.text.lines().rev().take(3).collect();
    assert!(
        lines[2].starts_with("[stdout cut: the first 44894 of 108894 bytes are left out; all of it: `read` {"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("[stderr cut: the first 104894 of 168894 bytes are left out; all of it: `read` {"));
    assert_eq!(lines[0], "[exit code 2]");
    let (tool, args) = next_call(lines[2]).unwrap();
    assert!(world.text(&tool, args).await.starts_with("1: 1\n2: 2\n"));

    let clean = world.text("bash", json!({"command": "seq 20000"})).await;
    assert!(clean.ends_with("\n[exit code 0]"), "a cut output says how it ended, also when that was well");
}

/// Shows R74: no escape reaches a terminal, no character is split, and what is no text is marked.
#[tokio::test]
async fn output_is_made_safe_to_show() {
    let mut world = World::new();
    let text = world.text("bash", json!({"command": r"printf 'a\tb\033[2J\rc\377\n'"})).await;
    assert_eq!(
        text,
        "a\tb\\x1b[2J\\rc\u{fffd}\n[stdout: bytes that are no UTF-8 are shown as \u{fffd}]\n[exit code 0]"
    );
    let text = world.text("bash", json!({"command": "for i in {1..40000}; do printf 'é'; done"})).await;
    assert!(text.starts_with('é') && !text.contains('\u{fffd}'));
    assert!(text.contains("[stdout cut: the first 16000 of 80000 bytes are left out"), "{}", &text[text.len() - 200..]);
    let text = world.text("bash", json!({"command": "head -c 60000 /dev/zero"})).await;
    assert!(text.len() < 65_000, "made visible, it is bounded all the same: {}", text.len());
    assert!(
        text.contains("[stdout cut: the first 44000 of 60000 bytes are left out; it could not be saved"),
        "{}",
        &text[text.len() - 200..]
    );
}

/// Shows R146: the time limit is a fact of its own, beside how the program took it.
#[tokio::test]
async fn a_time_limit_is_said_beside_the_signal() {
    let mut world = World::new();
    let text = world.text("bash", json!({"command": "sleep 600", "timeout_s": 1})).await;
    assert_eq!(text, "[timed out: it was ended after 1 s]\n[ended by signal 15 (TERM)]");
    let tool = world.registry().get("bash").unwrap();
    assert_eq!(
        tool.timeout_ms(&json!({"command": "x", "timeout_s": 600})),
        610_000,
        "the sandbox's limit strikes first"
    );
}

/// What runs is judged by what it would do, not by its text.
#[tokio::test]
async fn a_command_line_is_judged_by_its_effects() {
    let mut world = World::new();
    let verdict = async |world: &World, command: &str| {
        world.judge("bash", &json!({ "command": command })).await.unwrap().decision().verdict
    };
    assert_eq!(verdict(&world, "ls -l").await, Verdict::Allow);
    assert_eq!(verdict(&world, "ls | wc").await, Verdict::Allow);
    assert_eq!(verdict(&world, "ls | xargs wc").await, Verdict::Ask, "which files those are is not known before");
    assert_eq!(verdict(&world, "ls; sudo reboot").await, Verdict::Deny);
    assert_eq!(world.error("bash", json!({"command": "a\u{0}b"})).await.0, Code::InvalidArgs);
}

/// Shows R147: a cancelled call is no result.
#[tokio::test]
async fn a_cancelled_command_is_no_result() {
    let mut world = World::new();
    world.cancel();
    assert_eq!(world.error("bash", json!({"command": "touch x"})).await.0, Code::Cancelled);
    assert!(world.names(".").is_empty());
}
