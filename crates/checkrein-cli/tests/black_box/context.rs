//! Context policies, seen from outside.

use crate::support::Desk;

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
