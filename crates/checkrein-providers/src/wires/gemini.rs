//! Gemini `generateContent`, `gemini:NAME`: `POST /v1beta/models/NAME:streamGenerateContent?alt=sse`.
//!
//! - A signature stands on the part that it belongs to, mostly a call, and goes back there: newer models refuse a call of
//!   theirs that comes back without.
//! - Schemas go into `parametersJsonSchema`, which takes a part of JSON Schema; what it does not take moves to the
//!   description.
//! - A candidate's `finishReason` says why a reply ended; HTTP ends the stream. The server keeps prefixes by itself.

use checkrein_contract::{
    Delta, Message, ModelReply, ModelRequest, ProviderError, ProviderFault, RawCall, ResultPart, StopReason,
    ToolChoice, ToolSpec, Usage,
};
use serde_json::{Map, Value, json};

use super::fit::Accepts;
use super::slots::{Piece, Slot, as_object, record, replay};
use super::transport::failed;
use super::{
    About, Address, Flow, Reader, Wire, alternate, at, broke_off, fault, number_at, put, stopped_with, text_at, turn,
};

const ABOUT: About = About {
    kind: "gemini",
    address: Address::Vendor {
        address: "https://generativelanguage.googleapis.com",
        variable: "GOOGLE_GEMINI_BASE_URL",
    },
    key_variable: "GEMINI_API_KEY",
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    // The documented list of what is taken, turned around.
    accepts: Accepts {
        without: &[
            "oneOf",
            "const",
            "pattern",
            "minLength",
            "maxLength",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "default",
            "examples",
        ],
        without_at_top: &["anyOf", "enum"],
    },
    cache_write: None,
};

const SIGNATURE: &str = "thoughtSignature";

pub(super) struct Gemini;

impl Wire for Gemini {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn path(&self, name: &str) -> String {
        format!("/v1beta/models/{name}:streamGenerateContent?alt=sse")
    }

    fn body(&self, _name: &str, request: &ModelRequest, tools: Vec<ToolSpec>) -> Value {
        let mut body = json!({ "generationConfig": { "maxOutputTokens": request.max_output_tokens } });
        put(&mut body, "contents", contents(request));
        if !request.system.trim().is_empty() {
            put(&mut body, "systemInstruction", json!({ "parts": [{ "text": request.system }] }));
        }
        if !tools.is_empty() {
            put(
                &mut body,
                "tools",
                json!([{ "functionDeclarations": tools.into_iter().map(spec).collect::<Value>() }]),
            );
            if request.tool_choice == ToolChoice::None {
                put(&mut body, "toolConfig", json!({ "functionCallingConfig": { "mode": "NONE" } }));
            }
        }
        body
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reply::default())
    }
}

fn spec(tool: ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({ "name": name, "description": description, "parametersJsonSchema": parameters })
}

/// The conversation.
fn contents(request: &ModelRequest) -> Value {
    let turns = alternate(request.messages.iter().map(|message| match &**message {
        Message::User { text, .. } => ("user", vec![json!({ "text": text })]),
        Message::Tool { results } => ("user", results.iter().map(result).collect()),
        Message::Assistant { text, calls, provider } => {
            ("model", replay(ABOUT.kind, provider, text, calls).into_iter().map(part).collect())
        }
    }));
    turns.into_iter().map(|(role, parts)| turn(role, "parts", parts)).collect()
}

fn result(result: &ResultPart) -> Value {
    let key = if result.is_error { "error" } else { "output" };
    json!({ "functionResponse": { "id": result.call, "name": result.tool, "response": { key: result.text } } })
}

fn part(piece: Piece<'_>) -> Value {
    let (mut part, signature) = match piece {
        Piece::Kept(part) => return part.clone(),
        Piece::Text(text, signature) => (json!({ "text": text }), signature),
        Piece::Call(call, signature) => {
            (json!({ "functionCall": { "id": call.id, "name": call.tool, "args": as_object(&call.args) } }), signature)
        }
    };
    if signature.is_string() {
        put(&mut part, SIGNATURE, signature.clone());
    }
    part
}

#[derive(Debug, Default)]
struct Reply {
    text: String,
    calls: Vec<RawCall>,
    slots: Vec<Slot>,
    usage: Option<Usage>,
    reason: Option<String>,
}

impl Reader for Reply {
    fn read(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<Flow, ProviderError> {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(fault::of_error(None, error));
        }
        if let Some(why) = event.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return Err(failed(ProviderFault::Refused, format!("the request was blocked: {why}")));
        }
        if let Some(usage) = event.get("usageMetadata").filter(|usage| usage.is_object()) {
            self.usage = Some(counted(usage));
        }
        let candidate = at(event, "/candidates/0");
        for part in at(candidate, "/content/parts").as_array().into_iter().flatten() {
            self.add(part, on_delta);
        }
        if let Some(reason) = at(candidate, "/finishReason").as_str() {
            self.reason = Some(reason.to_owned());
        }
        Ok(Flow::More)
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ProviderError> {
        let Self { text, calls, slots, usage, reason } = *self;
        let reason = reason.ok_or_else(|| broke_off("without a finish reason"))?;
        let stop = match reason.as_str() {
            "STOP" if calls.is_empty() => StopReason::End,
            // Some servers in front of it have a word of their own for this end.
            "STOP" | "FUNCTION_CALL" => StopReason::Calls,
            "MAX_TOKENS" => StopReason::Length,
            // The model garbled a call; another attempt may come out right.
            "MALFORMED_FUNCTION_CALL" => {
                return Err(failed(ProviderFault::Broken, "the model wrote a call that is none".to_owned()));
            }
            other => return Err(stopped_with(other)),
        };
        let provider = record(ABOUT.kind, &slots);
        Ok(ModelReply { text, calls, stop, usage, virtual_ms: 0, provider })
    }
}

impl Reply {
    fn add(&mut self, part: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) {
        let signature = part.get(SIGNATURE).cloned().unwrap_or_default();
        if let Some(call) = part.get("functionCall") {
            let args = call.get("args").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            self.calls.push(RawCall { tool: text_at(call, "/name").to_owned(), arguments: args.to_string() });
            self.slots.push(Slot::Call(signature));
        } else if at(part, "/thought") == true {
            // A summary for people. It is not taken back.
        } else if let Some(text) = at(part, "/text").as_str() {
            if text.is_empty() && signature.is_null() {
                return;
            }
            if !text.is_empty() {
                self.text.push_str(text);
                on_delta(Delta::Text(text));
            }
            match self.slots.last_mut() {
                // Text comes in pieces, and the signature of the whole with any of them.
                Some(Slot::Text(known)) if known.is_null() || signature.is_null() => {
                    if known.is_null() {
                        *known = signature;
                    }
                }
                _ => self.slots.push(Slot::Text(signature)),
            }
        }
    }
}

fn counted(usage: &Value) -> Usage {
    let count = |key: &str| number_at(usage, &format!("/{key}")).unwrap_or(0);
    Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cached: count("cachedContentTokenCount"),
        // What it keeps unasked costs nothing more.
        written: 0,
        estimated: false,
    }
}
