//! What our own clients send is read as what they were given: whatever the conversation, on every wire.

use std::sync::Arc;

use checkrein_contract::{CallId, Lane, Message, ModelRequest, ResultPart, ToolCallPart, ToolChoice, ToolSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DIALECTS, Dialect, Route};
use crate::wires::sent;

/// What one reply holds: its text, and for each call its arguments, the text of its result, and whether that is an error.
type Turn = (String, Vec<(u8, String, bool)>);

/// A text with something to see; others are sent as something else, or not at all.
fn text() -> impl Strategy<Value = String> {
    "[ \\n]{0,2}[a-z\"\\\\{}é🐎]{1,8}[ \\n]{0,2}"
}

fn turn() -> impl Strategy<Value = Turn> {
    let call = (any::<u8>(), text(), any::<bool>());
    (prop_oneof![Just(String::new()), text()], prop::collection::vec(call, 0..3))
        .prop_filter("a reply that says nothing is none", |(text, calls)| !text.is_empty() || !calls.is_empty())
}

fn request(users: &[String], turns: &[Turn], none: bool) -> ModelRequest {
    let user = |text: &String| Message::User { text: text.clone(), harness: false };
    let mut messages: Vec<Message> = users.iter().map(user).collect();
    for (n, (text, calls)) in turns.iter().enumerate() {
        let id = |m: usize| CallId::new(format!("c{n}-{m}"));
        let tool = |m: usize| if m == 0 { "look" } else { "count" }.to_owned();
        let calls_of = calls.iter().enumerate();
        let parts = calls_of.clone().map(|(m, (args, ..))| ToolCallPart {
            id: id(m),
            tool: tool(m),
            args: json!({ "n": args, "deep": [{ "a": null }] }),
        });
        messages.push(Message::Assistant { text: text.clone(), calls: parts.collect(), provider: Value::Null });
        let results = calls_of.map(|(m, (_, text, is_error))| ResultPart {
            call: id(m),
            tool: tool(m),
            text: text.clone(),
            is_error: *is_error,
        });
        let results: Vec<ResultPart> = results.collect();
        messages.push(if results.is_empty() { user(&"Go on.".to_owned()) } else { Message::Tool { results } });
    }
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("What {name} does."),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    };
    ModelRequest {
        model: "m".to_owned(),
        system: "Be exact.".to_owned(),
        tools: vec![tool("look"), tool("count")],
        messages: messages.into_iter().map(Arc::new).collect(),
        tool_choice: if none { ToolChoice::None } else { ToolChoice::Auto },
        max_output_tokens: 1000,
        lane: Lane::main(),
        provider: Value::Null,
    }
}

/// A request as the other end has it.
fn read(kind: &str, request: &ModelRequest) -> Result<ModelRequest, String> {
    let dialect: &&dyn Dialect = DIALECTS.iter().find(|dialect| dialect.kind() == kind).unwrap();
    let (path, body) = sent(kind, "m", request);
    // The addresses of OpenAI have the version in them.
    let path = if path.starts_with("/v1") { path } else { format!("/v1{path}") };
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let route = dialect.route(path, query).ok_or("no route")?;
    dialect.read(&body, &route).map(|asked| asked.request)
}

/// OpenAI's wires do not say that a result is an error.
fn without_errors(request: &ModelRequest) -> ModelRequest {
    let mut all = request.clone();
    for message in &mut all.messages {
        if let Message::Tool { results } = Arc::make_mut(message) {
            results.iter_mut().for_each(|result| result.is_error = false);
        }
    }
    all
}

/// JSON of any shape, with the words of the wires in it.
fn anything() -> impl Strategy<Value = Value> {
    let words = "model|max_tokens|messages|input|contents|parts|role|user|model|assistant|tool|type|content|text|id|name|\
        tools|function|functionCall|functionResponse|tool_use|tool_result|tool_calls|call_id|function_call|arguments";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 64, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((words, inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Shows R119.
    #[test]
    fn a_request_is_read_as_it_was_meant(
        users in prop::collection::vec(text(), 1..3),
        turns in prop::collection::vec(turn(), 0..4),
        none in any::<bool>(),
    ) {
        let request = request(&users, &turns, none);
        for kind in ["anthropic", "gemini"] {
            prop_assert_eq!(read(kind, &request), Ok(request.clone()), "{}", kind);
        }
        for kind in ["openai", "compatible"] {
            prop_assert_eq!(read(kind, &request), Ok(without_errors(&request)), "{}", kind);
        }
    }

    /// Whatever comes is read or refused.
    #[test]
    fn anything_is_read_or_refused(body in anything()) {
        for dialect in DIALECTS {
            let route = Route { session: "", model: Some("m"), stream: Some(true) };
            if let Ok(asked) = dialect.read(&body, &route) {
                prop_assert!(!asked.request.messages.is_empty());
            }
        }
    }
}
