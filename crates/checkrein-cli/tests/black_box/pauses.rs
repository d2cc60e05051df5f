//! Waiting for people: approvals, questions, two processes at once.

use serde_json::json;

use crate::support::{ASK_WRITES, Desk};

const WRITE: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";

fn paused() -> (Desk, String, String) {
    let desk = Desk::new();
    let task = desk.task(WRITE, ASK_WRITES, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    let id = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
    (desk, lines.session(), id)
}

/// Shows R79, R94, R103: asked, nobody there; denied by a person, the model is told why; unattended, it is refused at once.
#[test]
fn a_person_can_always_say_no() {
    let (desk, session, id) = paused();
    let denied = desk.run(["approvals", "deny", &id, "--reason", "not this file", "--by", "dana"]);
    assert_eq!(denied.code, 0, "{}", denied.err);
    let lines = desk.json(["resume", &session]);
    assert_eq!((lines.status(), lines.of("finished")[0]["code"].as_str()), ("completed", Some("DENIED_BY_PERSON")));
    assert!(lines.result(0).contains("not this file"));
    assert!(!desk.path("task/a.txt").exists());

    let task = desk.task(WRITE, ASK_WRITES, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str(), "--unattended".as_ref()]);
    assert_eq!((lines.status(), lines.of("finished")[0]["code"].as_str()), ("completed", Some("DENIED_UNATTENDED")));
    assert!(!desk.path("task/a.txt").exists());
}

/// Shows R96, R99, R100: refusals of approvals, each with its code and exit code 1.
#[test]
fn approvals_are_refused_with_their_codes() {
    let (desk, session, id) = paused();
    let refused = |arguments: &[&str], code: &str| {
        let ended = desk.run(arguments);
        assert_eq!(ended.code, 1, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(code), "{code} in {}", ended.err);
    };
    let other = {
        let task = desk.task("version = 1\n[[step]]\ntext = \"hi\"\n", ASK_WRITES, "");
        desk.json(["run".as_ref(), task.as_os_str()]).session()
    };
    desk.task(WRITE, ASK_WRITES, "");
    refused(&["approvals", "approve", &id, "--session", &other], "APPROVAL_OTHER_SESSION");
    refused(&["approvals", "revoke", &id], "APPROVAL_REVOKED");
    assert_eq!(desk.run(["approvals", "approve", &id, "--expires", "1s", "--by", "dana"]).code, 0);
    assert_eq!(desk.run(["approvals", "revoke", &id, "--reason", "changed my mind"]).code, 0);
    refused(&["approvals", "approve", &id], "APPROVAL_REVOKED");
    let lines = desk.json(["resume", &session]);
    assert_eq!(lines.of("finished")[0]["code"], "APPROVAL_REVOKED");
    assert_eq!(desk.run(["approvals", "approve", "a-none"]).code, 2, "no such request is a typing error");
}

/// A yes is for what was there when it was given: the file became a link meanwhile, so the call is asked about anew.
#[test]
fn a_yes_does_not_cover_what_changed_since() {
    let (desk, session, id) = paused();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    desk.write("task/elsewhere.txt", "precious");
    std::os::unix::fs::symlink(desk.path("task/elsewhere.txt"), desk.path("task/a.txt")).unwrap();
    let lines = desk.json(["resume", &session]);
    assert_eq!(lines.of("finished")[0]["code"], "APPROVAL_STALE", "{}", lines.outcome());
    assert!(lines.result(0).contains("where `a.txt` leads"), "{}", lines.result(0));
    assert_eq!(std::fs::read_to_string(desk.path("task/elsewhere.txt")).unwrap(), "precious");
    let (desk, session, id) = paused();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    desk.write("task/a.txt", "somebody's own words");
    let lines = desk.json(["resume", &session]);
    assert!(lines.result(0).contains("APPROVAL_STALE") && lines.result(0).contains("the content of `a.txt`"));
    assert_eq!(std::fs::read_to_string(desk.path("task/a.txt")).unwrap(), "somebody's own words");
}

/// A yes to a command tool is for the program that was there: its file was changed, so it does not run. Nothing that the
/// model reads names the folder that it lies in.
#[test]
fn a_yes_is_for_the_program_behind_a_tool() {
    let desk = Desk::new();
    let folder = desk.example("refunds");
    let paused = desk.json(["run".as_ref(), folder.as_os_str()]);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let manifest = std::fs::read_to_string(folder.join("tools/issue_refund.toml")).unwrap();
    let program = manifest.split("argv = [\"./").nth(1).unwrap().split('"').next().unwrap();
    let text = std::fs::read_to_string(folder.join(program)).unwrap();
    std::fs::write(folder.join(program), format!("{text}# twice as much\n")).unwrap();
    let lines = desk.json(["resume", &paused.session()]);
    let refused = lines.of("finished").into_iter().find(|line| line["tool"] == "issue_refund").expect("it was refused");
    assert_eq!(refused["code"], "APPROVAL_STALE", "{refused}");
    let name = program.rsplit('/').next().unwrap();
    let said = refused["text"].as_str().unwrap();
    assert!(
        said.contains(&format!("the content of `{name}`")) && !said.contains(&*desk.path("").to_string_lossy()),
        "{said}"
    );
    assert!(!lines.workspace().join("refunds.jsonl").exists());
}

/// `ask_user` waits for words; the answer reaches the model as the tool's result.
#[test]
fn a_question_waits_for_an_answer() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"ask_user\", args = { question = \"Which colour?\" } }]\n[[step]]\nwhen = { tool_result = \"ask_user\", contains = \"blue\" }\ntext = \"Blue it is.\"\n";
    let task = desk.task(script, ASK_WRITES, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.status()), (3, "needs_input"), "{}", lines.outcome());
    assert_eq!(lines.outcome()["reason"], "Which colour?");
    assert_eq!(desk.json(["resume", &lines.session()]).status(), "needs_input", "without an answer it waits on");
    let done = desk.json(["resume", &lines.session(), "--answer", "blue, please", "--by", "dana"]);
    assert_eq!((done.status(), done.outcome()["answer"].as_str()), ("completed", Some("Blue it is.")));
    let wrong = desk.run(["resume", &done.session(), "--answer", "red"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}

/// Shows R101, R167: what was asked in one process is answered and finished in others; a list and a lookup by prefix.
#[test]
fn approvals_list_what_waits() {
    let (desk, session, id) = paused();
    let list = desk.run(["approvals", "list", "--json"]);
    let line: serde_json::Value = serde_json::from_str(list.out.trim()).unwrap();
    assert_eq!(
        (&line["id"], &line["session"], &line["tool"], &line["arguments"], &line["state"], &line["uses_left"]),
        (
            &json!(id),
            &json!(session),
            &json!("write"),
            &json!({"file_path": "a.txt", "content": "hello"}),
            &json!("pending"),
            &json!(1)
        )
    );
    assert!(
        line["requested_at"].is_u64()
            && line["expires_at"].is_u64()
            && line["effects"].is_array()
            && line["reason"].is_string()
    );
    assert_eq!(line["expires_at"].as_u64().unwrap() - line["requested_at"].as_u64().unwrap(), 24 * 60 * 60 * 1_000);
    assert_eq!(desk.run(["approvals", "show", &id[..6]]).code, 0);
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    assert_eq!(desk.json(["resume", &session[..5]]).status(), "completed");
    assert_eq!(std::fs::read_to_string(desk.path("task/a.txt")).unwrap(), "hello");
}
