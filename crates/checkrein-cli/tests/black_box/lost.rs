//! A session that is lost while a program runs: a person says what became of it, at the terminal or by an option.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::Desk;
use crate::terminal::at_a_terminal;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"pay\"\ndecision = \"allow\"\nreason = \"the task\"\neffect = \"tool\"\ntool = \"pay\"\n";
const SCRIPT: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"pay\", args = { sum = 30 } }]\n\
                      [[step]]\nwhen = { tool_result = \"pay\", contains = \"receipt 7\" }\ntext = \"Paid, receipt 7.\"\n\
                      [[step]]\nelse = true\ntext = \"It was not paid.\"\n";
/// Says that it has begun, and waits for ever.
const PAY: &str = "echo begun > begun\nread never < never\n";

/// A session whose process was killed while its program ran.
fn lost() -> (Desk, String) {
    let desk = Desk::new();
    let task = desk.task(SCRIPT, POLICY, "tools = [\"pay\"]\n");
    desk.write("task/pay.sh", PAY);
    desk.write(
        "task/tools/pay.toml",
        "version = 1\nname = \"pay\"\ndescription = \"Pays.\"\nargv = [\"sh\", \"pay.sh\"]\noutput = \"text\"\n[params.sum]\ntype = \"number\"\nrequired = true\n",
    );
    for pipe in ["begun", "never"] {
        assert!(Command::new("mkfifo").arg(task.join(pipe)).status().unwrap().success());
    }
    let mut run = desk.command(["run".as_ref(), task.as_os_str()]);
    let mut child = run.stdout(std::process::Stdio::null()).spawn().unwrap();
    assert_eq!(fs::read_to_string(task.join("begun")).unwrap(), "begun\n", "returns once the program runs");
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = desk.run(["sessions", "--json"]);
    let line: serde_json::Value = serde_json::from_str(listed.out.trim()).unwrap();
    (desk, line["session"].as_str().unwrap().to_owned())
}

/// Shows R147, R169: the session waits, says how to go on, and takes a word only for what is in question.
#[test]
fn a_lost_call_waits_for_a_person() {
    let (desk, session) = lost();
    let paused = desk.run(["resume", &session]);
    assert_eq!(paused.code, 3, "{}", paused.err);
    let end = paused.out.find("needs_input").expect("it waits");
    assert_snapshot!(desk.steady(&paused.out[end..]));
    for wrong in ["c1-1=maybe", "c1-1", "c9-9=done"] {
        let ended = desk.run(["resume", &session, "--unknown", wrong]);
        assert_eq!(ended.code, 2, "{wrong}: {}", ended.err);
        assert!(ended.err.contains(if wrong == "c9-9=done" { "c1-1 (pay)" } else { "repeat, done, failed, unknown" }));
    }
    assert_eq!(desk.run(["resume", &session, "--note", "x"]).code, 2, "a note is of a word");
    let words = ["resume", &session, "--unknown", "c1-1=done", "--note", "receipt 7", "--by", "dana"];
    let done = desk.run(words);
    assert!(done.code == 0 && done.out.contains("Paid, receipt 7."), "{}{}", done.out, done.err);
    let shown = desk.run(["show", &session]);
    assert!(shown.out.contains("dana       says of c1-1: done: receipt 7"), "{}", shown.out);
    assert_eq!(desk.run(["journal", "verify", &session]).code, 0);
}

/// Shows R147: the person at the terminal is asked, whatever the task says of asking.
#[test]
fn a_lost_call_is_asked_about_at_the_terminal() {
    let (desk, session) = lost();
    let Some(later) = at_a_terminal(&desk, &format!("resume {session}"), "l\n") else { return };
    assert_eq!(later.code, 3, "{}", later.out);
    let Some(run) = at_a_terminal(&desk, &format!("resume {session}"), "what?\nfailed\nno such receipt\n") else {
        return;
    };
    assert!(run.code == 0 && run.out.contains("It was not paid."), "{}", run.out);
    let asked: Vec<_> = run.out.lines().skip_while(|line| !line.contains("was running when")).take(5).collect();
    assert_snapshot!(desk.steady(&asked.join("\n").replace('\r', "")));
    let (desk, session) = lost();
    fs::write(desk.path("task/pay.sh"), "echo receipt 7\n").unwrap();
    let Some(run) = at_a_terminal(&desk, &format!("resume {session}"), "r\n") else { return };
    assert!(run.code == 0 && run.out.contains("Paid, receipt 7."), "{}", run.out);
}
