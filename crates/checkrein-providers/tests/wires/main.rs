//! The wires against a real HTTP server on loopback that plays streams of the vendors' documented shape: whole, in other
//! pieces, cut at every byte, stalled, reset, and with every kind of error. No key, no network.

mod anthropic;
mod cassettes;
mod chat;
mod faults;
mod gemini;
mod opening;
mod responses;
mod served;
mod server;
mod strangers;

use std::sync::Arc;
use std::time::Duration;

use checkrein_contract::{
    CallId, Delta, Lane, Message, ModelReply, ModelRequest, Provider as _, ProviderError, ProviderFault, RawCall,
    ResultPart, StopReason, ToolCallPart, ToolChoice, ToolSpec, Usage,
};
use checkrein_providers::{Patience, WireProvider, wire_kinds};
use serde_json::{Value, json};

use self::server::{Answer, End, Request, Server};

const KEY: &str = "test-key-of-nobody";

/// The model of this kind that the server is.
/// Longer than any machine takes that does everything else at the same time.
const PATIENT: Duration = Duration::from_secs(60);

fn open(kind: &str, address: &str) -> WireProvider {
    open_with(kind, address, PATIENT)
}

fn open_with(kind: &str, address: &str, idle: Duration) -> WireProvider {
    let variable = |name: &str| match name {
        _ if name.ends_with("_BASE_URL") => Some(address.to_owned()),
        _ if name.ends_with("_API_KEY") => Some(format!("{KEY}\n")),
        _ => None,
    };
    let patience = Patience { connect: Duration::from_secs(60), idle };
    let model = match kind {
        "compatible" => format!("{kind}:{address}/v1#some-model"),
        _ => format!("{kind}:some-model"),
    };
    WireProvider::open(&model, variable, patience).unwrap()
}

/// What came of one request: the deltas that were shown, and the reply.
struct Outcome {
    shown: String,
    reply: Result<ModelReply, ProviderError>,
}

fn ask(provider: &WireProvider, request: &ModelRequest) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    ask_in(&runtime, provider, request)
}

fn ask_in(runtime: &tokio::runtime::Runtime, provider: &WireProvider, request: &ModelRequest) -> Outcome {
    let mut shown = String::new();
    let mut on_delta = |delta: Delta<'_>| match delta {
        Delta::Text(piece) => shown.push_str(piece),
        Delta::Void => shown.clear(),
    };
    let reply = runtime.block_on(provider.complete(request, &mut on_delta));
    Outcome { shown, reply }
}

/// The kinds, without how they are written.
fn kinds() -> impl Iterator<Item = &'static str> {
    wire_kinds().map(|(kind, _)| kind)
}

/// A server that always says this.
fn playing(answer: Answer) -> Server {
    Server::new(move |_| answer.clone())
}

/// What a wire makes of an answer that is no reply.
fn error_of(kind: &str, answer: Answer) -> ProviderError {
    // One that stalls is not waited for; too early is the same end.
    let idle = if answer.end == End::Stall { Duration::from_millis(300) } else { PATIENT };
    let server = playing(answer);
    ask(&open_with(kind, &server.address, idle), &request()).reply.unwrap_err()
}

/// The requests as they are sent: the first, and one that carries everything back.
fn sent(kind: &str, stream: &str) -> [Request; 2] {
    let server = playing(Answer::stream(stream));
    let provider = open(kind, &server.address);
    let reply = ask(&provider, &request()).reply.unwrap();
    ask(&provider, &follow_up(&reply)).reply.unwrap();
    [(); 2].map(|()| server.requests.recv().unwrap())
}

fn raw(tool: &str, arguments: &str) -> RawCall {
    RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() }
}

/// The whole stream of each wire says the same; `look` is what its first call's arguments are as text.
fn says_the_same(reply: &ModelReply, look: &str) {
    assert_eq!(reply.text, "I look — señor 🐎.");
    assert_eq!(reply.calls, [raw("look", look), raw("either", "{\"id\":\"7\"}")]);
    assert_eq!(reply.stop, StopReason::Calls);
    let usage = reply.usage.unwrap();
    assert_eq!(Usage { written: 0, ..usage }, Usage { input: 242, output: 89, cached: 200, ..Usage::default() });
}

fn reply_to(kind: &str, stream: &str) -> ModelReply {
    let server = playing(Answer::stream(stream));
    let outcome = ask(&open(kind, &server.address), &request());
    let reply = outcome.reply.unwrap();
    assert_eq!(outcome.shown, reply.text, "what was shown is what was said");
    reply
}

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: format!("What {name} does."), parameters }
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned(), harness: false }
}

fn call(id: &str, tool: &str, args: Value) -> ToolCallPart {
    ToolCallPart { id: CallId::new(id), tool: tool.to_owned(), args }
}

fn result(id: &str, tool: &str, text: &str, is_error: bool) -> ResultPart {
    ResultPart { call: CallId::new(id), tool: tool.to_owned(), text: text.to_owned(), is_error }
}

/// A first request.
fn request() -> ModelRequest {
    let look = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Where.", "minLength": 1, "pattern": "^[a-z/]+$" },
            "depth": { "type": "integer", "exclusiveMinimum": 0, "maximum": 9, "default": 1 },
            "order": { "oneOf": [{ "const": "name" }, { "enum": ["size", "time"] }] },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let either = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "name": { "type": "string" } },
        "additionalProperties": false,
        "oneOf": [{ "type": "object", "required": ["id"], "properties": { "id": {} }, "additionalProperties": true },
                  { "type": "object", "required": ["name"], "properties": { "name": {} }, "additionalProperties": true }],
    });
    ModelRequest {
        model: "as the session names it".to_owned(),
        system: "Be exact.".to_owned(),
        tools: vec![tool("look", look), tool("either", either)],
        messages: vec![Arc::new(user("What is there?"))],
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 1000,
        lane: Lane::main(),
        provider: Value::Null,
    }
}

/// The request that follows: the reply with its calls, their results, arguments that were no JSON, a note, a last request.
fn follow_up(reply: &ModelReply) -> ModelRequest {
    let mut request = request();
    let calls = reply.calls.iter().enumerate().map(|(n, raw)| {
        let args = serde_json::from_str(&raw.arguments).unwrap();
        call(&format!("c1-{}", n + 1), &raw.tool, args)
    });
    let calls: Vec<ToolCallPart> = calls.collect();
    let results = calls.iter().map(|call| result(call.id.as_str(), &call.tool, "three files", false)).collect();
    let assistant = Message::Assistant { text: reply.text.clone(), calls, provider: reply.provider.clone() };
    let broken = vec![call("c2-1", "look", json!("{\"path\": \"sr")), call("c2-2", "either", json!([1]))];
    let again = Message::Assistant { text: String::new(), calls: broken, provider: Value::Null };
    let refused = vec![result("c2-1", "look", "not JSON", true), result("c2-2", "either", "", true)];
    request.messages.extend(
        [assistant, Message::Tool { results }, again, Message::Tool { results: refused }, user(" ")].map(Arc::new),
    );
    request.tool_choice = ToolChoice::None;
    request.provider = reply.provider.clone();
    request
}

/// A reply comes out the same however its bytes are cut into pieces. Shows R119.
fn pieces_do_not_matter(kind: &str, stream: &str) {
    let whole = reply_to(kind, stream);
    for crlf in [false, true] {
        let text = if crlf { stream.replace('\n', "\r\n") } else { stream.to_owned() };
        for bytes in [1, 2, 3, 7, 16, 61, 4096] {
            let server = playing(Answer::stream(&text).in_pieces(bytes));
            let outcome = ask(&open(kind, &server.address), &request());
            assert_eq!(outcome.reply.as_ref(), Ok(&whole), "{bytes} bytes at a time");
            assert_eq!(outcome.shown, whole.text);
        }
    }
}

/// A stream that ends early, at whatever byte, is broken; never another reply. `tail` is how many bytes at its end say
/// nothing that counts.
fn a_cut_is_never_a_reply(kind: &str, stream: &str, tail: usize) {
    let whole = reply_to(kind, stream);
    let answers: Vec<Answer> = [true, false]
        .into_iter()
        .flat_map(|chunked| {
            let answer = Answer { chunked, ..Answer::stream(stream) };
            (0..=stream.len()).map(move |bytes| answer.clone().cut(bytes, End::Closed))
        })
        .collect();
    let count = answers.len();
    let server = Server::new(move |n| answers[n % count].clone());
    let provider = open(kind, &server.address);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut broken, mut same) = (0, 0);
    for n in 0..count {
        let cut = n % (stream.len() + 1);
        let outcome = ask_in(&runtime, &provider, &request());
        assert!(whole.text.starts_with(&outcome.shown), "cut at {cut}");
        match outcome.reply {
            Ok(reply) => {
                assert!(cut + tail >= stream.len(), "a reply out of {cut} of {} bytes", stream.len());
                // Where the end of the connection is the end of the answer, the count behind a whole reply may be gone.
                let uncounted = ModelReply { usage: None, ..whole.clone() };
                assert!(reply == whole || reply == uncounted && n > stream.len(), "cut at {cut}: {reply:?}");
                same += 1;
            }
            Err(error) => {
                assert_eq!(error.fault, ProviderFault::Broken, "cut at {cut}: {error}");
                assert!(error.can_retry());
                broken += 1;
            }
        }
    }
    assert!(broken >= 2 * (stream.len() - tail) && same >= 1, "{broken} broken, {same} the same");
}
