//! The provider that answers from a script. No network, no clock, no state of its own: the position in the script comes
//! with the request and goes back with the reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    BoxFuture, Delta, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, RawCall, StopReason, ToolChoice,
};
use serde_json::Value;

use super::condition::Visible;
use super::position::Position;
use super::quote::NotVisible;
use super::{Answer, Arguments, Guard, Repeat, Reply, Script, Step};
use crate::wires::by_status;

/// The scripted model, `script:NAME`. What its steps do is said at the top of the module `script`, and in the
/// reference of the file format.
///
/// Time is virtual: nobody sleeps, and `delay_ms` of a step moves the harness's clock. Tokens are counted only where a
/// step states them; elsewhere the harness estimates.
#[derive(Clone, Debug)]
pub struct ScriptProvider {
    script: Script,
    model: String,
}

impl ScriptProvider {
    /// A provider for this script; `name` is what stands behind `script:` in the session's model.
    pub fn new(script: Script, name: &str) -> Self {
        Self { script, model: format!("script:{name}") }
    }

    fn answer(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelReply, ProviderError> {
        let mut position = self.position(&request.provider)?;
        let steps = &self.script.steps;
        let step = position.seek(steps, &request.messages).map_err(|refused| {
            failed(ProviderFault::ScriptExhausted, self.exhausted(&refused, request), &request.provider)
        })?;
        position.answered(steps, step, &request.messages);
        match &step.answer {
            Answer::Error { status, retry_after_ms } => Err(ProviderError {
                fault: by_status(*status),
                message: format!("the script answers with status {status}: {step}"),
                retry_after_ms: *retry_after_ms,
                provider: position.to_value(),
            }),
            Answer::Reply(reply) => {
                let filled = fill(reply, request).map_err(|NotVisible(quote)| {
                    let visible = Visible(&request.messages);
                    let message = format!("{}: {step} can not quote `{quote}`: {visible}", self.model);
                    failed(ProviderFault::ScriptExhausted, message, &request.provider)
                })?;
                send(reply, filled, step, position.to_value(), on_delta)
            }
        }
    }

    fn position(&self, provider: &Value) -> Result<Position, ProviderError> {
        Position::read(provider).map_err(|error| {
            let message = format!("{}: the recorded position in the script can not be read: {error}", self.model);
            failed(ProviderFault::Refused, message, provider)
        })
    }

    fn exhausted(&self, refused: &[&Step], request: &ModelRequest) -> String {
        let wanted: Vec<String> = refused
            .iter()
            .filter_map(|step| match &step.guard {
                Guard::When(condition) => Some(format!("{step} wants {condition}")),
                Guard::Plain | Guard::Else => None,
            })
            .collect();
        let model = &self.model;
        if wanted.is_empty() {
            let last =
                self.script.steps.last().map_or_else(|| "it has none".to_owned(), |step| format!("its last is {step}"));
            return format!("{model}: this request is one more than the script has steps for; {last}");
        }
        format!("{model}: no step answers this request: {}; {}", wanted.join("; "), Visible(&request.messages))
    }
}

impl Provider for ScriptProvider {
    fn model(&self) -> &str {
        &self.model
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move { self.answer(request, on_delta) })
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        let unused = self.position(provider)?.unused(&self.script.steps);
        if unused.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = unused
            .iter()
            .map(|step| match step.repeat {
                Repeat::Times(times) if times > 1 => format!("{step} was to answer {times} times"),
                Repeat::Times(_) | Repeat::Forever => step.to_string(),
            })
            .collect();
        let message = format!("{}: the session ended before every step was used: {}", self.model, list.join("; "));
        Err(failed(ProviderFault::ScriptUnused, message, provider))
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let steps = self.script.delegated.get(&number).cloned().unwrap_or_default();
        let script = Script { steps, delegated: BTreeMap::new() };
        Some(Arc::new(Self { script, model: self.model.clone() }))
    }

    fn virtual_time(&self) -> bool {
        true
    }
}

/// An error that leaves the position where it was.
fn failed(fault: ProviderFault, message: String, provider: &Value) -> ProviderError {
    ProviderError { fault, message, retry_after_ms: None, provider: provider.clone() }
}

/// A reply with its quotes filled in.
struct Filled {
    text: String,
    calls: Vec<RawCall>,
}

fn fill(reply: &Reply, request: &ModelRequest) -> Result<Filled, NotVisible> {
    let text = reply.text.text(&request.messages)?;
    let mut calls = Vec::new();
    // The calls of a last request are dropped unread: they may quote what is not there any more.
    if request.tool_choice == ToolChoice::Auto {
        for call in &reply.calls {
            let arguments = match &call.arguments {
                Arguments::Raw(raw) => raw.clone(),
                Arguments::Json(shape) => shape.fill(&request.messages)?.to_string(),
            };
            calls.push(RawCall { tool: call.tool.clone(), arguments });
        }
    }
    Ok(Filled { text, calls })
}

fn send(
    reply: &Reply,
    Filled { text, calls }: Filled,
    step: &Step,
    provider: Value,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Result<ModelReply, ProviderError> {
    let end = reply.cut_after.unwrap_or(text.len());
    let (streamed, _) = text.split_at(text.floor_char_boundary(end));
    for piece in streamed.split_inclusive(char::is_whitespace) {
        on_delta(Delta::Text(piece));
    }
    if reply.cut_after.is_some() {
        let message = format!("the script breaks the stream off after {end} bytes: {step}");
        return Err(ProviderError { fault: ProviderFault::Broken, message, retry_after_ms: None, provider });
    }
    let stop = match (reply.length, calls.is_empty()) {
        (true, _) => StopReason::Length,
        (false, false) => StopReason::Calls,
        (false, true) => StopReason::End,
    };
    Ok(ModelReply { text, calls, stop, usage: reply.usage, virtual_ms: reply.delay_ms, provider })
}
