//! The three examples, run as a stranger runs them.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::support::Desk;

/// Shows R170, R176, R188, R189, R200, R206: the scripted model repairs a real crate with a real shell, and the harness checks it.
#[test]
fn fix_a_test_repairs_the_crate() {
    let desk = Desk::new();
    let folder = desk.example("fix-a-test");
    let lines = desk.json(["run".as_ref(), folder.as_os_str()]);
    assert_eq!((lines.ended.code, lines.status()), (0, "completed"), "{}", lines.outcome());
    assert_eq!(
        lines.outcome()["tool_runs"],
        json!({"bash": 2, "edit": 1, "glob": 1, "read": 2, "verify": 1}),
        "counted from what ran"
    );
    assert!(lines.result(2).contains("a_tier_begins_with_its_first_piece"), "the test failed before");
    let repaired = fs::read_to_string(lines.workspace().join("src/discount.rs")).unwrap();
    assert!(repaired.contains("quantity >= tier.from"));
    let original = fs::read_to_string(folder.join("src/discount.rs")).unwrap();
    assert!(original.contains("quantity > tier.from"), "the example itself is left alone");
    for control in ["task.toml", "script.toml", "policy.toml"] {
        assert!(!lines.workspace().join(control).exists(), "{control} is not the agent's business");
    }
    let verified = desk.run(["journal", "verify", &lines.session()]);
    assert_eq!(verified.code, 0, "{}", verified.out);
}

/// Shows R94, R95, R97, R100, R101, R162, R172: paused with nothing issued, approved by a person, finished once.
#[test]
fn refunds_waits_for_a_person_and_pays_once() {
    let desk = Desk::new();
    let folder = desk.example("refunds");
    let paused = desk.json(["run".as_ref(), folder.as_os_str()]);
    assert_eq!((paused.ended.code, paused.status()), (3, "needs_approval"));
    assert_eq!(paused.outcome()["tool_runs"]["issue_refund"], 0);
    assert!(!paused.workspace().join("refunds.jsonl").exists(), "no refund was issued");

    let waiting = desk.json(["resume", &paused.session()]);
    assert_eq!((waiting.ended.code, waiting.status()), (3, "needs_approval"), "nothing happens without an answer");

    let id = paused.outcome()["approvals"][0].as_str().unwrap();
    let approved = desk.run(["approvals", "approve", id, "--by", "dana", "--json"]);
    assert_eq!(approved.code, 0, "{}", approved.err);
    let approved: serde_json::Value = serde_json::from_str(&approved.out).unwrap();
    assert_eq!((approved["state"].as_str(), approved["uses_left"].as_u64()), (Some("approved"), Some(1)));

    let done = desk.json(["resume", &paused.session()]);
    assert_eq!((done.ended.code, done.status()), (0, "completed"));
    let ledger = fs::read_to_string(done.workspace().join("refunds.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 1);
    assert!(ledger.contains(r#""order":"o-1001","amount":30"#), "{ledger}");
    assert!(done.outcome()["answer"].as_str().unwrap().contains("30 euros"));

    let over = desk.run(["resume", &paused.session()]);
    assert_eq!((over.code, over.out.as_str()), (2, ""));
    assert_eq!(fs::read_to_string(done.workspace().join("refunds.jsonl")).unwrap().lines().count(), 1);
    let all = desk.run(["show", &paused.session()]);
    assert!(all.out.contains("dana       says yes"), "{}", all.out);
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}

/// Shows R135, R205: the answer's sources come from what the tools brought, not from what the model says.
#[test]
fn ask_the_docs_answers_with_sources() {
    let desk = Desk::new();
    let folder = desk.example("ask-the-docs");
    let lines = desk.json(["run".as_ref(), folder.as_os_str()]);
    assert_eq!((lines.ended.code, lines.status()), (0, "completed"), "{}", lines.outcome());
    let answer = lines.outcome()["answer"].as_str().unwrap();
    assert!(answer.contains("84.50") && answer.contains("5 years"), "{answer}");
    let cited: Vec<_> =
        lines.outcome()["citations"].as_array().unwrap().iter().map(|c| c["source"].as_str().unwrap()).collect();
    assert!(cited.contains(&"docs/parts-price-list.md") && cited.contains(&"docs/warranty-terms.md"), "{cited:?}");
    let facts = fs::read_to_string(folder.join("docs/parts-price-list.md")).unwrap();
    assert!(facts.contains("84.50"), "the document says it too");
    assert!(fs::read_dir(folder.join("docs")).unwrap().count() >= 12);
}

/// Shows R141, I9: two runs of the same script, byte for byte the same transcript, however different their folders.
#[test]
fn transcripts_of_two_runs_are_the_same_bytes() {
    for example in ["refunds", "ask-the-docs"] {
        let transcripts: Vec<String> = (0..2)
            .map(|_| {
                let desk = Desk::new();
                let folder = desk.example(example);
                let lines = desk.json(["run".as_ref(), folder.as_os_str()]);
                if lines.status() == "needs_approval" {
                    let id = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
                    desk.run(["approvals", "approve", &id, "--by", "dana"]);
                    desk.json(["resume", &lines.session()]);
                }
                desk.run(["export", &lines.session(), "--transcript"]).out
            })
            .collect();
        assert!(transcripts[0].lines().count() > 10, "{}", transcripts[0]);
        assert_eq!(transcripts[0], transcripts[1], "{example}");
    }
}

/// What a person reads, from the first line to what to type next.
#[test]
fn refunds_as_a_person_reads_it() {
    let desk = Desk::new();
    let folder = desk.example("refunds");
    let ended = desk.run(["run".as_ref(), folder.as_os_str()]);
    assert_snapshot!(desk.steady(&ended.out));
    let session = ended.out.split("resume ").last().unwrap().trim().to_owned();
    assert_snapshot!(desk.steady(&desk.run(["show", &session]).out));
}

/// What a person reads of the repair; cargo's own words are left out.
#[test]
fn fix_a_test_as_a_person_reads_it() {
    let desk = Desk::new();
    let folder = desk.example("fix-a-test");
    let ended = desk.run(["run".as_ref(), folder.as_os_str()]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    // Cargo's own words hold durations, and so the tokens of the requests that show them.
    let changes = |line: &str| line.contains("test result") || line.trim_start().starts_with("tokens ");
    let shown: Vec<_> = desk.steady(&ended.out).lines().filter(|line| !changes(line)).map(str::to_owned).collect();
    assert_snapshot!(shown.join("\n"));
}
