//! Who answers a question, and which answers count.

use serde_json::Value;

use crate::support::{Desk, Lines};

const WRITE: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";
const RULES: &str = "version = 1\n[approvals]\nfour_eyes = true\n[approvals.roles]\nmanager = [\"dana\", \"lee\"]\n\
                     [[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a manager decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\napprovers = [\"manager\"]\n";
const FREE: &str = "version = 1\n[[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";

fn paused(policy: &str, person: &str) -> (Desk, Lines, String) {
    let desk = Desk::new();
    let task = desk.task(WRITE, policy, &format!("[identity]\nperson = \"{person}\"\n"));
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    let id = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
    (desk, lines, id)
}

fn refused(desk: &Desk, arguments: &[&str], said: &str) {
    let ended = desk.run(arguments);
    assert_eq!(ended.code, 1, "{arguments:?}: {}{}", ended.out, ended.err);
    assert!(ended.err.contains(said), "{said} in {}", ended.err);
}

/// The answers that did not count, as the journal has them.
fn logged(desk: &Desk, session: &str) -> Vec<String> {
    let exported = desk.run(["export", session]);
    let lines = exported.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let body = |line: Value| line.get("body").cloned().unwrap_or(line);
    let events = lines.map(body).filter(|event| event["type"] == "answer_refused");
    events.map(|event| format!("{} {}", event["by"].as_str().unwrap(), event["code"].as_str().unwrap())).collect()
}

/// Shows R97: the person for whom the session acts can not say yes, nor can somebody without the role; each try is in the
/// journal, and whoever may, may. Everybody may say no.
#[test]
fn only_those_who_may_say_yes() {
    let (desk, lines, id) = paused(RULES, "dana");
    assert!(lines.outcome()["reason"].as_str().unwrap().contains("manager (dana, lee)"), "{}", lines.outcome());
    refused(&desk, &["approvals", "approve", &id, "--by", "dana"], "APPROVAL_NOT_YOURS: the session acts for dana");
    refused(&desk, &["approvals", "approve", &id, "--by", "Dana"], "APPROVAL_NOT_YOURS");
    refused(&desk, &["approvals", "approve", &id], "rule `write` wants the yes of a manager, and sam is none");
    let waiting = desk.json(["resume", &lines.session()]);
    assert_eq!(waiting.status(), "needs_approval");
    assert_eq!(
        logged(&desk, &lines.session()),
        ["person:dana APPROVAL_NOT_YOURS", "person:Dana APPROVAL_NOT_YOURS", "person:sam APPROVAL_NOT_YOURS"]
    );
    let shown = desk.run(["approvals", "show", &id]);
    assert!(shown.out.contains("who may      not whoever the session acts for"), "{}", shown.out);
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "lee"]).code, 0);
    assert_eq!(desk.json(["resume", &lines.session()]).status(), "completed");
    assert_eq!(std::fs::read_to_string(desk.path("task/a.txt")).unwrap(), "hello");
    assert_eq!(desk.run(["journal", "verify"]).code, 0);

    let (desk, lines, id) = paused(RULES, "dana");
    assert_eq!(desk.run(["approvals", "deny", &id, "--by", "sam"]).code, 0, "a no is everybody's");
    assert_eq!(desk.json(["resume", &lines.session()]).of("finished")[0]["code"], "DENIED_BY_PERSON");
}

/// Four eyes need to know whose the first pair are.
#[test]
fn four_eyes_want_a_person() {
    let desk = Desk::new();
    let task = desk.task(WRITE, RULES, "");
    let ended = desk.run(["run".as_ref(), task.as_os_str()]);
    assert!(ended.code == 2 && ended.err.contains("--as person=NAME"), "{}", ended.err);
    let lines = desk.json(["run".as_ref(), task.as_os_str(), "--as".as_ref(), "person=sam".as_ref()]);
    assert_eq!(lines.status(), "needs_approval");
}

/// Shows R100: the first answer stands; another one is told so, and is in the journal.
#[test]
fn a_second_answer_is_too_late() {
    let (desk, lines, id) = paused(FREE, "sam");
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let decided = "APPROVAL_DECIDED: it is decided already: dana said yes to it";
    refused(&desk, &["approvals", "approve", &id, "--by", "lee"], decided);
    refused(&desk, &["approvals", "deny", &id, "--by", "lee"], decided);
    refused(&desk, &["approvals", "withdraw", &id, "--by", "sam"], decided);
    assert_eq!(desk.json(["resume", &lines.session()]).status(), "completed");
    refused(&desk, &["approvals", "approve", &id, "--by", "lee"], "APPROVAL_SPENT");
    assert_eq!(logged(&desk, &lines.session()).len(), 4);
    assert_eq!(
        desk.run(["sessions", "--json"]).out.matches("\"status\":\"completed\"").count(),
        1,
        "it stays what it was"
    );
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
    let (desk, _, id) = paused(FREE, "sam");
    assert_eq!(desk.run(["approvals", "deny", &id, "--by", "dana"]).code, 0);
    refused(&desk, &["approvals", "approve", &id, "--by", "lee"], "dana said no to it");
}

/// The side that asked takes its question back: nobody answers it any more, and the model is told why.
#[test]
fn a_question_is_taken_back() {
    let (desk, lines, id) = paused(FREE, "sam");
    assert_eq!(desk.run(["approvals", "withdraw", &id, "--reason", "not today"]).code, 0);
    refused(&desk, &["approvals", "approve", &id], "APPROVAL_WITHDRAWN");
    let done = desk.json(["resume", &lines.session()]);
    assert_eq!((done.status(), &done.of("finished")[0]["code"]), ("completed", &"APPROVAL_WITHDRAWN".into()));
    assert!(done.result(0).contains("not today") && !desk.path("task/a.txt").exists());
    assert!(desk.run(["approvals", "list", "--all"]).out.contains("withdrawn"));
}

/// A model can not answer its own question: not by the program's name, however it is spelled, and not from inside a program
/// that may run.
#[test]
fn a_model_can_not_approve() {
    let desk = Desk::new();
    let binary = env!("CARGO_BIN_EXE_checkrein");
    let policy = "version = 1\n[[rule]]\nid = \"all\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"*\"\n";
    let policy = desk.write("all.toml", policy);
    for command in [
        "checkrein approvals approve a-1",
        "env X=1 checkrein approvals approve a-1 --by dana",
        "./target/release/checkrein approvals approve a-1",
        "bash -c 'checkrein \"approvals\" approve a-1'",
        &format!("{binary} approvals deny a-1"),
    ] {
        let ended = desk.run(["policy", "check", command, "--policy", policy.to_str().unwrap()]);
        assert_eq!(ended.code, 11, "{command}: {}", ended.out);
    }
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"x\" } }]\n[[step]]\n\
                  calls = [{ tool = \"bash\", args = { command = \"sh go.sh\" } }, { tool = \"write\", args = { file_path = \"b.txt\", content = \"x\" } }]\n[[step]]\ntext = \"done\"\n";
    let run = "[[rule]]\nid = \"go\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nwords = [\"sh\", \"go.sh\"]\n\
               [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";
    let task = desk.task(script, &format!("{FREE}{run}"), "workspace = \"copy\"\n");
    let state = desk.path("state");
    let go = format!(
        "export CHECKREIN_HOME={}\nfor id in $({binary} approvals list --json | cut -d '\"' -f 4); do {binary} approvals approve $id --by dana; done\n",
        state.display()
    );
    desk.write("task/go.sh", &go);
    let first = desk.json(["run".as_ref(), task.as_os_str()]);
    let open = first.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "deny", &open, "--by", "dana"]).code, 0);
    let second = desk.json(["resume", &first.session()]);
    assert_eq!(second.status(), "needs_approval", "{}{}", second.ended.out, second.ended.err);
    let ran = second.of("finished").iter().any(|line| line["tool"] == "bash" && line["as"] != "refused");
    assert!(ran, "the program itself may run: {}", second.ended.out);
    let list = desk.run(["approvals", "list", "--json"]);
    assert_eq!(list.out.matches("\"state\":\"pending\"").count(), 1, "{}", list.out);
    assert!(!list.out.contains("\"state\":\"approved\""), "{}", list.out);
}

/// Shows R102: an answer names its request and comes from somebody: what an unset variable leaves of either answers nothing.
#[test]
fn nothing_is_no_id_and_nobody_no_person() {
    let (desk, lines, id) = paused(FREE, "dana");
    for short in ["", "a", "a-", &id[..5]] {
        let refused = desk.run(["approvals", "approve", short]);
        assert!(refused.code == 2 && refused.err.contains("there is no approval request"), "{}", refused.err);
    }
    for nobody in ["", " ", "dana\nx"] {
        let refused = desk.run(["approvals", "approve", &id, "--by", nobody]);
        assert!(refused.code == 2 && refused.err.contains("--by"), "{}", refused.err);
    }
    assert_eq!(desk.json(["resume", &lines.session()]).status(), "needs_approval");
    assert_eq!(desk.run(["approvals", "approve", &id[..6], "--by", " dana "]).code, 0);
    assert!(desk.run(["export", &lines.session()]).out.contains("\"by\":\"person:dana\""));
}

/// What somebody says when they take a yes back reaches the model.
#[test]
fn the_model_reads_why_a_yes_was_taken_back() {
    let (desk, lines, id) = paused(FREE, "dana");
    assert_eq!(desk.run(["approvals", "approve", &id]).code, 0);
    assert_eq!(desk.run(["approvals", "revoke", &id, "--reason", "wrong file"]).code, 0);
    let done = desk.json(["resume", &lines.session()]);
    assert!(done.result(0).contains("the approval was taken back: wrong file"), "{}", done.result(0));
}
