//! OpenAI Chat Completions: streams as OpenAI, DeepSeek and OpenRouter document them, and what other servers make of it.

use checkrein_contract::{ModelReply, ProviderFault, StopReason};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use super::server::Answer;
use super::{a_cut_is_never_a_reply, error_of, pieces_do_not_matter, raw, reply_to, says_the_same, sent};

const KIND: &str = "compatible";

/// A comment first, as proxies send while they wait; reasoning, text, two calls, the count behind the end.
pub(super) const STREAM: &str = r#": PROCESSING

data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"some-model","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"First "},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"look."},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"I look — "},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"señor 🐎."},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"sr"}}]},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_a","type":"function","function":{"name":"either","arguments":"{\"id\":"}},{"index":0,"function":{"arguments":"c\"}"}}]},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"7\"}"}}]},"finish_reason":null}]}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"c-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":242,"completion_tokens":89,"total_tokens":331,"prompt_tokens_details":{"cached_tokens":200}}}

data: [DONE]

"#;

fn stopped(reason: &str) -> String {
    STREAM.replace("\"finish_reason\":\"tool_calls\"", &format!("\"finish_reason\":\"{reason}\""))
}

/// A stream of these deltas with this end.
fn of_deltas(deltas: &[Value], reason: &str) -> String {
    let chunk = |delta: &Value, reason: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] }))
    };
    let all: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    format!("{all}{}data: [DONE]\n\n", chunk(&json!({}), json!(reason)))
}

fn of_calls(parts: &[Value]) -> ModelReply {
    let deltas: Vec<Value> = parts.iter().map(|part| json!({ "tool_calls": [part] })).collect();
    reply_to(KIND, &of_deltas(&deltas, "tool_calls"))
}

/// Shows R119.
#[test]
fn a_reply_is_put_together() {
    let reply = reply_to(KIND, STREAM);
    says_the_same(&reply, "{\"path\": \"src\"}");
    assert_eq!(reply.provider["compatible"], json!({ "reasoning_content": "First look." }));
}

#[test]
fn pieces_and_cuts() {
    pieces_do_not_matter(KIND, STREAM);
    let end = STREAM.find("\"tool_calls\"}],\"usage\":null}").unwrap();
    a_cut_is_never_a_reply(KIND, STREAM, STREAM.len() - end);
}

#[test]
fn reasons_to_stop() {
    let length = reply_to(KIND, &stopped("length"));
    assert_eq!((length.stop, length.calls.len()), (StopReason::Length, 2));
    assert_eq!(reply_to(KIND, &stopped("stop")).stop, StopReason::Calls, "calls are calls, whatever the word");
    let text = of_deltas(&[json!({ "content": "hi" })], "stop");
    assert_eq!(reply_to(KIND, &text).stop, StopReason::End);
    let without_done = text.replace("data: [DONE]\n\n", "");
    assert_eq!(reply_to(KIND, &without_done).text, "hi", "HTTP says that it is whole");
    for (stream, fault) in [
        (stopped("content_filter"), ProviderFault::Refused),
        (stopped("a_new_one"), ProviderFault::Refused),
        (STREAM.replace("\"finish_reason\":\"tool_calls\"", "\"finish_reason\":null"), ProviderFault::Broken),
        ("data: [DONE]\n\n".to_owned(), ProviderFault::Broken),
        ("data: {\"error\":{\"message\":\"no room\",\"code\":503}}\n\n".to_owned(), ProviderFault::Server),
        (
            "data: {\"error\":{\"message\":\"slow\",\"type\":\"rate_limit_exceeded\"}}\n\n".to_owned(),
            ProviderFault::RateLimited,
        ),
    ] {
        assert_eq!(error_of(KIND, Answer::stream(&stream)).fault, fault);
    }
}

/// Ids that are missing, empty, repeated or used twice at one index: each call comes out once, in order.
#[test]
fn ids_and_indices_as_servers_get_them_wrong() {
    let part = |index: Value, id: &str, name: &str, arguments: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
    let two = [raw("look", "{\"a\":1}"), raw("either", "{\"b\":2}")];
    let whole = |first: Value, second: Value, ids: [&str; 2]| {
        of_calls(&[part(first, ids[0], "look", "{\"a\":1}"), part(second, ids[1], "either", "{\"b\":2}")]).calls
    };
    assert_eq!(whole(json!(0), json!(1), ["same", "same"]), two, "one id twice");
    assert_eq!(whole(json!(0), json!(1), ["", ""]), two, "no ids");
    assert_eq!(whole(json!(0), json!(0), ["x", "y"]), two, "one index twice");
    assert_eq!(whole(Value::Null, Value::Null, ["x", "y"]), two, "no index");
    let pieces = of_calls(&[
        part(json!(0), "x", "look", ""),
        part(json!(0), "x", "look", "{\"a\""),
        part(json!(0), "", "", ":1}"),
        json!({ "index": 1, "id": "y", "function": { "name": "either", "arguments": { "b": 2 } } }),
    ]);
    assert_eq!(pieces.calls, two, "id and name with each piece; arguments as an object");
    let odd = of_calls(&[part(json!(0), "x", "look", "{\"path\": sr")]);
    assert_eq!(odd.calls, [raw("look", "{\"path\": sr")], "what is no JSON is passed on as it is");
}

/// Reasoning in pieces with types is put together again, and goes back whole.
#[test]
fn reasoning_details_go_back_whole() {
    let stream = of_deltas(
        &[
            json!({ "reasoning": "Fir", "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": "Fir" }] }),
            json!({ "reasoning": "st.", "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": "st.", "signature": null }] }),
            json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "signature": "EqQB" }] }),
            json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "index": 1, "data": "abc" }] }),
            json!({ "tool_calls": [{ "index": 0, "id": "x", "function": { "name": "look", "arguments": "{}" } }] }),
        ],
        "tool_calls",
    );
    let reply = reply_to(KIND, &stream);
    let expected = json!({ "reasoning": "First.", "reasoning_details": [
        { "type": "reasoning.text", "index": 0, "text": "First.", "signature": "EqQB" },
        { "type": "reasoning.encrypted", "index": 1, "data": "abc" },
    ] });
    assert_eq!(reply.provider["compatible"], expected);
    let [_, second] = sent(KIND, &stream);
    assert_eq!(second.body["messages"][2]["reasoning_details"], expected["reasoning_details"]);
}

/// The requests as they were sent: the first, and one that carries everything back.
#[test]
fn requests_as_they_are_sent() {
    let [first, second] = sent(KIND, STREAM);
    assert_eq!(first.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(first.header("authorization"), Some(format!("Bearer {}", super::KEY).as_str()));
    assert_json_snapshot!("chat_first", first.body);
    assert_json_snapshot!("chat_second", second.body["messages"]);
    assert_eq!(second.body["tool_choice"], "none");
    assert_eq!(first.body["tools"], second.body["tools"], "what a server keeps does not change");
}
