//! A cassette beside a model that is asked again (`--verify`), and played to see what comes of a change (`--lenient`).

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::served::{Served, surrounded};
use crate::support::{Desk, Lines};

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

/// Two turns, and a sub-session between them.
fn script(look: &str, sub: &str, answer: &str) -> String {
    format!(
        "version = 1\n[[step]]\ntext = \"{look}\"\ncalls = [{{ tool = \"read\", args = {{ file_path = \"notes.txt\" }} }}]\n\
         [[step]]\ncalls = [{{ tool = \"task\", args = {{ prompt = \"Part.\" }} }}]\n\
         [[step]]\nsub = 1\ntext = \"{sub}\"\n\
         [[step]]\ntext = \"{answer}\"\n"
    )
}

fn desk(script: &str) -> (Desk, PathBuf) {
    let desk = Desk::new();
    desk.write("task/notes.txt", "the key is under the mat\n");
    let task = desk.task(script, POLICY, "workspace = \"copy\"\n");
    (desk, task)
}

fn reason(desk: &Desk, lines: &Lines) -> String {
    desk.steady(lines.outcome()["reason"].as_str().unwrap())
}

/// The model that is asked says the same, or the session fails with the first thing that it says otherwise, on each lane; the
/// session gets what is said now. Shows R191, R199.
#[test]
fn a_model_is_held_against_what_it_said() {
    let (desk, _) = desk(&script("I look.", "One.", "Under the mat."));
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    let before = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    let same = desk.json(["run", "task", "--verify", "c.jsonl"]);
    assert_eq!((same.status(), same.ended.code), ("completed", 0), "{}{}", same.outcome(), same.ended.err);
    assert!(desk.run(["show", &same.session()]).out.contains(", held against "));
    for (changed, what) in [
        (script("I look.", "One.", "On the mat."), "the answer"),
        (script("I see.", "One.", "Under the mat."), "the first turn"),
        (script("I look.", "Two.", "Under the mat."), "a sub-session"),
        (script("I look.", "One.", "Under the mat.").replacen("[[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Part.\" } }]\n[[step]]\nsub = 1\ntext = \"One.\"\n", "", 1), "one turn less"),
        (script("I look.", "One.", "Well.\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n[[step]]\ntext = \"Under the mat."), "one turn more"),
    ] {
        desk.write("task/script.toml", &changed);
        let other = desk.json(["run", "task", "--verify", "c.jsonl"]);
        assert_eq!((other.ended.code, other.outcome()["code"].as_str()), (1, Some("CASSETTE_DIFFERS")), "{what}");
        insta::with_settings!({ snapshot_suffix => what.replace(' ', "_") }, {
            assert_snapshot!("verified", reason(&desk, &other));
        });
        let said = desk.run(["export", &other.session(), "--transcript"]).out;
        let now = changed.lines().rfind(|line| line.starts_with("text = ")).unwrap();
        assert!(said.contains(now.trim_start_matches("text = ").trim_matches('"')), "the session has what is said now: {said}");
    }
    assert_eq!(std::fs::read_to_string(desk.path("c.jsonl")).unwrap(), before, "nothing is written");
    desk.sound();
    let both = desk.run(["run", "task", "--model", "replay:c.jsonl", "--verify", "c.jsonl"]);
    assert!(both.code == 2 && both.err.contains("name the model to be asked"), "{}", both.err);
}

/// On a wire: a server that is busy is no difference, and another model is none by itself. Nor is a session that waited in
/// between.
#[test]
fn how_a_server_answers_is_no_difference() {
    let (desk, task) =
        desk(
            &script("I look.", "One.", "Under the mat.")
                .replacen("[[step]]\nsub = 1\ntext = \"One.\"\n", "", 1)
                .replacen("task\", args = { prompt = \"Part.\" }", "ask_user\", args = { question = \"Where?\" }", 1),
        );
    let served = |options: &[&str]| Served::new(&desk, &task.join("script.toml"), &[&["--json"], options].concat());
    let run = |served: &Served, arguments: &[&str]| {
        let mut command = desk.command(arguments);
        surrounded(&mut command, &served.address());
        Lines::of_command(&mut command)
    };
    let to_the_end = |served: &Served, arguments: &[&str]| {
        let waits = run(served, arguments);
        assert_eq!(waits.status(), "needs_input", "{}{}", waits.outcome(), waits.ended.err);
        run(served, &["resume", &waits.session(), "--answer", "There."])
    };
    let server = served(&["--fault", "2:status=429,retry_after_s=0"]);
    let recorded = to_the_end(&server, &["run", "task", "--model", "anthropic:scripted", "--record", "c.jsonl"]);
    assert_eq!(recorded.status(), "completed", "{}", recorded.outcome());
    server.end("-TERM");
    for model in ["anthropic:scripted", "openai:scripted", "gemini:other"] {
        let server = served(&["--fault", "1:status=529,retry_after_s=0", "--fault", "*:chunk_bytes=5"]);
        let again = to_the_end(&server, &["run", "task", "--model", model, "--verify", "c.jsonl"]);
        assert_eq!(again.status(), "completed", "{model}: {}", again.outcome());
        server.end("-TERM");
    }
    desk.sound();
}

/// Leniently, a changed prompt shows what comes of it: the rows answer in their order, the session fails at its end. It is for
/// a person, and refused where a program is alone.
#[test]
fn a_lenient_run_goes_on_and_says_so() {
    let (desk, task) = desk(&script("I look.", "One.", "Under the mat."));
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    let lenient = ["run", "task", "--model", "replay:c.jsonl", "--lenient"];
    let same = desk.json(lenient);
    assert_eq!((same.status(), same.ended.code), ("completed", 0), "{}", same.outcome());
    let settings = std::fs::read_to_string(task.join("task.toml")).unwrap();
    desk.write("task/task.toml", &settings.replace("Do it.", "Do it now."));
    let strict = desk.json(["run", "task", "--model", "replay:c.jsonl"]);
    assert_eq!(strict.outcome()["code"], "CASSETTE_MISS");
    let other = desk.json(lenient);
    assert_eq!(
        (other.ended.code, other.outcome()["code"].as_str()),
        (1, Some("CASSETTE_DIFFERS")),
        "{}",
        other.outcome()
    );
    assert_snapshot!("lenient", reason(&desk, &other));
    assert_eq!(other.result(1), "One.\n[sub-session main/1: completed, 1 steps, 0 calls, 1284 tokens]");
    assert!(desk.run(["show", &other.session()]).out.contains(", played leniently from "));
    desk.sound();
    let mut command = desk.command(lenient);
    let refused = crate::support::ended(command.env("CI", "true").output().unwrap());
    assert!(refused.code == 2 && refused.err.contains("never where `CI` is set"), "{}", refused.err);
    let asked = desk.run(["run", "task", "--lenient"]);
    assert!(asked.code == 2 && asked.err.contains("only a cassette is played leniently"), "{}", asked.err);
}

/// Where no row is left on its lane, none is served: even leniently nothing is made up.
#[test]
fn leniently_nothing_is_made_up() {
    let (desk, task) = desk("version = 1\n[[step]]\ntext = \"Done.\"\n");
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    let settings = std::fs::read_to_string(task.join("task.toml")).unwrap();
    desk.write("task/task.toml", &format!("{settings}[[verify]]\nfile = \"out.txt\"\ncontains = \"yes\"\n"));
    let missed = desk.json(["run", "task", "--model", "replay:c.jsonl", "--lenient"]);
    assert_eq!(missed.outcome()["code"], "CASSETTE_MISS", "{}", missed.outcome());
}
