//! Models behind a wire: whole sessions of the real binary against a server on loopback, through retries and over processes.

#[path = "../../../checkrein-providers/tests/wires/server.rs"]
mod server;

use serde_json::json;

use self::server::{Answer, End, Server};
use crate::support::{ASK_WRITES, Desk, Lines, files};

const KEY: &str = "key-of-nobody-4711";

/// One event of Anthropic's stream.
fn event(value: &serde_json::Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

/// A reply: thinking, then these blocks, each given whole.
fn anthropic(blocks: &[serde_json::Value], reason: &str) -> String {
    let usage = json!({ "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1 });
    let mut out = event(&json!({ "type": "message_start", "message": { "usage": usage } }));
    for (index, block) in blocks.iter().enumerate() {
        out += &event(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
        out += &event(&json!({ "type": "content_block_stop", "index": index }));
    }
    out += &event(
        &json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 5 } }),
    );
    out + &event(&json!({ "type": "message_stop" }))
}

fn task(desk: &Desk) {
    desk.write("task/policy.toml", ASK_WRITES);
    let head = "version = 1\nprompt = \"Say hello in a.txt.\"\nmodel = \"anthropic:some-model\"\n";
    desk.write("task/task.toml", &format!("{head}policy = \"policy.toml\"\ntools = [\"write\"]\n"));
}

/// Runs a command that speaks to this server.
fn at(desk: &Desk, server: &Server, arguments: &[&str]) -> Lines {
    let mut command = desk.command(arguments);
    Lines::of_command(command.env("ANTHROPIC_BASE_URL", &server.address).env("ANTHROPIC_API_KEY", KEY))
}

/// A server that is busy, then breaks off, then proposes a call that a person has to allow: the call runs once, after the
/// yes, in another process, which gives the model's reasoning back to it. The key is in no file.
#[test]
fn a_session_over_a_wire_and_two_processes() {
    let desk = Desk::new();
    task(&desk);
    let thinking = json!({ "type": "thinking", "thinking": "A greeting.", "signature": "EqQBCgIYAhIM1gbc" });
    let write =
        json!({ "type": "tool_use", "id": "", "name": "write", "input": { "file_path": "a.txt", "content": "hello" } });
    let text = json!({ "type": "text", "text": "It says hello." });
    let first = Answer::stream(&anthropic(&[thinking.clone(), text.clone(), write], "tool_use"));
    let last = Answer::stream(&anthropic(&[text], "end_turn")).in_pieces(11);
    let server = Server::new(move |n| match n {
        0 => Answer::error(429, "{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"busy\"}}")
            .header("retry-after", "0"),
        1 => first.clone().cut(300, End::Closed),
        2 => first.clone(),
        _ => last.clone(),
    });
    let paused = at(&desk, &server, &["run", "task"]);
    assert_eq!(paused.status(), "needs_approval", "{}{}", paused.outcome(), paused.ended.err);
    assert!(!desk.path("task/a.txt").exists());
    let events = desk.events(&paused.session());
    let failed = events.iter().filter(|event| event["type"] == "request_failed");
    let failed: Vec<String> = failed.map(|event| event["reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(failed[0], "anthropic: status 429, rate_limit_error: busy");
    assert!(failed[1].starts_with("anthropic: the stream broke off: ") && failed.len() == 2, "{failed:?}");
    let sent: Vec<_> = server.requests.try_iter().map(|request| request.body).collect();
    assert!(sent.len() == 3 && sent[0] == sent[1] && sent[1] == sent[2], "an attempt is the same request");

    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    let done = at(&desk, &server, &["resume", &paused.session()]);
    assert_eq!((done.status(), done.outcome()["answer"].as_str()), ("completed", Some("It says hello.")));
    assert_eq!(std::fs::read_to_string(desk.path("task/a.txt")).unwrap(), "hello");
    let resumed = server.requests.recv().unwrap().body;
    assert_eq!(resumed["messages"][1]["content"][0], thinking);
    assert_eq!(resumed["messages"][1]["content"][2]["id"], "c1-1");
    assert_eq!(resumed["messages"][2]["content"][0]["tool_use_id"], "c1-1");
    assert_eq!(done.outcome()["usage"]["cached"], 180);

    desk.sound();
    // The whole of what is kept, however deep, and whatever the session worked on.
    let kept = [files(&desk.path("state")), files(&desk.path("task"))].concat();
    assert!(kept.iter().any(|path| path.ends_with("journal.db")), "{kept:?}");
    for path in kept {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
    }
}

/// A key that a program of the person's own prints reaches the server, and no file; a program that brings none is named, and a
/// task can name none.
#[test]
fn a_key_comes_from_a_program() {
    let desk = Desk::new();
    task(&desk);
    desk.write("home/key", KEY);
    let file = "home/.config/checkrein/keys.toml";
    let said = json!({ "type": "text", "text": format!("The key is {KEY}.") });
    let server = Server::new(move |_| Answer::stream(&anthropic(std::slice::from_ref(&said), "end_turn")));
    let argv = json!(["/bin/cat", desk.path("home/key")]);
    desk.write(file, &format!("version = 1\n[keys]\nanthropic = {argv}\n"));
    let done = Lines::of_command(desk.command(["run", "task"]).env("ANTHROPIC_BASE_URL", &server.address));
    assert_eq!(done.status(), "completed", "{}{}", done.outcome(), done.ended.err);
    assert_eq!(server.requests.recv().unwrap().header("x-api-key"), Some(KEY));
    let journal = desk.run(["export", &done.session()]).out;
    assert!(!journal.contains(KEY) && !done.ended.out.contains(KEY), "a model that knows it is not repeated");
    // And so is one that a variable holds, in a fork too, and in what a person says.
    let set = at(&desk, &server, &["run", "task"]);
    assert_eq!(set.status(), "completed", "{}{}", set.outcome(), set.ended.err);
    let forked = desk
        .command(["fork", &set.session(), &format!("Is it {KEY}?"), "--json"])
        .env("ANTHROPIC_API_KEY", KEY)
        .output();
    let forked = String::from_utf8(forked.unwrap().stdout).unwrap();
    let fork =
        serde_json::from_str::<serde_json::Value>(forked.trim()).unwrap()["session"].as_str().unwrap().to_owned();
    let journals = desk.run(["export", &set.session()]).out + &desk.run(["export", &fork]).out;
    assert!(journals.contains("Is it ") && !journals.contains(KEY) && !set.ended.out.contains(KEY), "{journals}");
    desk.write(file, "version = 1\n[keys]\nanthropic = [\"/bin/sh\", \"-c\", \"echo locked >&2; exit 1\"]\n");
    let locked = desk.run(["run", "task"]);
    assert_eq!(locked.code, 2, "{}", locked.out);
    assert_eq!(
        locked.err,
        "error: model `anthropic:some-model`: its key command in keys.toml brought no key: `/bin/sh`: locked\n"
    );
    let own = std::fs::read_to_string(desk.path("task/task.toml")).unwrap();
    desk.write("task/task.toml", &format!("{own}key_command = [\"/bin/cat\", \"/etc/hostname\"]\n"));
    let named = desk.run(["run", "task"]);
    assert!(named.code == 2 && named.err.contains("unknown field `key_command`"), "{}", named.err);
}

/// A process that takes a session up asks the program anew, and what it printed there is kept out of every text as well.
#[test]
fn a_key_from_a_program_is_known_after_a_resume() {
    let desk = Desk::new();
    task(&desk);
    desk.write("home/key", KEY);
    let argv = json!(["/bin/cat", desk.path("home/key")]);
    desk.write("home/.config/checkrein/keys.toml", &format!("version = 1\n[keys]\nanthropic = {argv}\n"));
    let write =
        json!({ "type": "tool_use", "id": "", "name": "write", "input": { "file_path": "a.txt", "content": "hi" } });
    let said = json!({ "type": "text", "text": format!("The key is {KEY}.") });
    let server = Server::new(move |n| match n {
        0 => Answer::stream(&anthropic(std::slice::from_ref(&write), "tool_use")),
        _ => Answer::stream(&anthropic(std::slice::from_ref(&said), "end_turn")),
    });
    let at = |arguments: &[&str]| Lines::of_command(desk.command(arguments).env("ANTHROPIC_BASE_URL", &server.address));
    let paused = at(&["run", "task"]);
    assert_eq!(paused.status(), "needs_approval", "{}{}", paused.outcome(), paused.ended.err);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id]).code, 0);
    let done = at(&["resume", &paused.session()]);
    assert_eq!(done.status(), "completed", "{}{}", done.outcome(), done.ended.err);
    let journal = desk.run(["export", &done.session()]).out;
    assert!(journal.contains("The key is ") && !journal.contains(KEY) && !done.ended.out.contains(KEY), "{journal}");
}

/// A program that prints a key is the person's own: it runs in the configuration folder, and nothing that lies in the project is
/// taken for it, whatever `PATH` says.
#[test]
fn a_project_brings_no_program_that_prints_keys() {
    let desk = Desk::new();
    task(&desk);
    let key_program = |name: &str, says: &str| {
        let path = desk.write(name, &format!("#!/bin/sh\npwd > {}\necho {says}\n", desk.path("ran").display()));
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let theirs = ["bring-key", "bin/bring-key"].map(|name| format!("task/{name}"));
    theirs.iter().for_each(|name| key_program(name, "key-of-the-project"));
    let keys = |program: &str| {
        desk.write("home/.config/checkrein/keys.toml", &format!("version = 1\n[keys]\nanthropic = [\"{program}\"]\n"));
    };
    let answer = json!({ "type": "text", "text": "Done." });
    let server = Server::new(move |_| Answer::stream(&anthropic(std::slice::from_ref(&answer), "end_turn")));
    let own = desk.path("own").display().to_string();
    let path = format!(".:bin::{}:/usr/bin:/bin:{own}", desk.path("task/bin").display());
    let run = |words: &[&str]| {
        let mut command = desk.command(words);
        command.current_dir(desk.path("task")).env("PATH", &path).env("ANTHROPIC_BASE_URL", &server.address);
        crate::support::ended(command.output().unwrap())
    };
    for program in ["./bring-key", "bin/bring-key"] {
        keys(program);
        let ended = run(&["run", "."]);
        assert!(ended.code == 2 && ended.err.contains("keys.toml:3: `anthropic`: name the program"), "{}", ended.err);
    }
    keys("bring-key");
    for words in [&["run", "."][..], &["run", "Say hello.", "--model", "anthropic:some-model"]] {
        let ended = run(words);
        assert!(
            ended.code == 2 && ended.err.contains("no program `bring-key` on PATH outside the project"),
            "{}",
            ended.err
        );
    }
    assert!(!desk.path("ran").exists(), "none of the project's programs ran");
    key_program("own/bring-key", KEY);
    assert_eq!(run(&["run", "."]).code, 0);
    assert_eq!(server.requests.recv().unwrap().header("x-api-key"), Some(KEY));
    let ran = std::fs::read_to_string(desk.path("ran")).unwrap();
    assert_eq!(ran.trim(), desk.path("home/.config/checkrein").display().to_string());
}

/// Without its key a model is not begun with, and the message says what to set.
#[test]
fn a_key_that_is_missing_is_named() {
    let desk = Desk::new();
    task(&desk);
    let ended = desk.run(["run", "task"]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert_eq!(ended.err, "error: model `anthropic:some-model`: set ANTHROPIC_API_KEY to your key\n");
    assert!(desk.run(["sessions", "--json"]).out.lines().all(|line| !line.contains("\"session\":\"s-")));
}

/// What a wire does not take of a tool's schema is shown to people, with what was done about it.
#[test]
fn a_schema_that_does_not_fit_is_shown() {
    let desk = Desk::new();
    desk.write("task/policy.toml", ASK_WRITES);
    let head = "version = 1\nprompt = \"Hello.\"\npolicy = \"policy.toml\"\ntools = [\"find\"]\nmodel = \"gemini:m\"\n";
    desk.write("task/task.toml", head);
    let manifest = "version = 1\nname = \"find\"\ndescription = \"Finds an order.\"\nargv = [\"/bin/echo\", \"{order}\"]\n\
                    output = \"text\"\nkind = \"pure\"\neffects = [{ tool = \"find\", order = \"{order}\" }]\n[params.order]\n\
                    type = \"string\"\nrequired = true\npattern = \"^o-[0-9]+$\"\ndescription = \"order id\"\n";
    desk.write("task/tools/find.toml", manifest);
    let parts = json!({ "role": "model", "parts": [{ "text": "Hello." }] });
    let last = json!({ "candidates": [{ "content": parts, "finishReason": "STOP" }] });
    let server = Server::new(move |_| Answer::stream(&format!("data: {last}\n\n")));
    let mut command = desk.command(["run", "task"]);
    let done = Lines::of_command(command.env("GOOGLE_GEMINI_BASE_URL", &server.address).env("GEMINI_API_KEY", KEY));
    assert_eq!(done.status(), "completed", "{}{}", done.outcome(), done.ended.err);
    let shown = desk.run(["show", &done.session()]).out;
    assert!(shown.contains("said in words: find: /order: pattern"), "{shown}");
}

/// A reply of Chat Completions with these calls (index, id, arguments of `write`).
fn chat(text: &str, calls: &[(u32, &str, &str)], reason: &str) -> Answer {
    let calls: Vec<_> = calls
        .iter()
        .map(|(index, id, arguments)| {
            json!({ "index": index, "id": id, "type": "function", "function": { "name": "write", "arguments": arguments } })
        })
        .collect();
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text, "tool_calls": calls } }] });
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let count = json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 5 } });
    Answer::stream(&format!("data: {delta}\n\ndata: {last}\n\ndata: {count}\n\ndata: [DONE]\n\n"))
}

/// A server on this machine without a key: a reply that its length cut off runs none of its calls, arguments that are no
/// JSON run nothing and are told, two calls with one id are two calls. Shows R201.
#[test]
fn a_local_server_and_what_it_gets_wrong() {
    let desk = Desk::new();
    let policy = ASK_WRITES.replace("\"ask\"", "\"allow\"");
    desk.write("task/policy.toml", &policy);
    let head = "version = 1\nprompt = \"Write.\"\npolicy = \"policy.toml\"\ntools = [\"write\"]\n";
    desk.write("task/task.toml", head);
    let write = |path: &str| json!({ "file_path": path, "content": "x" }).to_string();
    let replies = [
        chat("", &[(0, "a", &write("cut.txt"))], "length"),
        chat("", &[(0, "a", "{\"file_path\": \"broken.txt\", \"content")], "tool_calls"),
        chat("Two.", &[(0, "same", &write("one.txt")), (0, "", ""), (1, "same", &write("two.txt"))], "stop"),
        chat("done", &[], "stop"),
    ];
    let server = Server::new(move |n| replies[n.min(3)].clone());
    let model = format!("compatible:{}/v1#some-model", server.address);
    let mut command = desk.command(["run", "task", "--model", &model]);
    // A key goes to the server that it is for, and OpenAI's is not for this one.
    let lines = Lines::of_command(command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY));
    assert_eq!(lines.status(), "completed", "{}{}", lines.outcome(), lines.ended.err);
    let codes: Vec<_> = lines.of("finished").iter().map(|line| line["code"].as_str().unwrap_or("ok")).collect();
    assert_eq!(codes, ["REPLY_TRUNCATED", "INVALID_ARGS", "ok", "ok"]);
    let there = |name: &str| desk.path("task").join(name).exists();
    assert!(there("one.txt") && there("two.txt") && !there("cut.txt") && !there("broken.txt"));
    let requests: Vec<_> = server.requests.try_iter().collect();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("authorization"), None);
        let sent = format!("{request:?}");
        assert!(!sent.contains(KEY), "{sent}");
    }
    desk.sound();
}
