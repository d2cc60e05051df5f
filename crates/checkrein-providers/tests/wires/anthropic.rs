//! Anthropic Messages: streams as its documentation shows them.

use checkrein_contract::{ProviderFault, StopReason};
use insta::{assert_json_snapshot, assert_snapshot};

use super::server::Answer;
use super::{a_cut_is_never_a_reply, error_of, pieces_do_not_matter, reply_to, says_the_same, sent};

const KIND: &str = "anthropic";

/// Thinking, text, two calls; pings between; a kind of event and a kind of block that nobody knows.
pub(super) const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"some-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"First look, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"then tell."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look \u2014 "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"señor 🐎."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: something_new
data: {"type":"something_new","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"sr"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"c\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_01","name":"either","input":{"id":"7"}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn stopped(reason: &str) -> String {
    STREAM.replace("\"stop_reason\":\"tool_use\"", &format!("\"stop_reason\":\"{reason}\""))
}

/// Shows R119.
#[test]
fn a_reply_is_put_together() {
    let reply = reply_to(KIND, STREAM);
    says_the_same(&reply, "{\"path\": \"src\"}");
    assert_json_snapshot!("anthropic_provider", reply.provider);
}

#[test]
fn pieces_and_cuts() {
    pieces_do_not_matter(KIND, STREAM);
    a_cut_is_never_a_reply(KIND, STREAM, 0);
}

/// A reply that was cut off by its length says so, with its calls; a reason that is no end is no reply.
#[test]
fn reasons_to_stop() {
    assert_eq!(reply_to(KIND, &stopped("end_turn")).stop, StopReason::End);
    assert_eq!(reply_to(KIND, &stopped("stop_sequence")).stop, StopReason::End);
    for length in ["max_tokens", "model_context_window_exceeded"] {
        let reply = reply_to(KIND, &stopped(length));
        assert_eq!((reply.stop, reply.calls.len()), (StopReason::Length, 2));
    }
    for reason in ["refusal", "a_new_one"] {
        let error = error_of(KIND, Answer::stream(&stopped(reason)));
        assert_eq!(
            (error.fault, error.message),
            (ProviderFault::Refused, format!("anthropic: the model stopped with `{reason}`"))
        );
    }
    let none = STREAM.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":null");
    let error = error_of(KIND, Answer::stream(&none));
    assert_eq!(error.fault, ProviderFault::Broken);
}

/// The requests as they were sent: the first, and one that carries everything back.
#[test]
fn requests_as_they_are_sent() {
    let [first, second] = sent(KIND, STREAM);
    assert_eq!(first.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(first.header("x-api-key"), Some(super::KEY));
    assert_eq!(first.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_json_snapshot!("anthropic_first", first.body);
    assert_json_snapshot!("anthropic_second", second.body["messages"]);
    assert_eq!(second.body["tool_choice"], serde_json::json!({ "type": "none" }));
    for unchanged in ["system", "tools"] {
        assert_eq!(first.body[unchanged], second.body[unchanged], "what a server keeps does not change");
    }
}

/// Errors that come within a stream.
#[test]
fn an_error_in_a_stream() {
    let mut told = String::new();
    for (kind, message) in [
        ("overloaded_error", "Overloaded"),
        ("rate_limit_error", "Slow down"),
        ("invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"),
        ("authentication_error", "invalid x-api-key test-key-of-nobody"),
    ] {
        let begun = &STREAM[..STREAM.find("event: something_new").unwrap()];
        let error = format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"{message}\"}}}}\n\n"
        );
        let error = error_of(KIND, Answer::stream(&format!("{begun}{error}")));
        told.push_str(&format!("{:?}: {error}\n", error.fault));
    }
    assert_snapshot!(told);
}
