//! Gemini: streams as its documentation shows them.

use checkrein_contract::{ProviderFault, StopReason};
use insta::assert_json_snapshot;
use serde_json::json;

use super::server::Answer;
use super::{a_cut_is_never_a_reply, error_of, pieces_do_not_matter, reply_to, says_the_same, sent};

const KIND: &str = "gemini";

/// A thought, text with its signature behind it, two calls of which the first is signed.
pub(super) const STREAM: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"First look.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":242},"modelVersion":"some-model","responseId":"r1"}

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
    says_the_same(&reply, "{\"path\":\"src\"}");
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
        let error = error_of(KIND, Answer::stream(&stream));
        assert_eq!(error.fault, fault, "{error}");
    }
}

/// A limit says in its details how long to wait.
#[test]
fn a_wait_is_in_the_details() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s" }]);
    let error =
        json!([{ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": details } }]);
    let error = error_of(KIND, Answer::error(429, &error.to_string()));
    assert_eq!((error.fault, error.retry_after_ms), (ProviderFault::RateLimited, Some(2500)));
}

/// The requests as they were sent: the first, and one that carries everything back.
#[test]
fn requests_as_they_are_sent() {
    let [first, second] = sent(KIND, STREAM);
    assert_eq!(first.line, "POST /v1beta/models/some-model:streamGenerateContent?alt=sse HTTP/1.1");
    assert_eq!(first.header("x-goog-api-key"), Some(super::KEY));
    assert_json_snapshot!("gemini_first", first.body);
    assert_json_snapshot!("gemini_second", second.body["contents"]);
    assert_eq!(second.body["toolConfig"]["functionCallingConfig"]["mode"], "NONE");
    for unchanged in ["systemInstruction", "tools"] {
        assert_eq!(first.body[unchanged], second.body[unchanged], "what a server keeps does not change");
    }
}
