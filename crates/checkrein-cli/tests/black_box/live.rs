//! Against the vendors themselves, for whoever has a key: one small session with one call each. It is skipped, visibly, until
//! somebody asks for it; the same session runs against a script always.

use std::io::Write as _;

use crate::support::served::{Served, surrounded};
use crate::support::{Desk, Lines};

/// A vendor: the kind of its models, the variable of its key, and the one that names a model.
const VENDORS: &[(&str, &str, &str)] = &[
    ("anthropic", "ANTHROPIC_API_KEY", "CHECKREIN_LIVE_ANTHROPIC"),
    ("openai", "OPENAI_API_KEY", "CHECKREIN_LIVE_OPENAI"),
    ("gemini", "GEMINI_API_KEY", "CHECKREIN_LIVE_GEMINI"),
];

/// A file is read and its content told; the journal proves it.
fn session(desk: &Desk, kind: &str, name: &str, variables: &[(&str, &str)]) {
    desk.write("task/note.txt", "The number of today is 4711.\n");
    let rule = "[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";
    desk.write("task/policy.toml", &format!("version = 1\n{rule}"));
    let prompt = "Read the file note.txt with the tool `read`. Then answer with the number of today, in digits.";
    let task = format!("version = 1\nprompt = \"{prompt}\"\npolicy = \"policy.toml\"\ntools = [\"read\"]\n");
    desk.write("task/task.toml", &format!("{task}[budget]\nsteps = 5\ntokens = 40000\n"));
    let model = format!("{kind}:{name}");
    let mut command = desk.command(["run", "task", "--model", &model]);
    let lines = Lines::of_command(command.envs(variables.iter().copied()));
    assert_eq!(lines.status(), "completed", "{}{}", lines.outcome(), lines.ended.err);
    // What was done, and never what a model happened to say of it.
    let read = lines.of("finished").into_iter().filter(|end| end["tool"] == "read" && end["as"] == "ok");
    let read = read.map(|end| end["text"].as_str().unwrap_or_default()).collect::<String>();
    assert!(read.contains("4711"), "{}", lines.ended.out);
    assert_eq!(lines.outcome()["usage"]["estimated"], serde_json::Value::Null, "the server counted");
    desk.sound();
}

/// Shows R23, R191: with a key and a model for it, a session against the vendor; without, what to set is told.
#[test]
fn a_session_against_each_vendor() {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let wanted = set("CHECKREIN_LIVE").is_some_and(|value| value == "1");
    for (kind, key, model) in VENDORS {
        match (set(key), set(model)) {
            (Some(value), Some(name)) if wanted => session(&Desk::new(), kind, &name, &[(key, &value)]),
            // Past the harness of tests, which keeps what a test that passes prints.
            _ => writeln!(
                std::io::stderr(),
                "skipped: {kind} itself; set CHECKREIN_LIVE=1, {key}, and {model} to the name of a model"
            )
            .unwrap(),
        }
    }
}

/// The session that the vendors are asked for can be held: a script does, on each wire.
#[test]
fn the_session_that_vendors_are_asked_for_is_possible() {
    let desk = Desk::new();
    let steps = "[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"note.txt\" } }]\n\
        [[step]]\nwhen = { tool_result = \"read\", contains = \"4711\" }\ntext = \"It is 4711.\"\n";
    let script = desk.write("script.toml", &format!("version = 1\n{steps}"));
    for (kind, key, _) in VENDORS {
        let served = Served::new(&desk, &script, &["--json"]);
        let mut command = std::process::Command::new("true");
        surrounded(&mut command, &served.address());
        let variables: Vec<(String, String)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
            .filter(|(name, _)| name.ends_with("_BASE_URL") || name == key)
            .collect();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        session(&Desk::new(), kind, "any", &variables);
        assert_eq!(served.end("-TERM").code, 0, "{kind}");
    }
}
