//! `script serve`: what a person reads, and our own sessions over all four wires.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::served::{Served, surrounded};
use crate::support::{Desk, Lines};

/// Serves a script to a few requests and ends it: everything that was printed, and the exit code.
fn printed(desk: &Desk, options: &[&str], requests: &[(&str, &str)], signal: &str) -> String {
    let script = desk.path("script.toml");
    let served = Served::new(desk, &script, options);
    let (address, mut all) = (served.address(), format!("$ script serve script.toml {}\n", options.join(" ")));
    all += &format!("{}\n", served.first);
    for (path, body) in requests {
        let answered = desk.program("curl", ["--silent", "--show-error", &format!("{address}{path}"), "--data", body]);
        assert_eq!(answered.code, 0, "{}", answered.err);
        all += &format!("> {path}\n{}\n", answered.out);
    }
    let ended = served.end(signal);
    all += &format!("$ kill {signal}\n{}{}exit code {}", ended.out, ended.err, ended.code);
    desk.steady(&all.replace(&address, "http://127.0.0.1:PORT"))
}

/// What a person reads, and a program: where it is, each request, and at the end what was never asked for. Both signals end it.
#[test]
fn a_script_is_served() {
    let desk = Desk::new();
    desk.write("script.toml", "version = 1\n[[step]]\ntext = \"Hi.\"\n[[step]]\ntext = \"Bye.\"\n");
    let messages = "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}";
    let contents = "{\"contents\":[{\"parts\":[{\"text\":\"Hello\"}]}]}";
    let requests =
        [("/v1/messages", messages), ("/v1/messages", messages), ("/v1/responses", "{}"), ("/nothing", "{}")];
    assert_snapshot!("as_a_person_reads_it", printed(&desk, &["--fault", "1:status=529"], &requests, "-TERM"));
    let requests = [("/v1/messages", messages), ("/v1beta/models/m:generateContent", contents)];
    assert_snapshot!("as_a_program_reads_it", printed(&desk, &["--json"], &requests, "-INT"));
}

/// Mistakes in what was typed, each with exit code 2.
#[test]
fn what_was_typed_wrong_is_told() {
    let desk = Desk::new();
    desk.write("script.toml", "version = 1\n[[step]]\ntext = \"Hi.\"\n");
    desk.write("broken.toml", "version = 1\n[[step]]\ntxt = \"Hi.\"\n");
    desk.write("sub.toml", "version = 1\n[[step]]\ntext = \"Hi.\"\n[[step]]\nsub = 1\ntext = \"x\"\n");
    let all = [
        vec!["none.toml"],
        vec!["broken.toml"],
        vec!["sub.toml"],
        vec!["script.toml", "--listen", "0.0.0.0:0"],
        vec!["script.toml", "--listen", "localhost"],
        vec!["script.toml", "--fault", "status=500"],
        vec!["script.toml", "--fault", "1:status=200"],
        vec!["script.toml", "--fault", "1:ids=other"],
    ];
    let told = all.map(|words| {
        let ended = desk.run([&["script", "serve"], &words[..]].concat());
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{words:?}");
        format!("$ script serve {}\n{}", words.join(" "), desk.steady(&ended.err))
    });
    assert_snapshot!(told.join("\n"));
}

/// A session's transcript without what a wire changes: who the model was, how it counts, and what it wants back.
fn transcript(desk: &Desk, session: &str) -> Vec<Value> {
    let lines = desk.exported(&["export", session, "--transcript"]).into_iter();
    let less = |mut line: Value| {
        for key in ["model", "provider", "usage", "estimate", "digest", "prefix"] {
            line.as_object_mut().unwrap().remove(key);
        }
        line
    };
    lines.map(less).collect()
}

/// The example that waits for a person, from its beginning over a yes to its end, in two processes.
fn refunds(model: Option<&str>, address: &str) -> (Vec<Value>, String) {
    let desk = Desk::new();
    let folder = desk.example("refunds");
    let command = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        surrounded(&mut command, address);
        Lines::of_command(&mut command)
    };
    let mut run = vec!["run", folder.to_str().unwrap()];
    run.extend(model.iter().flat_map(|model| ["--model", model]));
    let paused = command(&run);
    assert_eq!(paused.status(), "needs_approval", "{}{}", paused.outcome(), paused.ended.err);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let done = command(&["resume", &paused.session()]);
    assert_eq!(done.status(), "completed", "{}{}", done.outcome(), done.ended.err);
    desk.sound();
    let answer = done.outcome()["answer"].as_str().unwrap().to_owned();
    (transcript(&desk, &done.session()), answer)
}

/// What a script says is what a session sees, whichever wire it comes over: every event is the same. Shows R119.
#[test]
fn a_session_is_the_same_over_every_wire() {
    let desk = Desk::new();
    let script = desk.example("refunds").join("script.toml");
    let (expected, answer) = refunds(None, "");
    assert!(expected.len() > 15);
    for kind in ["anthropic", "openai", "gemini", "compatible"] {
        let served = Served::new(&desk, &script, &["--json"]);
        let address = served.address();
        let model = if kind == "compatible" { format!("{kind}:{address}/v1#any") } else { format!("{kind}:any") };
        let (events, said) = refunds(Some(&model), &address);
        assert_eq!(said, answer, "{kind}");
        for (event, expected) in events.iter().zip(&expected) {
            assert_eq!(event, expected, "{kind}");
        }
        assert_eq!(events.len(), expected.len(), "{kind}");
        let ended = served.end("-TERM");
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{kind}");
        assert!(ended.out.lines().all(|line| line.contains(&format!("\"wire\":\"{kind}\""))), "{}", ended.out);
    }
}

/// Whatever happens on the way to a model, a session comes to the same end: it is busy, it breaks off in four ways, it
/// repeats ids, and it comes byte by byte.
#[test]
fn a_session_gets_through_every_fault() {
    let faults = [
        "1:status=529,retry_after_s=0",
        "2:cut_after=3",
        "3:cut_after=3,cut_by=end",
        "5:cut_after=0,cut_by=garbage",
        "6:status=429,retry_after_s=0",
        "*:chunk_bytes=1,ids=same",
    ];
    let options: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).chain(["--json"]).collect();
    let desk = Desk::new();
    let script = desk.example("refunds").join("script.toml");
    for kind in ["anthropic", "openai", "gemini"] {
        let served = Served::new(&desk, &script, &options);
        let (_, answer) = refunds(Some(&format!("{kind}:any")), &served.address());
        assert!(answer.contains("30"), "{kind}: {answer}");
        let ended = served.end("-TERM");
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{kind}");
        let struck = ended.out.lines().filter(|line| !line.contains("\"faults\":[\"*:")).count();
        assert_eq!(struck, faults.len() - 1, "{kind}: {}", ended.out);
    }
}
