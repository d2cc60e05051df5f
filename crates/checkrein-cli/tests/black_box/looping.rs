//! The loop: how it goes on, how it is bounded, how it stops.

use serde_json::{Value, json};

use crate::support::Desk;

const READ_ALL: &str = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

/// Shows R45-R47, R84, R119, R129: an empty call of `read` names the missing field, and the loop goes on.
#[test]
fn an_empty_read_names_its_field_and_the_loop_goes_on() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = {} }]\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"a.txt\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(script, READ_ALL, "");
    desk.write("task/a.txt", "hello\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    let error: Value = serde_json::from_str(lines.result(0)).unwrap();
    assert_eq!((error["is_error"].as_bool(), error["code"].as_str()), (Some(true), Some("INVALID_ARGS")));
    assert!(error["message"].as_str().unwrap().contains("/file_path: is required"), "{error}");
    assert!(lines.result(1).starts_with("1: hello"));
}

/// Shows R124, R143-R145, R150, R151, R170: with three steps one skill and two lookups run, then it stops by the harness's
/// decision, with a last answer.
#[test]
fn three_steps_are_three_proposals() {
    let desk = Desk::new();
    let script = r#"
version = 1
[[step]]
calls = [{ tool = "load_skill", args = { name = "look" } }]
[[step]]
calls = [{ tool = "read", args = { file_path = "a.txt" } }]
repeat = 2
[[step]]
text = "What I know is in a.txt."
"#;
    let task = desk.task(script, READ_ALL, "skills = [\"look\"]\ntools = [\"read\"]\n[budget]\nsteps = 3\n");
    desk.write("task/look/SKILL.md", "---\nname: look\ndescription: how to look\n---\nLook twice.\n");
    desk.write("task/a.txt", "hello\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.status()), (5, "budget_exhausted"), "{}", lines.outcome());
    assert_eq!(lines.outcome()["limit"], "steps");
    assert_eq!(lines.outcome()["steps"], 3);
    assert_eq!(lines.outcome()["tool_runs"], json!({"load_skill": 1, "read": 2}));
    assert_eq!(lines.outcome()["answer"], "What I know is in a.txt.");
    assert_eq!(lines.of("stop")[0]["by"], "code");
    let kinds: Vec<_> = lines.of("proposal").iter().map(|p| p["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["skill", "calls", "calls", "answer"]);
}

/// Shows R197, R201: an endless valid request stops at its budget, also when the script has nothing more to say.
#[test]
fn an_endless_request_stops() {
    let desk = Desk::new();
    let script =
        "version = 1\n[[step]]\nrepeat = \"forever\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    let task = desk.task(script, READ_ALL, "[budget]\nsteps = 5\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.outcome()["steps"].as_u64()), (5, Some(5)));
    assert_eq!(lines.outcome()["tool_runs"]["glob"], 5, "the calls of the last reply are not carried out");

    let script = "version = 1\n[[step]]\nrepeat = 2\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    let task = desk.task(script, READ_ALL, "[budget]\nsteps = 2\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.status()), (5, "budget_exhausted"), "{}", lines.outcome());
}

/// Shows R149: tokens are bounded before a request, not after it.
#[test]
fn tokens_and_seconds_are_bounded() {
    let desk = Desk::new();
    let script =
        "version = 1\n[[step]]\nrepeat = \"forever\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    let task = desk.task(script, READ_ALL, "tools = [\"glob\"]\n[budget]\ntokens = 3000\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.outcome()["limit"].as_str(), lines.ended.code), (Some("tokens"), 5));
    let usage = &lines.outcome()["usage"];
    let total = usage["input"].as_u64().unwrap() + usage["output"].as_u64().unwrap();
    assert!(total < 4_000, "at most one request more than 3,000: {total}");

    let slow = "version = 1\n[[step]]\ndelay_ms = 400000\nrepeat = \"forever\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    let task = desk.task(slow, READ_ALL, "[budget]\nseconds = 600\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.outcome()["limit"].as_str(), lines.outcome()["steps"].as_u64()), (Some("seconds"), Some(2)));
}

/// Shows R128, R201: a reply that is cut runs none of its calls; empty replies are told to the model and bounded.
#[test]
fn malformed_replies_are_recorded_and_bounded() {
    let desk = Desk::new();
    let script = r#"
version = 1
[[step]]
text = "I wri"
calls = [{ tool = "read", args = { file_path = "a.txt" } }]
stop = "length"
[[step]]
text = ""
[[step]]
when = { user_contains = "could not be used" }
text = "Sorry. Done."
"#;
    let task = desk.task(script, READ_ALL, "");
    desk.write("task/a.txt", "hello\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_eq!(lines.of("finished")[0]["code"], "REPLY_TRUNCATED");
    assert_eq!(lines.outcome()["tool_runs"]["read"], 0);
    let kinds: Vec<_> = lines.of("proposal").iter().map(|p| p["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["malformed", "malformed", "answer"]);

    let empty = "version = 1\n[[step]]\ntext = \"\"\nrepeat = 3\n";
    let task = desk.task(empty, READ_ALL, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.outcome()["code"].as_str()), (1, Some("MALFORMED_REPLIES")));
}

/// Shows R59: the same failing call is refused after three failures and ends the session after six.
#[test]
fn a_failing_loop_is_broken() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\nrepeat = \"forever\"\ncalls = [{ tool = \"read\", args = { file_path = \"gone.txt\" } }]\n";
    let task = desk.task(script, READ_ALL, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.outcome()["code"].as_str()), (1, Some("REPEATED_FAILURE")));
    let codes: Vec<_> = lines.of("finished").iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        codes,
        ["FS_NOT_FOUND", "FS_NOT_FOUND", "FS_NOT_FOUND", "REPEATED_FAILURE", "REPEATED_FAILURE", "REPEATED_FAILURE"]
    );
    assert_eq!(lines.outcome()["tool_runs"]["read"], 3);
}

/// Shows R119, R201: passing failures of a model are retried with its own waits, virtually; lasting ones end the session.
#[test]
fn a_model_that_fails_is_retried_within_bounds() {
    let desk = Desk::new();
    let script = r#"
version = 1
[[step]]
error = { status = 429, retry_after_s = 30 }
[[step]]
text = "half an ans"
cut_after = 4
[[step]]
text = "A whole answer."
"#;
    let task = desk.task(script, READ_ALL, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_eq!(lines.outcome()["answer"], "A whole answer.");
    assert_eq!(lines.of("proposal").len(), 1, "nothing of a broken reply enters the history");

    for (script, code) in [
        ("version = 1\n[[step]]\nerror = { status = 401 }\n", "PROVIDER_FAILED"),
        ("version = 1\n[[step]]\nrepeat = \"forever\"\nerror = { status = 500 }\n", "PROVIDER_FAILED"),
        ("version = 1\n[[step]]\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n", "SCRIPT_EXHAUSTED"),
        ("version = 1\n[[step]]\ntext = \"done\"\n[[step]]\ntext = \"never\"\n", "SCRIPT_UNUSED"),
    ] {
        let task = desk.task(script, READ_ALL, "");
        let lines = desk.json(["run".as_ref(), task.as_os_str()]);
        assert_eq!((lines.ended.code, lines.outcome()["code"].as_str()), (1, Some(code)), "{script}");
    }
}

/// Shows R57, R129, R132: by default the loop goes on after a refusal; `stop_on` ends it.
#[test]
fn stop_on_ends_the_run() {
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"/etc/shadow\" } }]\n[[step]]\ntext = \"I may not.\"\n";
    let gone = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"gone.txt\" } }]\n[[step]]\ntext = \"It is gone.\"\n";
    for (script, more, status, code) in [
        (script, "", "completed", 0),
        (script, "stop_on = [\"deny\"]\n", "blocked", 4),
        (script, "stop_on = [\"error\"]\n", "completed", 0),
        (gone, "stop_on = [\"deny\"]\n", "completed", 0),
        (gone, "stop_on = [\"error\"]\n", "failed", 1),
    ] {
        let desk = Desk::new();
        let task = desk.task(script, READ_ALL, more);
        let lines = desk.json(["run".as_ref(), task.as_os_str()]);
        assert_eq!((lines.status(), lines.ended.code), (status, code), "{more}");
    }
}

/// Shows R150, R189: the harness checks the work, tells the model what failed, and gives it a bounded number of tries.
#[test]
fn done_means_checked() {
    let policy = format!(
        "{READ_ALL}[[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"the task\"\neffect = \"write\"\npaths = [\"{{root}}/**\"]\n"
    );
    let checks = "[[verify]]\nfile = \"out.txt\"\ncontains = \"42\"\n[[verify]]\njson = \"out.json\"\npointer = \"/n\"\nequals = 3\n";
    let script = r#"
version = 1
[[step]]
text = "Done."
[[step]]
when = { user_contains = "not done yet" }
calls = [
    { tool = "write", args = { file_path = "out.txt", content = "42\n" } },
    { tool = "write", args = { file_path = "out.json", content = "{\"n\": 3.0}" } },
]
[[step]]
text = "Now it is done."
"#;
    let desk = Desk::new();
    let task = desk.task(script, &policy, checks);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_eq!(lines.outcome()["answer"], "Now it is done.");
    assert_eq!(lines.outcome()["tool_runs"]["verify"], 4, "two rounds of two checks");

    let script = "version = 1\n[[step]]\nrepeat = \"forever\"\ntext = \"Done, trust me.\"\n";
    let desk = Desk::new();
    let task = desk.task(script, &policy, checks);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.outcome()["code"].as_str()), (1, Some("VERIFY_FAILED")));
    assert_eq!(lines.outcome()["steps"], 3);
}
