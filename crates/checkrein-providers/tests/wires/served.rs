//! Our clients at our own server: what a script says in process is what it says over each wire, its faults among it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use checkrein_contract::Message;
use checkrein_providers::{Fault, Script, ScriptProvider, Served, Server};
use checkrein_toml::Source;
use insta::assert_snapshot;

use super::*;

fn script(steps: &str) -> Script {
    Script::load(Source { file: "script.toml", text: &format!("version = 1\n{steps}") }).unwrap()
}

/// A server in a thread, until it is ended.
struct Running {
    address: String,
    end: tokio::sync::oneshot::Sender<()>,
    thread: JoinHandle<Served>,
}

impl Running {
    fn new(steps: &str, faults: &[&str]) -> Self {
        let faults: Vec<Fault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        let script = script(steps);
        let (tell, address) = channel();
        let (end, ended) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listen = "127.0.0.1:0".parse().unwrap();
                let server = Server::bind(listen, script, "script.toml", faults, Box::new(|_| {})).await.unwrap();
                tell.send(format!("http://{}", server.address())).unwrap();
                server.run(async { _ = ended.await }).await
            })
        });
        Self { address: address.recv().unwrap(), end, thread }
    }

    /// Where a wire finds a session of it.
    fn at(&self, kind: &str, session: &str) -> String {
        let version = if kind == "openai" { "/v1" } else { "" };
        format!("{}{session}{version}", self.address)
    }

    /// What it complains about.
    fn end(self) -> Vec<String> {
        self.end.send(()).unwrap();
        let served = self.thread.join().unwrap();
        served.complaints.iter().map(|error| format!("{}: {error}", error.code())).collect()
    }

    /// One request, byte by byte, and its whole answer.
    fn raw(&self, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address.strip_prefix("http://").unwrap()).unwrap();
        let length = body.len();
        write!(stream, "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

const STEPS: &str = r#"
[[step]]
text = "Plain words, señor 🐎."
usage = { input = 11, output = 7 }
[[step]]
text = "I look."
calls = [{ tool = "look", args = { path = "src", depth = 2 } }, { tool = "either", args = {} }]
[[step]]
when = { tool_result = "look", contains = "three files" }
text = "{{result.look.files}} files; {{result.either}}."
[[step]]
else = true
text = "I can not see it."
[[step]]
error = { status = 429, retry_after_s = 7 }
[[step]]
error = { status = 529 }
[[step]]
error = { status = 400 }
[[step]]
error = { status = 413 }
[[step]]
text = "A long answer that breaks off."
cut_after = 14
[[step]]
text = "A long answer that ends."
cut_after = 14
cut_by = "end"
[[step]]
text = "A long answer with garbage."
cut_after = 14
cut_by = "garbage"
[[step]]
text = "Nothing of this."
cut_after = 0
[[step]]
text = "Slowly and in small pieces."
delay_ms = 1
piece_ms = 1
chunk_bytes = 3
usage = { input = 1, output = 2 }
calls = [{ tool = "look", args = { path = "é" } }, { tool = "look", args = {} }]
ids = "same"
[[step]]
repeat = 2
text = "Twice."
calls = [{ tool = "either", args = { id = "7" } }]
ids = "empty"
[[step]]
text = "Not all"
stop = "length"
calls = [{ tool = "look", args = {} }]
[[step]]
calls = [{ tool = "look", raw = "{\"path\": " }]
"#;

/// What came of a request, as far as it has to be the same.
fn same(outcome: &Outcome) -> String {
    let said = match &outcome.reply {
        Ok(reply) => {
            let calls: Vec<(&str, Value)> = reply
                .calls
                .iter()
                .map(|call| {
                    (call.tool.as_str(), serde_json::from_str(&call.arguments).unwrap_or(json!(call.arguments)))
                })
                .collect();
            format!("{:?} {calls:?} {:?}", reply.text, reply.stop)
        }
        Err(error) => format!("{:?} {:?}", error.fault, error.retry_after_ms),
    };
    format!("{:?} {said}", outcome.shown)
}

/// A reply and the results of its calls, as a session goes on.
fn go_on(request: &mut ModelRequest, reply: &ModelReply, n: usize) {
    let calls: Vec<ToolCallPart> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(m, raw)| call(&format!("c{n}-{m}"), &raw.tool, serde_json::from_str(&raw.arguments).unwrap()))
        .collect();
    let text = |tool: &str| if tool == "look" { r#"{"note":"three files","files":3}"# } else { "seven" };
    let results: Vec<ResultPart> =
        calls.iter().map(|call| result(call.id.as_str(), &call.tool, text(&call.tool), false)).collect();
    let reply = Message::Assistant { text: reply.text.clone(), calls, provider: Value::Null };
    request.messages.push(Arc::new(reply));
    request.messages.push(Arc::new(if results.is_empty() { user("Go on.") } else { Message::Tool { results } }));
}

/// Every step, on every wire, is what it is in process: what was shown, what came of it, and what a client is to do next. A
/// call that is no JSON is none at all on Gemini's wire. Shows R119.
#[test]
fn a_wire_says_what_the_script_says() {
    // One step is a branch that is not taken, and one answers twice.
    let requests = STEPS.matches("[[step]]").count();
    let server = Running::new(STEPS, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for kind in kinds() {
        let there = open(kind, &server.at(kind, &format!("/{kind}")));
        let here = ScriptProvider::new(script(STEPS), "script.toml");
        let mut asked = request();
        for n in 1..=requests {
            let mut shown = String::new();
            let mut on_delta = |delta: Delta<'_>| match delta {
                Delta::Text(piece) => shown.push_str(piece),
                Delta::Void => shown.clear(),
            };
            let reply = runtime.block_on(here.complete(&asked, &mut on_delta));
            let expected = Outcome { shown, reply };
            let outcome = ask_in(&runtime, &there, &asked);
            if n == requests && kind == "gemini" {
                assert_eq!(outcome.reply.unwrap_err().fault, ProviderFault::Broken);
            } else {
                assert_eq!(same(&outcome), same(&expected), "{kind}, request {n}: {:?}", outcome.reply);
            }
            match &expected.reply {
                Ok(reply) => {
                    asked.provider.clone_from(&reply.provider);
                    if n < requests {
                        go_on(&mut asked, reply, n);
                    }
                }
                Err(error) => asked.provider.clone_from(&error.provider),
            }
        }
        here.close(&asked.provider).unwrap();
    }
    assert_eq!(server.end(), [""; 0], "every session used every step");
}

/// A fault strikes the request that it names, and the script does not notice: the next attempt gets what the first missed.
#[test]
fn a_fault_is_no_request_to_the_script() {
    let steps = "[[step]]\ntext = \"First of all.\"\n[[step]]\ntext = \"Second.\"\n";
    let faults = ["1:status=503,retry_after_s=1", "2:cut_after=6,cut_by=stall", "*:chunk_bytes=1"];
    let server = Running::new(steps, &faults);
    for kind in kinds() {
        let provider = open_with(kind, &server.at(kind, &format!("/{kind}")), Duration::from_secs(2));
        let busy = ask(&provider, &request()).reply.unwrap_err();
        assert_eq!((busy.fault, busy.retry_after_ms), (ProviderFault::Server, Some(1000)), "{kind}: {busy}");
        let stalled = ask(&provider, &request());
        assert_eq!(stalled.shown, "First ", "{kind}");
        assert_eq!(stalled.reply.unwrap_err().fault, ProviderFault::Broken, "{kind}");
        assert_eq!(ask(&provider, &request()).reply.unwrap().text, "First of all.", "{kind}");
        assert_eq!(ask(&provider, &request()).reply.unwrap().text, "Second.", "{kind}");
    }
    assert_eq!(server.end(), [""; 0]);
}

/// Sessions stand where they stand, each for itself, and are complained about by name.
#[test]
fn sessions_do_not_disturb_each_other() {
    let server = Running::new("[[step]]\ntext = \"One.\"\n[[step]]\ntext = \"Two.\"\n", &[]);
    let of = |session: &str| open("anthropic", &server.at("anthropic", session));
    let says = |provider: &WireProvider| ask(provider, &request()).reply.map(|reply| reply.text);
    let (a, b, c) = (of("/a"), of("/b"), of(""));
    assert_eq!([says(&a), says(&b), says(&a), says(&c)], ["One.", "One.", "Two.", "One."].map(|s| Ok(s.to_owned())));
    let one_more = says(&a).unwrap_err();
    assert_eq!(one_more.fault, ProviderFault::Refused, "nobody tries it again");
    assert_snapshot!(one_more.message, @"anthropic: status 400, invalid_request_error: SCRIPT_EXHAUSTED: script:script.toml: this request is one more than the script has steps for; its last is step 2 (line 4)");
    assert_snapshot!(server.end().join("\n"), @r"
    SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 2 (line 4)
    SCRIPT_EXHAUSTED: session /a: script:script.toml: this request is one more than the script has steps for; its last is step 2 (line 4)
    SCRIPT_UNUSED: session /b: script:script.toml: the session ended before every step was used: step 2 (line 4)
    ");
}

/// The end comes to connections that are open too: one that nothing is asked on, and one that waits for what never comes.
#[test]
fn the_end_of_a_server_ends_its_connections() {
    let server = Running::new("[[step]]\ntext = \"Not all of it.\"\ncut_after = 4\ncut_by = \"stall\"\n", &[]);
    let connect = || TcpStream::connect(server.address.strip_prefix("http://").unwrap()).unwrap();
    let (mut idle, mut waiting) = (connect(), connect());
    write!(idle, "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let body = r#"{"model":"m","input":"Hi","stream":true}"#;
    let length = body.len();
    write!(waiting, "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let until = |stream: &mut TcpStream, words: &str| {
        let (mut got, mut piece) = (String::new(), [0; 1024]);
        while !got.contains(words) {
            let bytes = stream.read(&mut piece).unwrap();
            assert_ne!(bytes, 0, "{got}");
            got.push_str(std::str::from_utf8(&piece[..bytes]).unwrap());
        }
    };
    until(&mut idle, "\r\n0\r\n\r\n");
    until(&mut waiting, "\"delta\":\"Not \"");
    assert_eq!(server.end(), [""; 0]);
    let rest = |mut stream: TcpStream| {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).map(|_| rest)
    };
    assert_eq!(rest(idle).unwrap(), "");
    assert!(!rest(waiting).unwrap_or_default().contains("response.completed"));
}

/// What is wrong with a request is told in the words of its wire; it is no request to the script. What is asked for and is
/// not there, and what would be stored or run over there, is refused and not left out.
#[test]
fn a_wrong_request_is_told_why() {
    let server = Running::new("[[step]]\ntext = \"One.\"\n", &[]);
    let why = |request: &str, body: &str| {
        let answer = server.raw(request, body);
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        format!("{request} {body}\n  {status} {}", answer.rsplit("\r\n").find(|line| line.starts_with('{')).unwrap())
    };
    let messages = "POST /v1/messages";
    let all = [
        why("GET /v1/nothing", ""),
        why("PUT /v1/messages", "{}"),
        why("POST /v1/models/m:countTokens", "{}"),
        why(messages, "{"),
        why(messages, "{}"),
        why(messages, r#"{"model":"m","max_tokens":0}"#),
        why(messages, r#"{"model":"m","max_tokens":9,"messages":[]}"#),
        why(messages, r#"{"model":"m","max_tokens":9,"messages":[{"role":"tool"}]}"#),
        why(
            messages,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}"#,
        ),
        why(
            messages,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},{"role":"user","content":"Well?"}]}"#,
        ),
        why(messages, r#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#),
        why(
            messages,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
        ),
        why("POST /v1/responses", r#"{"model":"m","input":"Hi","previous_response_id":"resp_1"}"#),
        why("POST /v1/responses", r#"{"model":"m","input":[{"type":"item_reference","id":"x"}]}"#),
        why("POST /v1/responses", r#"{"model":"m","input":"Hi","tools":[{"type":"web_search"}]}"#),
        why("POST /v1/chat/completions", r#"{"model":"m","n":2,"messages":[{"role":"user","content":"Hi"}]}"#),
        why("POST /v1/chat/completions", r#"{"model":"m","messages":[{"role":"bot","content":"Hi"}]}"#),
        why("POST /v1beta/models/m:streamGenerateContent", "{}"),
        why("POST /v1beta/models/m:generateContent", r#"{"contents":[{"role":"bot","parts":[]}]}"#),
        why("POST /v1beta/models/m:generateContent", r#"{"contents":[],"tools":[{"googleSearch":{}}]}"#),
        why(
            "POST /v1beta/models/m:generateContent",
            r#"{"contents":[{"parts":[{"functionResponse":{"name":"t","response":{}}}]}]}"#,
        ),
    ];
    assert_snapshot!(all.join("\n"));
    // Parts that are no text are there by their name.
    let picture = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image"},"Hi"]}]}"#;
    assert!(server.raw(messages, picture).contains(r#""text":"One.""#));
    assert_eq!(server.end(), [""; 0]);
}

/// The bytes of a stream, as they are on the wire: headers, chunks, events.
#[test]
fn a_stream_byte_for_byte() {
    let steps = "[[step]]\ntext = \"Hi.\"\ncalls = [{ tool = \"look\", args = { a = 1 } }]\nusage = { input = 3, output = 2 }\n";
    let server = Running::new(steps, &[]);
    let hi = r#""messages":[{"role":"user","content":"Hi"}],"stream":true}"#;
    let all = [
        server.raw("POST /a/v1/messages", &format!(r#"{{"model":"m","max_tokens":9,{hi}"#)),
        server.raw("POST /b/v1/responses", r#"{"model":"m","input":"Hi","stream":true}"#),
        server.raw(
            "POST /c/v1/chat/completions",
            &format!(r#"{{"model":"m","stream_options":{{"include_usage":true}},{hi}"#),
        ),
        server.raw(
            "POST /d/v1beta/models/m:streamGenerateContent?alt=sse",
            r#"{"contents":[{"parts":[{"text":"Hi"}]}]}"#,
        ),
    ];
    // Only the clock of the machine is in no script.
    let steady = all.join("\n").lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(steady);
    assert_eq!(server.end(), [""; 0]);
}

/// Nobody else is served, and nothing that can not be.
#[test]
fn only_this_machine_and_only_one_conversation() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = |listen: &str, steps: &str| {
        let server = Server::bind(listen.parse().unwrap(), script(steps), "script.toml", Vec::new(), Box::new(|_| {}));
        runtime.block_on(server).err().expect("it is refused").to_string()
    };
    let step = "[[step]]\ntext = \"One.\"\n";
    assert_snapshot!(refused("0.0.0.0:0", step), @"0.0.0.0:0 is not on loopback: a script is served to this machine only, such as 127.0.0.1:0");
    assert_snapshot!(refused("[::]:0", step), @"[::]:0 is not on loopback: a script is served to this machine only, such as 127.0.0.1:0");
    assert_snapshot!(refused("127.0.0.1:0", &format!("{step}[[step]]\nsub = 1\ntext = \"x\"\n")), @"steps with `sub` can not be served: over a wire nobody says which session asks");
    let idle = Running::new(step, &[]);
    assert_snapshot!(idle.end().join("\n"), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 2)");
}
