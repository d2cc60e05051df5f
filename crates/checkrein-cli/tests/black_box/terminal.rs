//! A person at a real terminal: asked, answering, looking at details, and putting it off.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::support::{Desk, Ended, ended, skipped};

/// Runs the binary with a terminal at both ends; `typed` is what the person types.
pub(crate) fn at_a_terminal(desk: &Desk, arguments: &str, typed: &str) -> Option<Ended> {
    typing(desk, arguments, typed, |_, _| {})
}

/// The same for a person who does something before the first question.
fn typing(
    desk: &Desk,
    arguments: &str,
    typed: &str,
    early: impl FnOnce(&mut dyn Read, &mut dyn Write),
) -> Option<Ended> {
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
    let (mut keys, mut screen) = (child.stdin.take(), child.stdout.take().expect("piped"));
    if let Some(keys) = &mut keys {
        early(&mut screen, keys);
    }
    let mut lines = typed.split_inclusive('\n');
    let (mut shown, mut piece) = (Vec::new(), [0_u8; 4096]);
    while let Ok(1..) = screen.read(&mut piece).inspect(|read| shown.extend_from_slice(&piece[..*read])) {
        // An answer is typed when the question is there; one typed before would be none.
        if [": ", "[y/N] "].iter().any(|end| shown.ends_with(end.as_bytes())) {
            match (lines.next(), &mut keys) {
                (Some(line), Some(keys)) => keys.write_all(line.as_bytes()).expect("typed"),
                _ => keys = None,
            }
        }
    }
    let mut ended = ended(child.wait_with_output().expect("it ends"));
    ended.out = String::from_utf8_lossy(&shown).into_owned();
    Some(ended)
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
    let asked: Vec<_> = run.out.lines().skip_while(|line| !line.contains("needs your yes")).take(12).collect();
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

/// Shows R101, R102: what was typed before a question was there is no answer to it.
#[test]
fn nothing_typed_ahead_is_a_yes() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"cat fifo\" } }]\n\
                  [[step]]\ncalls = [{ tool = \"bash\", args = { command = \"touch done\" } }]\n[[step]]\ntext = \"end\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
                  [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"cat\"\n";
    desk.task(script, policy, "workspace = \"in-place\"\n");
    let fifo = desk.path("task/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The first call waits until its file has a writer, and by then the person has hit a key.
    let early = |screen: &mut dyn Read, keys: &mut dyn Write| {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        keys.write_all(b"y\n").unwrap();
        let mut echoed = Vec::new();
        while !echoed.ends_with(b"y\r\n") {
            let mut byte = [0_u8];
            screen.read_exact(&mut byte).unwrap();
            echoed.push(byte[0]);
        }
        pipe.write_all(b"go on").unwrap();
    };
    let Some(run) = typing(&desk, "run task", "n\nnot this\n", early) else { return };
    assert!(run.code == 0 && run.out.contains("DENIED_BY_PERSON not this"), "{}", run.out);
    assert!(!desk.path("task/done").exists(), "{}", run.out);
}

/// Ctrl-C at a question ends the run as it does anywhere else; so does SIGTERM, which a service manager sends.
#[test]
fn a_question_can_be_interrupted() {
    let desk = Desk::new();
    prompting(&desk);
    let Some(run) = at_a_terminal(&desk, "run refunds", "\u{3}") else { return };
    assert!(run.code == 130 && run.out.contains("a person interrupted the run"), "{}", run.out);
    let listed = desk.run(["approvals", "list", "--all"]);
    assert!(listed.out.contains("withdrawn"), "{}", listed.out);
    desk.sound();
}

/// A run that is told to end closes every call that it began, and says so.
#[test]
fn a_run_is_told_to_end() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"cat fifo\" } }]\n[[step]]\ntext = \"end\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
                  [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"cat\"\n";
    let task = desk.task(script, policy, "workspace = \"in-place\"\n");
    let fifo = desk.path("task/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It is there to be written to once the call runs.
    let _held = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let run = ended(child.wait_with_output().unwrap());
    assert!(run.code == 130 && run.out.contains("interrupted"), "{} {}", run.out, run.err);
    assert!(desk.run(["sessions"]).out.contains("cancelled"));
    desk.sound();
}

/// A host whose name only looks like a known one, and letters that nobody sees, are told as what they are before anybody says yes.
#[test]
fn a_person_is_asked_about_what_is_meant() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"curl https://p\\u0430ypal.com/a\\u200b\\u2060b\\u061C\" } }]\n\
                  [[step]]\ntext = \"done\"\n";
    let task = desk.task(script, "version = 1\n", "");
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    let shown = desk.run(["approvals", "show", &id]).out;
    let mut all = vec![shown, desk.run(["approvals", "list"]).out, desk.run(["show", &paused.session()]).out];
    assert!(all[0].contains("xn--pypal-4ve.com (written with letters beyond a to z"), "{}", all[0]);
    if let Some(asked) = at_a_terminal(&desk, "run task", "l\n") {
        assert!(asked.out.contains("host      xn--pypal-4ve.com (written with letters"), "{}", asked.out);
        all.push(asked.out.replace(['\r', '\u{1b}'], ""));
    }
    // Nor does the yes become a rule that reads as another one than it is.
    assert_eq!(desk.run(["approvals", "approve", &id]).code, 0);
    all.push(desk.run(["policy", "suggest"]).out);
    for text in all {
        let seen = |c: char| checkrein::contract::steers(c);
        assert!(text.contains("\\u{200b}\\u{2060}") && !text.contains(seen), "{text:?}");
    }
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

/// Shows R74: whatever a file or a program holds, nothing of it is obeyed by the terminal that shows the run.
#[test]
fn nothing_hostile_reaches_the_terminal() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"h.txt\" } }, \
                  { tool = \"grep\", args = { pattern = \"end\" } }, { tool = \"bash\", args = { command = \"cat h.txt; ls\" } }]\n\
                  [[step]]\ntext = \"\\u001b[31mdone\\u202e\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
                  [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"cat\", \"ls\"]\n";
    let task = desk.task(script, policy, "workspace = \"in-place\"\n");
    let hostile = b"\x1b[31mred\x1b]0;title\x07 over\rwritten \xe2\x80\xaebackwards \xff \xc2\x9b2J end\n";
    std::fs::write(desk.path("task/h.txt"), hostile).unwrap();
    std::fs::write(desk.path("task/a\u{1b}[31m\u{202e}b.txt"), "end\n").unwrap();
    let run = desk.run(["run".as_ref(), task.as_os_str()]);
    let show = desk.run(["sessions"]);
    assert!(run.out.contains("backwards") && run.out.contains("end"), "{}", run.out);
    for text in [&run.out, &run.err, &show.out, &show.err] {
        assert_eq!(text.chars().find(|c| checkrein::contract::steers(*c)), None, "{text:?}");
    }
}
