//! OpenAI Responses: streams as its documentation shows them.

use checkrein_contract::{ProviderFault, StopReason};
use insta::assert_json_snapshot;
use serde_json::json;

use super::server::Answer;
use super::{a_cut_is_never_a_reply, error_of, pieces_do_not_matter, reply_to, says_the_same, sent};

const KIND: &str = "openai";

/// Reasoning, text, two calls.
pub(super) const STREAM: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAAABo"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"I look — "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"señor 🐎."}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"msg_1","output_index":1,"content_index":0,"text":"I look — señor 🐎."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look — señor 🐎.","annotations":[]}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_a","name":"look","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"path\": \"sr"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":2,"arguments":"{\"path\": \"src\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_a","name":"either","arguments":"{\"id\":\"7\"}"}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"look","arguments":"{\"path\": \"src\"}"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","incomplete_details":null,"output":[],"usage":{"input_tokens":242,"input_tokens_details":{"cached_tokens":200},"output_tokens":89,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":331}}}

"#;

fn ended(last: &str) -> String {
    let (begun, _) = STREAM.split_once("event: response.completed").unwrap();
    format!("{begun}data: {last}\n\n")
}

/// Shows R119.
#[test]
fn a_reply_is_put_together() {
    let reply = reply_to(KIND, STREAM);
    says_the_same(&reply, "{\"path\": \"src\"}");
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo" });
    assert_eq!(
        reply.provider["openai"],
        json!([{ "kept": reasoning }, { "text": null }, { "call": null }, { "call": null }])
    );
}

#[test]
fn pieces_and_cuts() {
    pieces_do_not_matter(KIND, STREAM);
    a_cut_is_never_a_reply(KIND, STREAM, 0);
}

#[test]
fn reasons_to_stop() {
    let incomplete = |reason: &str| {
        let details = json!({ "status": "incomplete", "incomplete_details": { "reason": reason } });
        ended(&json!({ "type": "response.incomplete", "response": details }).to_string())
    };
    let length = reply_to(KIND, &incomplete("max_output_tokens"));
    assert_eq!((length.stop, length.calls.len(), length.usage), (StopReason::Length, 2, None));
    let item = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I can not." }] });
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let delta = json!({ "type": "response.refusal.delta", "delta": "I can not." });
    let last = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let refused = reply_to(KIND, &format!("data: {delta}\n\ndata: {done}\n\ndata: {last}\n\n"));
    assert_eq!((refused.text.as_str(), refused.stop), ("I can not.", StopReason::End));
    let failed = |code: &str| {
        let error = json!({ "code": code, "message": "m" });
        ended(&json!({ "type": "response.failed", "response": { "status": "failed", "error": error } }).to_string())
    };
    for (stream, fault) in [
        (incomplete("content_filter"), ProviderFault::Refused),
        (failed("server_error"), ProviderFault::Server),
        (failed("rate_limit_exceeded"), ProviderFault::RateLimited),
        (failed("context_length_exceeded"), ProviderFault::TooLong),
        (failed("invalid_prompt"), ProviderFault::Refused),
        (ended(r#"{"type":"error","code":"server_error","message":"m","param":null}"#), ProviderFault::Server),
        (ended(r#"{"type":"error","error":{"type":"rate_limit_exceeded","message":"m"}}"#), ProviderFault::RateLimited),
        (ended(r#"{"type":"response.queued"}"#), ProviderFault::Broken),
    ] {
        let error = error_of(KIND, Answer::stream(&stream));
        assert_eq!(error.fault, fault, "{error}");
    }
}

/// The requests as they were sent: the first, and one that carries everything back.
#[test]
fn requests_as_they_are_sent() {
    let [first, second] = sent(KIND, STREAM);
    assert_eq!(first.line, "POST /responses HTTP/1.1");
    assert_eq!(first.header("authorization"), Some(format!("Bearer {}", super::KEY).as_str()));
    assert_json_snapshot!("responses_first", first.body);
    assert_json_snapshot!("responses_second", second.body["input"]);
    assert_eq!(second.body["tool_choice"], "none");
    for unchanged in ["instructions", "tools"] {
        assert_eq!(first.body[unchanged], second.body[unchanged], "what a server keeps does not change");
    }
}
