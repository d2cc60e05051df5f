//! A reply becomes a proposal: calls, a skill to load, or an answer; anything else is malformed, and recorded as such.

use checkrein_contract::{Body, CallId, Code, ModelReply, ProposalKind, ProposedCall, RawCall, StopReason, Usage};
use checkrein_gate::{Concurrency, Redactor, Registry, parse};
use serde_json::Value;

use crate::{State, tools};

/// The calls of a reply, parsed, with the harness's ids, and marked where they may overlap.
///
/// The classifier is asked about these very arguments; a tool that is not there, or does not fit, is exclusive.
pub fn group_calls(turn: u32, reply: &ModelReply, registry: &Registry, state: &State) -> Vec<ProposedCall> {
    let mut calls = Vec::with_capacity(reply.calls.len());
    // Arguments of the delegations right before: what could change the same place as one of them waits for them.
    let mut beside: Vec<Value> = Vec::new();
    for (index, raw) in reply.calls.iter().enumerate() {
        let mut call = state.understood(CallId::new(format!("c{turn}-{}", index + 1)), raw);
        let tool = registry.get(&call.tool).filter(|tool| !call.raw && !tool.definition().host_only);
        call.parallel = tool.is_some_and(|tool| tool.concurrency(&call.args) == Concurrency::Parallel);
        if call.parallel && tools::delegates(&call.tool) {
            call.parallel = !beside.iter().any(|other| tools::would_meet(&call.args, other));
            beside.push(call.args.clone());
        } else {
            beside.clear();
        }
        calls.push(call);
    }
    calls
}

impl State {
    /// A call as the wire carried it, parsed. What is called through another tool is a call of the tool itself from here on.
    pub fn understood(&self, id: CallId, raw: &RawCall) -> ProposedCall {
        let call = parse(id, raw);
        if self.deferred.is_empty() { call } else { tools::unwrapped(call) }
    }
}

/// A recorded call as the wire carried it: what the model said.
pub fn raw_call(call: &ProposedCall) -> RawCall {
    let (tool, args) = tools::said(call);
    let arguments = match &*args {
        Value::String(text) if call.raw && call.through.is_none() => text.clone(),
        args => args.to_string(),
    };
    RawCall { tool: tool.to_owned(), arguments }
}

/// The event that records a reply; the redactor knows the host's own secrets by their values.
pub fn proposal(turn: u32, reply: &ModelReply, calls: Vec<ProposedCall>, usage: Usage, redactor: &Redactor) -> Body {
    let text = redactor.text(&reply.text).into_owned();
    let cut = reply.stop == StopReason::Length;
    let defect = if cut { Some(Code::ReplyTruncated) } else { None };
    let kind = if cut || calls.is_empty() && text.trim().is_empty() {
        ProposalKind::Malformed
    } else if calls.is_empty() {
        ProposalKind::Answer
    } else if calls.iter().all(|call| tools::loads_skill(&call.tool)) {
        ProposalKind::Skill
    } else {
        ProposalKind::Calls
    };
    Body::Proposal { turn, kind, text, calls, usage, provider: kept(&reply.provider, redactor), defect }
}

/// What a provider wants back, as it is recorded. What only the provider can read is signed by it as a whole. One that holds a
/// secret is not cut but left out: a provider takes a reply without it.
pub(crate) fn kept(provider: &Value, redactor: &Redactor) -> Value {
    if redactor.value(provider.clone()) == *provider { provider.clone() } else { Value::Null }
}
