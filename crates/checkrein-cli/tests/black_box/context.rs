//! Context policies, seen from outside.

use serde_json::Value;

use crate::support::{Desk, Lines};

const POLICY: &str = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

const SCRIPT: &str = r#"
version = 1
[[step]]
calls = [{ tool = "read", args = { file_path = "long.txt" } }]
[[step]]
calls = [{ tool = "read", args = { file_path = "short.txt" } }]
[[step]]
when = { tool_result = "read", contains = "the needle" }
text = "I still see the needle."
[[step]]
else = true
text = "I can not see it any more."
"#;

/// Shows R153-R160: the same scripted model answers differently under two policies, and what was left out is recorded.
#[test]
fn two_policies_two_answers() {
    let mut answers = Vec::new();
    for context in
        ["", "[context]\npolicy = \"keep_everything\"\n", "[context]\npolicy = \"trim_to_budget\"\ntokens = 40\n"]
    {
        let desk = Desk::new();
        let task = desk.task(SCRIPT, POLICY, context);
        desk.write("task/long.txt", &format!("the needle\n{}", "hay ".repeat(200)));
        desk.write("task/short.txt", "nothing here\n");
        let lines = desk.json(["run".as_ref(), task.as_os_str()]);
        assert_eq!(lines.status(), "completed", "{}", lines.outcome());
        let trims = lines.of("trim");
        if context.contains("trim") {
            assert_eq!(trims.len(), 1);
            assert_eq!(
                (trims[0]["results"][0]["tool"].as_str(), trims[0]["by"].as_str()),
                (Some("read"), Some("code"))
            );
        } else {
            assert!(trims.is_empty());
        }
        assert_eq!(lines.outcome()["citations"][0]["source"], "long.txt", "what was trimmed is still a source");
        assert_eq!(desk.run(["journal", "verify"]).code, 0);
        answers.push(lines.outcome()["answer"].as_str().unwrap().to_owned());
    }
    assert_eq!(answers, ["I still see the needle.", "I still see the needle.", "I can not see it any more."]);
}

/// Reads in many turns, under a window that holds a few of them; whether the constraint is still seen decides the end.
const LONG: &str = r#"
version = 1
[[step]]
repeat = 5
text = "I look. I look. I look. I look. I look. I look. I look. I look. I look. I look. I look. I look. I look. I look."
calls = [{ tool = "read", args = { file_path = "long.txt" } }]
[[step]]
text = "long.txt holds a needle."
[[step]]
when = { user_contains = "holds a needle" }
calls = [{ tool = "read", args = { file_path = "short.txt" } }]
[[step]]
else = true
text = "What was in long.txt?"
[[step]]
when = { user_contains = "Never touch golden.txt" }
text = "I left golden.txt alone, and remember the needle."
[[step]]
else = true
text = "What was it about golden.txt?"
"#;

/// Shows R158, R159: a long session stays inside a small window, and what the person said survives it; the journal verifies, the
/// session replays, and a fork from behind the summary still knows.
#[test]
fn a_constraint_survives() {
    let desk = Desk::new();
    let task = desk.task(LONG, POLICY, "[context]\npolicy = \"compact\"\ntokens = 400\n");
    let toml = std::fs::read_to_string(task.join("task.toml")).unwrap();
    std::fs::write(task.join("task.toml"), toml.replace("Do it.", "Do it. Never touch golden.txt.")).unwrap();
    desk.write("task/long.txt", &format!("the needle\n{}", "hay ".repeat(40)));
    desk.write("task/short.txt", "nothing here\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.outcome()["answer"], "I left golden.txt alone, and remember the needle.", "{}", lines.outcome());
    let put_away = lines.of("compacted");
    assert_eq!(put_away.len(), 1, "{put_away:?}");
    assert_eq!((put_away[0]["by"].as_str(), put_away[0]["policy"].as_str()), (Some("code"), Some("compact")));
    assert_eq!(put_away[0]["summary"], "long.txt holds a needle.");
    let session = lines.outcome()["session"].as_str().unwrap();
    let exported = desk.run(["export", session]).out;
    let asked: Vec<&str> = exported.lines().filter(|line| line.contains("\"summarises\":")).collect();
    assert!(asked.len() == 1 && asked[0].contains("\"by\":\"code\"") && asked[0].contains("\"type\":\"request\""));
    assert_eq!(desk.run(["journal", "verify", session]).code, 0);
    let replayed = desk.run(["replay", session]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.out, replayed.err);
    let shown = desk.run(["show", session]);
    let words: Vec<&str> = shown.out.split_whitespace().collect();
    assert!(words.join(" ").contains("in their place: long.txt holds a needle."), "{}", shown.out);
    let prefix = desk.run(["show", session, "--prefix"]);
    let says = [
        "  a summary, for the harness\n".to_owned(),
        format!("  from message 1 on: the beginning was put away (event {})\n", put_away[0]["seq"]),
        "\n8 requests, ".to_owned(),
    ];
    assert!(says.iter().all(|words| prefix.out.contains(words)), "{}", prefix.out);
    let rows = Lines::of_command(&mut desk.command(["show", session, "--prefix"])).lines;
    let (total, rows) = rows.split_last().unwrap();
    let sum = |of: &str| rows.iter().map(|row| row[of].as_u64().unwrap()).sum::<u64>();
    assert_eq!((total["kept_bytes"].as_u64(), total["bytes"].as_u64()), (Some(sum("kept_bytes")), Some(sum("bytes"))));
    let moved: Vec<&Value> = rows.iter().filter(|row| row["parts_at"].is_u64()).collect();
    assert_eq!((moved.len(), &moved[0]["because"][0]["seq"]), (1, &put_away[0]["seq"]));
    let from = format!("{session}@{}", put_away[0]["seq"]);
    let forked = desk.json(["fork", &from]);
    assert_eq!(forked.ended.code, 0, "{}", forked.ended.err);
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}
