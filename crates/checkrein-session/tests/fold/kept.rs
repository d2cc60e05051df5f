//! What a provider wants back: it comes with the reply that it belongs to, and no secret gets into the log by it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Everything, Log, call, opened, request, session};
use checkrein_contract::{Body, Message, ModelReply, StopReason, Usage, canonical_bytes};
use checkrein_gate::Redactor;
use checkrein_session::proposal;
use serde_json::{Value, json};

fn reply(provider: Value, redactor: &Redactor) -> Body {
    let reply = ModelReply {
        text: "I look.".to_owned(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: None,
        virtual_ms: 0,
        provider,
    };
    proposal(1, &reply, vec![call("c1-1", "read")], Usage::default(), redactor)
}

fn handed_back(body: Body) -> Arc<Message> {
    let mut state = Log::of(vec![session(opened()), request(1, 1), body]).state();
    state.plan(&Everything, 0).request.messages.last().cloned().unwrap()
}

#[test]
fn what_a_provider_wants_back_comes_with_its_reply() {
    let kept = json!({ "wire": [{ "thinking": "first look", "signature": "EqQB" }] });
    let with = handed_back(reply(kept.clone(), &Redactor::default()));
    assert!(matches!(&*with, Message::Assistant { provider, .. } if *provider == kept), "{with:?}");
    let without = handed_back(reply(Value::Null, &Redactor::default()));
    let bytes = [&with, &without].map(|message| canonical_bytes(&**message).unwrap());
    assert_eq!(bytes[0], bytes[1], "it is no part of what the model is shown");
}

#[test]
fn what_holds_a_secret_is_left_out_whole() {
    let secret = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let body = |redactor: &Redactor, secret: &str| {
        reply(json!({ "wire": [{ "thinking": format!("the key is {secret}"), "signature": "EqQB" }] }), redactor)
    };
    let kept = |body: &Body| matches!(body, Body::Proposal { provider, .. } if !provider.is_null());
    assert!(!kept(&body(&Redactor::default(), &secret)), "by its shape");
    // One of the host's own has no shape; a provider takes what it signed whole, or not at all.
    let own = BTreeMap::from([("SHOP".to_owned(), "correct horse battery".to_owned())]);
    let knowing = Redactor::knowing(&own).unwrap();
    assert!(!kept(&body(&knowing, "correct horse battery")), "by its value");
    assert!(kept(&body(&knowing, "another one")) && kept(&body(&Redactor::default(), "correct horse battery")));
}
