//! The recorded past: `record`, `policy diff`, `policy suggest`, on a journal of more than 500 calls.

use std::fmt::Write as _;
use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::Desk;

const OLD: &str = r#"version = 1
[[rule]]
id = "read"
decision = "allow"
reason = "reading the project is free"
effect = "read"
paths = ["{root}/**"]
[[rule]]
id = "look"
decision = "allow"
reason = "judged by what they touch"
effect = "run"
read_only = true
[[rule]]
id = "write"
decision = "allow"
reason = "the output is there to be written"
effect = "write"
paths = ["{root}/out/**"]
[[rule]]
id = "stamp"
decision = "allow"
reason = "the output is there to be written"
effect = "metadata"
paths = ["{root}/out/**"]
[[rule]]
id = "keep"
decision = "deny"
reason = "nothing is removed"
effect = "delete"
paths = ["{root}/**"]
"#;

/// Runs a session of 540 calls: seven that are decided in ways of their own, nine of them asked about and approved.
fn worked(desk: &Desk) -> String {
    let mut script = "version = 1\n".to_owned();
    for step in 0..60 {
        script.push_str("[[step]]\ncalls = [\n");
        for command in ["cat a.txt", "ls out", "head -n 1 a.txt", "wc -l a.txt"] {
            _ = writeln!(script, "  {{ tool = \"bash\", args = {{ command = \"{command}\" }} }},");
        }
        for command in ["cp a.txt out/N.txt", "sort -o out/s.txt a.txt", "touch out/N", "rm out/N.txt"] {
            let command = command.replace('N', &step.to_string());
            _ = writeln!(script, "  {{ tool = \"bash\", args = {{ command = \"{command}\" }} }},");
        }
        let last = match step {
            0..3 => format!("{{ tool = \"write\", args = {{ file_path = \"notes/{step}.md\", content = \"x\" }} }}"),
            3..6 => format!("{{ tool = \"bash\", args = {{ command = \"git init -q repo{step}\" }} }}"),
            _ => "{ tool = \"read\", args = { file_path = \"a.txt\" } }".to_owned(),
        };
        _ = writeln!(script, "  {last},\n]");
    }
    script.push_str("[[step]]\ntext = \"done\"\n");
    let more = "tools = [\"bash\", \"read\", \"write\"]\n[budget]\nsteps = 100\ncalls = 1000\ntokens = 9000000\n";
    let task = desk.task(&script, OLD, more);
    desk.write("task/a.txt", "b\na\n");
    desk.write("task/out/kept", "");
    let mut lines = desk.json(["run".as_ref(), task.as_os_str()]);
    while lines.status() == "needs_approval" {
        let asked = lines.outcome()["approvals"].as_array().expect("a list").clone();
        for id in asked {
            let id = id.as_str().expect("an id");
            assert_eq!(desk.run(["approvals", "approve", id, "--by", "dana"]).code, 0);
        }
        let session = lines.session();
        lines = desk.json(["resume", &session]);
    }
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    lines.session()
}

/// What a person sees who wants to know what a change of the policy would have done, and which rules would have spared
/// the questions; what is recorded is what is judged again.
///
/// Shows R17, R24, R173.
#[test]
fn the_past_is_judged_again() {
    let desk = Desk::new();
    let session = worked(&desk);
    let mut all = String::new();
    let mut shown = |desk: &Desk, arguments: &[&str], code: i32| {
        let ended = desk.run(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {}{}", ended.out, ended.err);
        _ = writeln!(all, "$ checkrein {}\n{}(exit {})\n", arguments.join(" "), desk.steady(&ended.out), ended.code);
        ended.out
    };
    desk.write("old.toml", OLD);
    desk.write(
        "new.toml",
        &OLD.replace("{root}/out/**", "{root}/**")
            .replace("\"deny\"\nreason = \"nothing", "\"ask\"\nreason = \"nothing"),
    );
    desk.write("tighter.toml", &OLD.replace("\"allow\"\nreason = \"the output", "\"deny\"\nreason = \"the output"));
    shown(&desk, &["policy", "diff", "old.toml", "old.toml", "--against", &session], 0);
    shown(&desk, &["policy", "diff", "old.toml", "new.toml", "--against", &session], 11);
    shown(&desk, &["policy", "diff", "old.toml", "tighter.toml"], 10);
    let suggested = shown(&desk, &["policy", "suggest", &session], 0);
    assert!(suggested.contains("6 of 6 questions"), "{suggested}");
    shown(&desk, &["policy", "suggest", &session, "--to", "old.toml", "--yes"], 0);
    shown(&desk, &["policy", "suggest", &session, "--to", "old.toml", "--yes"], 0);

    let recorded = desk.run(["record", &session]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let header: Value = serde_json::from_str(recorded.out.lines().next().expect("a header")).expect("JSON");
    assert!(header["world"]["root"].as_str().is_some_and(|root| root.ends_with("/task")), "{header}");
    assert_eq!(recorded.out.lines().count(), 1 + 540);
    desk.write("calls.jsonl", &recorded.out);
    let policy = desk.path("task/policy.toml").display().to_string();
    let judged = desk.run(["policy", "test", "--cases", "calls.jsonl", "--policy", &policy, "--json"]);
    let summary: Value = serde_json::from_str(judged.out.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((&summary["total"], &summary["stale"]), (&540.into(), &0.into()), "{summary}");
    assert_eq!(
        summary["right"],
        540,
        "{}",
        judged.out.lines().filter(|line| !line.contains("\"right\"")).collect::<Vec<_>>().join("\n")
    );
    shown(&desk, &["policy", "diff", "old.toml", "tighter.toml", "--against", "calls.jsonl"], 10);
    assert_snapshot!(all.replace(&session, "SESSION"));
}

/// Shows R21, R22: recorded calls whose tool is gone or takes other arguments are flagged; what came out otherwise is taken over after a
/// look at the change, and nothing else of the file is touched.
#[test]
fn stale_calls_are_flagged_and_fixtures_updated() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"a.txt\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(script, OLD, "tools = [\"read\"]\n");
    desk.write("task/a.txt", "a\n");
    let session = desk.json(["run".as_ref(), task.as_os_str()]).session();
    let recorded = desk.run(["record", &session]).out;
    let call = recorded.lines().last().expect("a call");
    let gone = call.replace("\"tool\":\"read\"", "\"tool\":\"peruse\"").replace(" c1-1", " c1-2");
    let digest = call.split_once("\"schema\":\"").expect("a digest").1.split('"').next().expect("its end");
    let other = call.replace(digest, &"0".repeat(64)).replace(" c1-1", " c1-3");
    // Words of the format inside a call are no header and no expectation.
    let wrong = call.replace("\"expected\":\"allow\"", "\"expected\":\"deny\"").replace(" c1-1", " c1-4");
    let wrong = wrong.replace("\"args\":{", "\"args\":{\"format\":1,\"expected\":\"DENY\",");
    desk.write("calls.jsonl", &format!("{recorded}{gone}\n{other}\n{wrong}\n"));
    let policy = desk.path("task/policy.toml").display().to_string();
    let flagged = desk.run(["policy", "test", "--cases", "calls.jsonl", "--policy", &policy]);
    assert_eq!(flagged.code, 1);
    assert!(flagged.out.contains("there is no tool `peruse` any more"), "{}", flagged.out);
    assert!(flagged.out.contains("the tool `read` takes other arguments now"), "{}", flagged.out);
    assert!(flagged.out.contains("2 of them are stale"), "{}", flagged.out);
    let arguments = ["policy", "test", "--cases", "calls.jsonl", "--policy", &policy, "--update"];
    assert_eq!(desk.run(arguments).code, 2, "nobody said yes");
    let before = fs::read_to_string(desk.path("calls.jsonl")).expect("it is there");
    assert!(desk.run(arguments.iter().chain(&["--yes"])).out.contains("+{"));
    let after = fs::read_to_string(desk.path("calls.jsonl")).expect("it is there");
    assert_eq!(after, before.replace("\"expected\":\"deny\"", "\"expected\":\"allow\""));
    assert_eq!(desk.run(["policy", "test", "--cases", "calls.jsonl", "--policy", &policy]).code, 0);
}

/// Shows R17: the session file of another agent becomes fixtures that the same policy judges as it did; its rules become a policy.
#[test]
fn another_agents_past_is_taken_over() {
    let desk = Desk::new();
    let project = desk.path("project").display().to_string();
    desk.write("project/a.txt", "a\n");
    let call = |name: &str, input: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"theirs","cwd":"{project}","message":{{"content":[{{"type":"tool_use","name":"{name}","input":{input}}}]}}}}"#
        )
    };
    let lines = [
        call("Bash", r#"{"command":"cat a.txt"}"#),
        call("Write", r#"{"file_path":"/etc/motd","content":"x"}"#),
        call("mcp__tracker__close", r#"{"id":1}"#),
        "cut off".to_owned(),
    ];
    desk.write("theirs.jsonl", &lines.join("\n"));
    desk.write("policy.toml", OLD);
    let recorded = desk.run(["record", "--from", "claude", "theirs.jsonl", "--policy", "policy.toml"]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    assert!(recorded.err.contains("line 4: it is no JSON"), "{}", recorded.err);
    let verdicts: Vec<Value> = recorded
        .out
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["expected"].clone())
        .collect();
    assert_eq!(verdicts, ["allow", "deny", "ask"]);
    desk.write("calls.jsonl", &recorded.out);
    let judged = desk.run(["policy", "test", "--cases", "calls.jsonl", "--policy", "policy.toml"]);
    assert_eq!(judged.code, 0, "{}", judged.out);

    desk.write("settings.json", r#"{"permissions": {"allow": ["Bash(ls:*)", "Bash(git * x)"]}}"#);
    let imported = desk.run(["policy", "import", "--from", "claude", "settings.json", "--to", "theirs.toml"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    assert!(
        imported.out.contains("1 rule written to theirs.toml\nnot carried over: Bash(git * x)"),
        "{}",
        imported.out
    );
    assert_eq!(desk.run(["policy", "import", "--from", "claude", "settings.json", "--to", "theirs.toml"]).code, 2);
    assert_eq!(desk.run(["policy", "lint", "theirs.toml"]).code, 0);
}

/// What a suggested rule lets through is what `policy diff` says of it; a question that no rule can spare is explained.
#[test]
fn suggestions_say_what_they_do_and_what_they_can_not() {
    let desk = Desk::new();
    let policy = "version = 1\n[[rule]]\nid = \"look\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n[[rule]]\nid = \"mine\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/mine/**\"]\n";
    let call =
        |command: &str| format!("[[step]]\ncalls = [{{ tool = \"bash\", args = {{ command = \"{command}\" }} }}]\n");
    let commands = ["touch notes/a", "touch mine/a", "touch notes/b; rm -rf src"].map(call).concat();
    let task =
        desk.task(&format!("version = 1\n{commands}[[step]]\ntext = \"done\"\n"), policy, "tools = [\"bash\"]\n");
    for file in ["task/notes/kept", "task/mine/kept", "task/src/kept"] {
        desk.write(file, "");
    }
    let mut lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let session = lines.session();
    for answer in ["approve", "approve", "deny"] {
        assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
        let id = lines.outcome()["approvals"].as_array().and_then(|all| all.last()).expect("a request").clone();
        let id = id.as_str().expect("an id").to_owned();
        let answered = match answer {
            "deny" => desk.run(["approvals", "deny", &id, "--reason", "no", "--by", "dana"]),
            _ => desk.run(["approvals", answer, &id, "--by", "dana"]),
        };
        assert_eq!(answered.code, 0, "{}", answered.err);
        lines = desk.json(["resume", &session]);
    }
    let suggested = desk.run(["policy", "suggest", &session]).out;
    assert!(suggested.contains("notes/a") && !suggested.contains("rm -rf src"), "{suggested}");
    assert!(!suggested.contains("also lets through: 1"), "{suggested}");
    let why = "asks, which an allow beside it does not change";
    assert!(suggested.contains("# not spared: ") && suggested.contains(why), "{suggested}");
    assert!(suggested.contains("rule mine ("), "{suggested}");
    let json = desk.run(["policy", "suggest", &session, "--json"]).out;
    assert!(json.lines().any(|line| line.contains("\"not_spared\":\"rule mine")), "{json}");
    let before = desk.path("task/policy.toml").display().to_string();
    desk.write("after.toml", policy);
    assert_eq!(desk.run(["policy", "suggest", &session, "--to", "after.toml", "--yes"]).code, 0);
    let diff = desk.run(["policy", "diff", &before, "after.toml", "--against", &session]).out;
    assert!(diff.contains("1 of 3 recorded decisions change: 1 looser"), "{diff}");
}
