//! What a provider wants back: it comes with the reply that it belongs to, and no secret gets into the log by it.

use std::sync::Arc;

use crate::support::{Everything, Log, call, opened, request, session};
use checkrein_contract::{Body, Message, ModelReply, StopReason, Usage, canonical_bytes};
use checkrein_session::proposal;
use serde_json::{Value, json};

fn reply(provider: Value) -> Body {
    let reply = ModelReply {
        text: "I look.".to_owned(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: None,
        virtual_ms: 0,
        provider,
    };
    proposal(1, &reply, vec![call("c1-1", "read")], Usage::default())
}

fn handed_back(body: Body) -> Arc<Message> {
    let mut state = Log::of(vec![session(opened()), request(1, 1), body]).state();
    state.plan(&Everything, 0).request.messages.last().cloned().unwrap()
}

#[test]
fn what_a_provider_wants_back_comes_with_its_reply() {
    let kept = json!({ "wire": [{ "thinking": "first look", "signature": "EqQB" }] });
    let with = handed_back(reply(kept.clone()));
    assert!(matches!(&*with, Message::Assistant { provider, .. } if *provider == kept), "{with:?}");
    let without = handed_back(reply(Value::Null));
    let bytes = [&with, &without].map(|message| canonical_bytes(&**message).unwrap());
    assert_eq!(bytes[0], bytes[1], "it is no part of what the model is shown");
}

#[test]
fn what_holds_a_secret_is_left_out_whole() {
    let secret = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let body = reply(json!({ "wire": [{ "thinking": format!("the key is {secret}"), "signature": "EqQB" }] }));
    assert!(matches!(&body, Body::Proposal { provider: Value::Null, .. }), "{body:?}");
}
