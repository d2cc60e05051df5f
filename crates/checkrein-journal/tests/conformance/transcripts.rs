//! Transcripts: two runs of one script give the same bytes, and what matters is still in them.

use checkrein_journal::transcript_lines;
use serde_json::Value;

use super::samples::{WORLD, World, run};

const ELSEWHERE: World = World {
    session: "s-ffffffff",
    approval: "a-9876543210",
    root: "/tmp/other place/s-ffffffff/w",
    home: "/root",
    folder: "/somewhere/else/refunds",
    spill: "/tmp/other place/s-ffffffff",
    at: 1_800_000_000_123,
    duration_ms: 3,
};

/// Shows R141, R173: sessions, times, durations and places differ, and the transcripts do not by a byte.
#[test]
fn two_runs_of_one_script_have_the_same_transcript() {
    let (one, two) = (run(&WORLD), run(&ELSEWHERE));
    assert_ne!(one, two);
    let (one, two) = (transcript_lines(&one), transcript_lines(&two));
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(one, two);
    }
    assert_eq!(one.len(), two.len());
}

/// What differs is named by hand here, so that a new field that differs must be thought about.
#[test]
fn a_transcript_holds_everything_else() {
    let lines = transcript_lines(&run(&WORLD));
    let text = lines.join("\n");
    for gone in [
        "s-1a2b3c4d",
        "a-0123456789",
        "\"r-",
        "/state/",
        "/home/dev",
        "/repo/",
        "17000000",
        "duration",
        "\"binds\"",
        "\"key\"",
    ] {
        assert!(!text.contains(gone), "{gone}:\n{text}");
    }
    let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(parsed[0]["place"]["root"], "{root}");
    assert_eq!(parsed[0]["policy"][0]["file"], "{folder}/policy.toml");
    assert_eq!(parsed[0]["confinement"], "landlock 6, seccomp");
    assert!(
        parsed[0]["policy_digest"].is_string() && parsed[1]["digest"].is_string() && parsed[1]["prefix"].is_string()
    );
    for (line, field) in [(6, "id"), (8, "id"), (10, "approval")] {
        assert_eq!(parsed[line][field], "approval-1", "{line}");
    }
    assert_eq!(parsed[7]["reason"], "waits for approval-1");
    assert!(parsed[11]["text"].as_str().unwrap().starts_with("refunded; the rest is in {spill}/c1-1.txt"));
    assert_eq!(parsed[12]["text"], "look in {home}/notes");
    insta::assert_snapshot!(lines[10], @r#"{"approval":"approval-1","by":"code","call":"c1-1","kind":"once","seq":11,"tool":"issue_refund","type":"started","v":1}"#);
}

/// A transcript of part of a session numbers the approvals that it shows.
#[test]
fn a_part_of_a_session_has_a_transcript_too() {
    let events = run(&WORLD);
    let lines = transcript_lines(&events[8..11]);
    assert!(lines[0].contains("\"id\":\"approval-1\"") && lines[2].contains("\"approval\":\"approval-1\""));
    assert_eq!(transcript_lines(&[]), Vec::<String>::new());
}
