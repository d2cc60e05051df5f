//! Replies and failures between the port and a row.

use checkrein_contract::{ModelReply, ProviderError, RawCall, canonical_string};
use serde_json::Value;

use super::Scrub;
use super::row::{Block, Failure, Outcome, Reply};

/// What came of an attempt, as a row keeps it. `provider` of it is what the model itself wants back; `said` what was seen of
/// a reply that broke off.
pub(crate) fn kept(came: &Result<ModelReply, ProviderError>, said: &str, scrub: &dyn Scrub) -> Outcome {
    match came {
        Ok(reply) => Outcome::Reply(kept_reply(reply, scrub)),
        Err(error) => Outcome::Failed(Failure {
            fault: error.fault,
            message: hidden_text(&error.message, scrub),
            retry_after_ms: error.retry_after_ms,
            provider: provider(&error.provider, scrub),
            said: hidden_text(said, scrub),
        }),
    }
}

fn kept_reply(reply: &ModelReply, scrub: &dyn Scrub) -> Reply {
    let words = (!reply.text.is_empty()).then(|| Block::Text(hidden_text(&reply.text, scrub)));
    let calls = reply.calls.iter().map(|call| Block::Call {
        tool: hidden_text(&call.tool, scrub),
        arguments: arguments(&call.arguments, |value| scrub.hide(value)),
    });
    Reply {
        blocks: words.into_iter().chain(calls).collect(),
        stop: reply.stop,
        usage: reply.usage,
        provider: provider(&reply.provider, scrub),
        virtual_ms: reply.virtual_ms,
    }
}

/// What a provider wants back is signed by it as a whole: where a secret stands in it, all of it is left out.
pub(crate) fn provider(value: &Value, scrub: &dyn Scrub) -> Value {
    let hidden = scrub.hide(value.clone());
    if scrub.show(hidden.clone()) == *value { hidden } else { Value::Null }
}

/// A recorded reply as it is said in this session.
pub(crate) fn shown(reply: &Reply, scrub: &dyn Scrub) -> ModelReply {
    let mut words = String::new();
    let mut calls = Vec::new();
    for block in &reply.blocks {
        match block {
            Block::Text(text) => words.push_str(&shown_text(text, scrub)),
            Block::Call { tool, arguments: args } => calls
                .push(RawCall { tool: shown_text(tool, scrub), arguments: arguments(args, |value| scrub.show(value)) }),
        }
    }
    ModelReply {
        text: words,
        calls,
        stop: reply.stop,
        usage: reply.usage,
        virtual_ms: reply.virtual_ms,
        provider: scrub.show(reply.provider.clone()),
    }
}

pub(crate) fn shown_text(text: &str, scrub: &dyn Scrub) -> String {
    match scrub.show(Value::String(text.to_owned())) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

pub(crate) fn hidden_text(text: &str, scrub: &dyn Scrub) -> String {
    match scrub.hide(Value::String(text.to_owned())) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Arguments as text: as they stand but for what changes in them, so that they are still those of the bytes that came; as a
/// value of their own, where that says more.
fn arguments(args: &str, change: impl Fn(Value) -> Value) -> String {
    let text = match change(Value::String(args.to_owned())) {
        Value::String(text) => text,
        _ => String::new(),
    };
    let Ok(value) = serde_json::from_str::<Value>(args) else { return text };
    let changed = change(value);
    if serde_json::from_str::<Value>(&text).is_ok_and(|value| value == changed) {
        return text;
    }
    // What was found in one of its parts only is still taken out of the whole.
    match change(Value::String(canonical_string(&changed))) {
        Value::String(text) => text,
        _ => String::new(),
    }
}
