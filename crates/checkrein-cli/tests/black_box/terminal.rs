//! A person at a real terminal: asked, answering, looking at details, and putting it off.

use std::io::Write as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::support::{Desk, Ended, ended, skipped};

/// Runs the binary with a terminal at both ends; `typed` is what the person types.
fn at_a_terminal(desk: &Desk, arguments: &str, typed: &str) -> Option<Ended> {
    let mut command = Command::new("script");
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_checkrein"));
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(desk.path(""));
    desk.surroundings(&mut command);
    command.env("TERM", "xterm").env("NO_COLOR", "1").env("COLUMNS", "100");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skipped("`script` (util-linux) is not installed here");
        return None;
    };
    child.stdin.take().expect("piped").write_all(typed.as_bytes()).expect("typed");
    Some(ended(child.wait_with_output().expect("it ends")))
}

fn prompting(desk: &Desk) {
    let folder = desk.example("refunds");
    let task = std::fs::read_to_string(folder.join("task.toml")).unwrap().replace("on_ask = \"pause\"\n", "");
    std::fs::write(folder.join("task.toml"), task).unwrap();
}

/// Shows R102, R103: the question names the exact call; yes runs it once.
#[test]
fn yes_at_the_terminal() {
    let desk = Desk::new();
    prompting(&desk);
    let Some(run) = at_a_terminal(&desk, "run refunds", "d\ny\n") else { return };
    assert_eq!(run.code, 0, "{}", run.out);
    let asked: Vec<_> = run.out.lines().skip_while(|line| !line.contains("needs your yes")).take(11).collect();
    assert_snapshot!(desk.steady(&asked.join("\n").replace('\r', "")));
    let ledger = std::fs::read_dir(desk.path("state/sessions")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(ledger.join("workspace/refunds.jsonl")).unwrap().lines().count(), 1);
}

/// Shows R103: a no reaches the model with its reason.
#[test]
fn no_at_the_terminal() {
    let desk = Desk::new();
    prompting(&desk);
    let Some(run) = at_a_terminal(&desk, "run refunds", "n\nnot without a receipt\n") else { return };
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("DENIED_BY_PERSON not without a receipt"), "{}", run.out);
    assert!(run.out.contains("The refund was not made"), "{}", run.out);
}

/// Putting a question off pauses the session, which says how to go on.
#[test]
fn later_at_the_terminal() {
    let desk = Desk::new();
    prompting(&desk);
    let Some(run) = at_a_terminal(&desk, "run refunds", "l\n") else { return };
    assert_eq!(run.code, 3, "{}", run.out);
    assert!(run.out.contains("approvals approve"), "{}", run.out);
}

/// Colours stand only on a terminal, and never under `NO_COLOR`.
#[test]
fn colours_stay_on_terminals() {
    let desk = Desk::new();
    let folder = desk.example("refunds");
    let piped = desk.run(["run".as_ref(), folder.as_os_str()]);
    assert!(!piped.out.contains('\u{1b}'), "{}", piped.out);
    let Some(run) = at_a_terminal(&desk, "run refunds", "") else { return };
    let coloured = run.out.replace("\u{1b}[2K", "").replace("\u{1b}[?25h", "").replace("\u{1b}[?25l", "");
    assert!(!coloured.contains("\u{1b}[3") && !coloured.contains("\u{1b}[1m"), "{coloured:?}");
}
