//! The provider that answers from a script. No network, no clock, no state of its own: the position in the script comes
//! with the request and goes back with the reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, RawCall, StopReason,
    ToolChoice, Usage,
};
use serde_json::Value;

use super::condition::Visible;
use super::delivery::Delivery;
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

    /// What the script says to a request, before anybody hears it.
    ///
    /// # Errors
    /// No step answers, or a step quotes what is not visible. The position is the one that came.
    pub(crate) fn say(&self, request: &ModelRequest) -> Result<Answered, ProviderError> {
        let mut position = self.position(&request.provider)?;
        let steps = &self.script.steps;
        let step = position.seek(steps, &request.messages).map_err(|refused| {
            failed(ProviderFault::ScriptExhausted, self.exhausted(&refused, request), &request.provider)
        })?;
        position.answered(steps, step, &request.messages);
        let said = match &step.answer {
            Answer::Error { status, retry_after_ms } => Err((*status, *retry_after_ms)),
            Answer::Reply(reply) => Ok(speak(reply, request).map_err(|NotVisible(quote)| {
                let visible = Visible(&request.messages);
                let message = format!("{}: {step} can not quote `{quote}`: {visible}", self.model);
                failed(ProviderFault::ScriptExhausted, message, &request.provider)
            })?),
        };
        Ok(Answered { said, step: step.number, line: step.line, position: position.to_value() })
    }

    /// Whether some steps answer sub-sessions only.
    pub(crate) fn delegates(&self) -> bool {
        !self.script.delegated.is_empty()
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
        Box::pin(async move { self.say(request)?.hand_over(on_delta) })
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

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        let never = |number: &&u32| !lanes.contains_key(&Lane::main().child(**number));
        match self.script.delegated.keys().find(never).and_then(|number| self.delegate(*number)) {
            Some(part) => part.close(&Value::Null),
            None => Ok(()),
        }
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

/// What a script says to one request.
#[derive(Debug)]
pub(crate) struct Answered {
    /// A reply, or the status of an error and how long to wait, milliseconds.
    pub(crate) said: Result<Spoken, (u16, Option<u64>)>,
    /// The step that says it, from 1.
    pub(crate) step: usize,
    /// Its line in the file, from 1.
    pub(crate) line: usize,
    /// Where the session stands behind it.
    pub(crate) position: Value,
}

impl Answered {
    /// The whole of it at once, in virtual time.
    fn hand_over(self, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<ModelReply, ProviderError> {
        let Self { said, step, line, position } = self;
        let broken = |fault, message: String, retry_after_ms| ProviderError {
            fault,
            message: format!("{message}: step {step} (line {line})"),
            retry_after_ms,
            provider: position.clone(),
        };
        let spoken = said.map_err(|(status, retry_after_ms)| {
            broken(by_status(status), format!("the script answers with status {status}"), retry_after_ms)
        })?;
        let mut pieces = 0;
        for piece in spoken.pieces() {
            pieces += 1;
            on_delta(Delta::Text(piece));
        }
        if let Some(cut) = spoken.delivery.cut {
            let message = format!("the script breaks the stream off after {} bytes", cut.after);
            return Err(broken(ProviderFault::Broken, message, None));
        }
        let stop = spoken.stop();
        let Spoken { text, calls, usage, delivery, .. } = spoken;
        let virtual_ms = delivery.delay_ms.saturating_add(delivery.piece_ms.saturating_mul(pieces));
        Ok(ModelReply { text, calls, stop, usage, virtual_ms, provider: position })
    }
}

/// A reply with its quotes filled in.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) text: String,
    pub(crate) calls: Vec<RawCall>,
    /// The length limit was reached.
    length: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) delivery: Delivery,
}

impl Spoken {
    /// The text in pieces, as far as it gets.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &str> {
        let end = self.delivery.cut.map_or(self.text.len(), |cut| cut.after);
        let (streamed, _) = self.text.split_at(self.text.floor_char_boundary(end));
        streamed.split_inclusive(char::is_whitespace)
    }

    pub(crate) fn stop(&self) -> StopReason {
        match (self.length, self.calls.is_empty()) {
            (true, _) => StopReason::Length,
            (false, false) => StopReason::Calls,
            (false, true) => StopReason::End,
        }
    }
}

fn speak(reply: &Reply, request: &ModelRequest) -> Result<Spoken, NotVisible> {
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
    Ok(Spoken { text, calls, length: reply.length, usage: reply.usage, delivery: reply.delivery })
}
