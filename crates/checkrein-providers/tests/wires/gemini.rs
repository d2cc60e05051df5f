//! Gemini: streams as its documentation shows them.

use checkrein_contract::{ProviderFault, RawCall, StopReason, Usage};
use insta::assert_json_snapshot;
use serde_json::json;

use super::server::{Answer, Server};
use super::{a_cut_is_never_a_reply, ask, follow_up, open, pieces_do_not_matter, reply_to, request};

const KIND: &str = "gemini";

/// A thought, text with its signature behind it, two calls of which the first is signed.
const STREAM: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"First look.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":242},"modelVersion":"some-model","responseId":"r1"}

data: {"candidates":[{"content":{"parts":[{"text":"I look — "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":242,"candidatesTokenCount":4}}

data: {"candidates":[{"content":{"parts":[{"text":"señor 🐎.","thoughtSignature":"dGV4dA=="}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"same","name":"look","args":{"path":"src"}},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"id":"same","name":"either","args":{"id":"7"}}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":242,"cachedContentTokenCount":200,"candidatesTokenCount":25,"thoughtsTokenCount":64,"totalTokenCount":331}}

"#;

fn stopped(reason: &str) -> String {
    STREAM.replace("\"finishReason\":\"STOP\"", &format!("\"finishReason\":\"{reason}\""))
}

/// Shows R119.
#[test]
fn a_reply_is_put_together() {
    let reply = reply_to(KIND, STREAM);
    assert_eq!(reply.text, "I look — señor 🐎.");
    let call = |tool: &str, arguments: &str| RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() };
    assert_eq!(reply.calls, [call("look", "{\"path\":\"src\"}"), call("either", "{\"id\":\"7\"}")]);
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(reply.usage, Some(Usage { input: 242, output: 89, cached: 200, estimated: false }));
    assert_json_snapshot!("gemini_provider", reply.provider);
}

#[test]
fn pieces_and_cuts() {
    pieces_do_not_matter(KIND, STREAM);
    a_cut_is_never_a_reply(KIND, STREAM, 0);
}

#[test]
fn reasons_to_stop() {
    let length = reply_to(KIND, &stopped("MAX_TOKENS"));
    assert_eq!((length.stop, length.calls.len()), (StopReason::Length, 2));
    let text = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    let reply = reply_to(KIND, text);
    assert_eq!((reply.stop, reply.provider.get("gemini")), (StopReason::End, None));
    for (stream, fault) in [
        (stopped("SAFETY"), ProviderFault::Refused),
        (stopped("A_NEW_ONE"), ProviderFault::Refused),
        (stopped("MALFORMED_FUNCTION_CALL"), ProviderFault::Broken),
        (STREAM.replace("\"finishReason\":\"STOP\",", ""), ProviderFault::Broken),
        ("data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n".to_owned(), ProviderFault::Refused),
        (
            "data: {\"error\":{\"code\":503,\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}\n\n".to_owned(),
            ProviderFault::Server,
        ),
    ] {
        let answer = Answer::stream(&stream);
        let server = Server::new(move |_| answer.clone());
        let error = ask(&open(KIND, &server.address), &request()).reply.unwrap_err();
        assert_eq!(error.fault, fault, "{error}");
    }
}

/// A limit says in its details how long to wait.
#[test]
fn a_wait_is_in_the_details() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s" }]);
    let error =
        json!([{ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": details } }]);
    let answer = Answer::error(429, &error.to_string());
    let server = Server::new(move |_| answer.clone());
    let error = ask(&open(KIND, &server.address), &request()).reply.unwrap_err();
    assert_eq!((error.fault, error.retry_after_ms), (ProviderFault::RateLimited, Some(2500)));
}

/// The requests as they were sent: the first, and one that carries everything back.
#[test]
fn requests_as_they_are_sent() {
    let answer = Answer::stream(STREAM);
    let server = Server::new(move |_| answer.clone());
    let provider = open(KIND, &server.address);
    let reply = ask(&provider, &request()).reply.unwrap();
    let first = server.requests.recv().unwrap();
    assert_eq!(first.line, "POST /v1beta/models/some-model:streamGenerateContent?alt=sse HTTP/1.1");
    assert_eq!(first.header("x-goog-api-key"), Some(super::KEY));
    assert_json_snapshot!("gemini_first", first.body);
    ask(&provider, &follow_up(&reply)).reply.unwrap();
    let second = server.requests.recv().unwrap();
    assert_json_snapshot!("gemini_second", second.body["contents"]);
    assert_eq!(second.body["toolConfig"]["functionCallingConfig"]["mode"], "NONE");
    for unchanged in ["systemInstruction", "tools"] {
        assert_eq!(first.body[unchanged], second.body[unchanged], "what a server keeps does not change");
    }
}
