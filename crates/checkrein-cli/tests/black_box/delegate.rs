//! Sub-sessions: what they may, what they use, how they pause and go on, and what both journals prove.

use crate::support::{Desk, Lines};

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"write\"\npaths = [\"{root}/**\"]\nexcept = [\"{root}/asked/**\"]\n\
    [[rule]]\nid = \"asked\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/asked/**\"]\n\
    [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"run\"\nprogram = [\"touch\", \"wc\", \"cat\"]\n";

fn desk(script: &str, more: &str) -> (Desk, std::path::PathBuf) {
    let desk = Desk::new();
    desk.write("task/notes.txt", "the key is under the mat\n");
    let task = desk.task(&format!("version = 1\n{script}"), POLICY, &format!("workspace = \"in-place\"\n{more}"));
    (desk, task)
}

fn run(desk: &Desk, task: &std::path::Path) -> Lines {
    desk.json(["run".as_ref(), task.as_os_str()])
}

/// The lines of the sub-session that did the n-th call that is over (from 0), with its id.
fn sub(desk: &Desk, lines: &Lines, n: usize) -> (String, Vec<serde_json::Value>) {
    let id = lines.of("finished")[n]["change"]["session"].as_str().expect("a sub-session did it").to_owned();
    let shown = desk.run(["show", &id, "--json"]);
    (id, shown.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn verified(desk: &Desk) {
    let ended = desk.run(["journal", "verify"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

/// One that looks reads and answers, and nothing that it tries changes anything, whatever the session itself may.
#[test]
fn one_that_looks_changes_nothing() {
    let (desk, task) = desk(
        "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Where is the key?\" } }]\n\
         [[step]]\nsub = 1\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }, \
            { tool = \"bash\", args = { command = \"touch made.txt\" } }, { tool = \"write\", args = { file_path = \"made.txt\", content = \"x\" } }, \
            { tool = \"task\", args = { prompt = \"deeper\" } }]\n\
         [[step]]\nsub = 1\nwhen = { user_contains = \"Where is the key?\" }\ntext = \"Under the mat.\"\n\
         [[step]]\nwhen = { tool_result = \"task\", contains = \"Under the mat.\" }\ntext = \"It is under the mat.\"\n",
        "",
    );
    let lines = run(&desk, &task);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert!(lines.result(0).starts_with("Under the mat.\n[sub-session main/1: "), "{}", lines.result(0));
    assert!(lines.result(0).contains(": completed, 2 steps, 4 calls, "), "{}", lines.result(0));
    assert_eq!(lines.outcome()["steps"], 4, "its own two and those of the sub-session");
    assert_eq!(lines.outcome()["citations"][0]["source"], "notes.txt");
    let (_, events) = sub(&desk, &lines, 0);
    let finished: Vec<&serde_json::Value> = events.iter().filter(|event| event["type"] == "finished").collect();
    let codes: Vec<_> = finished.iter().map(|event| event["code"].as_str()).collect();
    assert_eq!(codes, [None, Some("DENIED"), Some("UNKNOWN_TOOL"), Some("UNKNOWN_TOOL")]);
    assert!(finished[1]["text"].as_str().unwrap().contains("this sub-session changes nothing"), "{}", finished[1]);
    assert!(!desk.path("task/made.txt").exists());
    verified(&desk);
    let listed = desk.run(["sessions"]);
    assert_eq!(listed.out.lines().count(), 2, "{}", listed.out);
    assert!(listed.out.contains(&format!("of {}", lines.session())), "{}", listed.out);
}

/// One that works changes what it was given, and nothing else; never more than the session itself might.
#[test]
fn one_that_works_stays_where_it_was_put() {
    let (desk, task) = desk(
        "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Write.\", may = \"work\", within = [\"src\", \"a.txt\"] } }]\n\
         [[step]]\nsub = 1\ncalls = [{ tool = \"write\", args = { file_path = \"src/x\", content = \"1\" } }, \
            { tool = \"write\", args = { file_path = \"a.txt\", content = \"2\" } }, { tool = \"write\", args = { file_path = \"b.txt\", content = \"3\" } }, \
            { tool = \"bash\", args = { command = \"touch c.txt\" } }]\n\
         [[step]]\nsub = 1\ntext = \"Written.\"\n\
         [[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"x\", may = \"work\", within = [\"../y\"] } }]\n\
         [[step]]\ntext = \"done\"\n",
        "",
    );
    let lines = run(&desk, &task);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    let there = |name: &str| desk.path(&format!("task/{name}")).exists();
    assert!(there("src/x") && there("a.txt") && !there("b.txt") && !there("c.txt"), "{}", lines.result(0));
    assert!(lines.result(1).contains("`../y` is no file or folder of the project"), "{}", lines.result(1));
    verified(&desk);
}

/// A call of a sub-session that needs a yes stops both; after it both go on, and the call runs once.
#[test]
fn a_yes_is_waited_for_in_both() {
    let script = "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Write.\", may = \"work\" } }]\n\
         [[step]]\nsub = 1\ncalls = [{ tool = \"write\", args = { file_path = \"asked/x\", content = \"1\" } }]\n\
         [[step]]\nsub = 1\nwhen = { tool_result = \"write\" }\ntext = \"Written.\"\n\
         [[step]]\nwhen = { tool_result = \"task\", contains = \"Written.\" }\ntext = \"done\"\n";
    // The session goes on by itself, or somebody resumes the sub-session first.
    for first in ["the session", "the sub-session"] {
        let (desk, task) = desk(script, "");
        let lines = run(&desk, &task);
        assert_eq!((lines.ended.code, lines.status()), (3, "needs_approval"), "{}", lines.outcome());
        assert!(
            lines.outcome()["reason"].as_str().unwrap().starts_with("in its sub-session s-"),
            "{}",
            lines.outcome()
        );
        let asked = desk.run(["approvals", "list", "--json"]);
        let request: serde_json::Value = serde_json::from_str(asked.out.lines().next().unwrap()).unwrap();
        let (id, child) = (request["id"].as_str().unwrap(), request["session"].as_str().unwrap());
        assert_ne!(child, lines.session());
        assert_eq!(desk.run(["approvals", "approve", id, "--by", "dana"]).code, 0);
        if first == "the sub-session" {
            assert_eq!(desk.json(["resume", child]).status(), "completed");
        }
        let lines = desk.json(["resume", &lines.session()]);
        assert_eq!(lines.status(), "completed", "{first}: {}", lines.outcome());
        assert!(lines.result(0).starts_with("Written.\n"), "{}", lines.result(0));
        assert_eq!(std::fs::read_to_string(desk.path("task/asked/x")).unwrap(), "1");
        verified(&desk);
    }
}

/// It uses a share of what is left, and what it used is gone here too.
#[test]
fn it_has_a_share_of_the_budget() {
    let (desk, task) = desk(
        "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Look.\", share = 50 } }]\n\
         [[step]]\nsub = 1\nrepeat = \"forever\"\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }]\n\
         [[step]]\nrepeat = \"forever\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n",
        "[budget]\nsteps = 9\n",
    );
    let lines = run(&desk, &task);
    // One step of nine, then half of the eight that are left.
    assert!(
        lines.result(0).contains("TASK_UNFINISHED") && lines.result(0).contains("budget_exhausted, 4 steps"),
        "{}",
        lines.result(0)
    );
    assert_eq!(
        (lines.status(), lines.outcome()["steps"].as_u64()),
        ("budget_exhausted", Some(9)),
        "{}",
        lines.outcome()
    );
    verified(&desk);
}

/// A step for a sub-session that never was is as unused as any other.
#[test]
fn a_script_says_what_its_sub_sessions_answer() {
    for number in [1, 3] {
        let unused = format!("[[step]]\ntext = \"done\"\n[[step]]\nsub = {number}\ntext = \"x\"\n");
        let (desk, task) = desk(&unused, "");
        assert_eq!(run(&desk, &task).outcome()["code"], "SCRIPT_UNUSED", "sub = {number}");
    }
    let (desk, _) = desk("[[step]]\ntext = \"done\"\n", "");
    let none = "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"x\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(&format!("version = 1\n{none}"), POLICY, "workspace = \"in-place\"\n");
    let lines = run(&desk, &task);
    assert!(lines.result(0).contains("has steps for; it has none"), "{}", lines.result(0));
}

/// The first line of each result.
fn texts(lines: &Lines) -> Vec<String> {
    let ends = lines.of("finished").into_iter();
    ends.map(|end| end["text"].as_str().unwrap().lines().next().unwrap_or_default().to_owned()).collect()
}

const THREE: &str = "[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Where?\" } }, \
        { tool = \"task\", args = { prompt = \"Write x.\", may = \"work\", within = [\"asked\"] } }, \
        { tool = \"task\", args = { prompt = \"Write y.\", may = \"work\", within = [\"src\"] } }]\n\
     [[step]]\nsub = 1\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }]\n\
     [[step]]\nsub = 1\ntext = \"Under the mat.\"\n\
     [[step]]\nsub = 2\ncalls = [{ tool = \"write\", args = { file_path = \"asked/x\", content = \"1\" } }]\n\
     [[step]]\nsub = 2\nwhen = { tool_result = \"write\" }\ntext = \"x is written.\"\n\
     [[step]]\nsub = 3\ncalls = [{ tool = \"write\", args = { file_path = \"src/y\", content = \"2\" } }]\n\
     [[step]]\nsub = 3\ntext = \"y is written.\"\n\
     [[step]]\nwhen = { tool_result = \"task\", contains = \"x is written.\" }\ntext = \"done\"\n";

/// Shows R139, R141: of three at the same time one waits for a yes, and the others go on to their end; after the yes it goes
/// on alone, and the results are in the order of the calls. Two runs are the same, byte by byte, also while it waits.
#[test]
fn one_waits_and_the_others_go_on() {
    let mut transcripts = Vec::new();
    for _ in 0..2 {
        let (desk, task) = desk(THREE, "");
        let lines = run(&desk, &task);
        assert_eq!((lines.ended.code, lines.status()), (3, "needs_approval"), "{}", lines.outcome());
        assert_eq!(texts(&lines), ["Under the mat.", "y is written."], "both are over");
        assert_eq!(std::fs::read_to_string(desk.path("task/src/y")).unwrap(), "2");
        assert!(!desk.path("task/asked/x").exists());
        verified(&desk);
        let paused = desk.run(["export", "--transcript", &lines.session()]).out;
        let asked = desk.run(["approvals", "list", "--json"]);
        let request: serde_json::Value = serde_json::from_str(asked.out.lines().next().unwrap()).unwrap();
        assert_eq!(desk.run(["approvals", "approve", request["id"].as_str().unwrap(), "--by", "dana"]).code, 0);
        let resumed = desk.json(["resume", &lines.session()]);
        assert_eq!(resumed.status(), "completed", "{}", resumed.outcome());
        assert_eq!(texts(&resumed), ["x is written."], "the others are not asked again");
        assert_eq!(std::fs::read_to_string(desk.path("task/asked/x")).unwrap(), "1");
        verified(&desk);
        let replayed = desk.run(["replay", &lines.session()]);
        assert_eq!(replayed.code, 0, "{}{}", replayed.out, replayed.err);
        let mut all = vec![paused, desk.run(["export", "--transcript", &lines.session()]).out];
        for n in [0, 1] {
            all.push(desk.run(["export", "--transcript", &sub(&desk, &lines, n).0]).out);
        }
        all.push(desk.run(["export", "--transcript", &sub(&desk, &resumed, 0).0]).out);
        assert!(all.iter().all(|text| !text.is_empty()));
        transcripts.push(all.join("\n"));
    }
    assert!(transcripts[0] == transcripts[1], "the transcripts differ");
}
