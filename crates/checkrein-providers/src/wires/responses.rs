//! OpenAI Responses, `openai:NAME`: `POST /responses` with `stream`. Nothing is stored over there.
//!
//! - Reasoning comes encrypted, and goes back as it came, before what followed from it. Models that do not reason refuse to
//!   be asked for it.
//! - Schemas are sent as they are, not as `strict`: that would take every parameter for required, and our own validator
//!   holds them anyway.
//! - `response.completed` and `response.incomplete` end a stream. An item counts when it is done.

use std::collections::BTreeMap;

use checkrein_contract::{
    Delta, Message, ModelReply, ModelRequest, ProviderError, ProviderFault, RawCall, StopReason, ToolChoice, ToolSpec,
    Usage,
};
use serde_json::{Value, json};

use super::fit::Accepts;
use super::slots::{Piece, Slot, as_object, record, replay};
use super::transport::failed;
use super::{About, Address, Flow, Reader, Wire, at, broke_off, fault, number_at, put, text_at};

const ABOUT: About = About {
    kind: "openai",
    address: Address::Vendor { address: "https://api.openai.com/v1", variable: "OPENAI_BASE_URL" },
    key_variable: "OPENAI_API_KEY",
    key_header: ("authorization", "Bearer "),
    headers: &[],
    accepts: Accepts { without: &[], without_at_top: &["oneOf", "anyOf", "enum", "const"] },
    cache_write: Some(1.25),
};

/// The least that this wire takes as a ceiling, tokens.
const LEAST_OUTPUT: u32 = 16;

pub(super) struct Responses;

impl Wire for Responses {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn path(&self, _name: &str) -> String {
        "/responses".to_owned()
    }

    fn body(&self, name: &str, request: &ModelRequest, tools: Vec<ToolSpec>) -> Value {
        let mut body = json!({
            "model": name,
            "max_output_tokens": request.max_output_tokens.max(LEAST_OUTPUT),
            "stream": true,
            "store": false,
        });
        put(&mut body, "input", input(request));
        if reasons(name) {
            put(&mut body, "include", json!(["reasoning.encrypted_content"]));
        }
        if !request.system.trim().is_empty() {
            put(&mut body, "instructions", json!(request.system));
        }
        if !tools.is_empty() {
            put(&mut body, "tools", tools.into_iter().map(spec).collect());
            if request.tool_choice == ToolChoice::None {
                put(&mut body, "tool_choice", json!("none"));
            }
        }
        body
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reply::default())
    }
}

/// Whether a model has reasoning to hand over, by its family: the older ones, and those for chats, have none.
fn reasons(name: &str) -> bool {
    let older = ["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| name.starts_with(family));
    !older && !name.contains("-chat")
}

fn spec(tool: ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({ "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false })
}

fn input(request: &ModelRequest) -> Value {
    let mut items = Vec::new();
    for message in &request.messages {
        match &**message {
            Message::User { text, .. } => {
                items.push(json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] }));
            }
            Message::Tool { results } => items.extend(
                results.iter().map(|r| json!({ "type": "function_call_output", "call_id": r.call, "output": r.text })),
            ),
            Message::Assistant { text, calls, provider } => {
                items.extend(replay(ABOUT.kind, provider, text, calls).into_iter().map(item));
            }
        }
    }
    Value::Array(items)
}

fn item(piece: Piece<'_>) -> Value {
    match piece {
        Piece::Kept(reasoning) => reasoning.clone(),
        Piece::Text(text, _) => json!({ "role": "assistant", "content": [{ "type": "output_text", "text": text }] }),
        Piece::Call(call, _) => {
            // Arguments are text on this wire, but there are servers that read it, and fail where it is no object.
            let arguments = as_object(&call.args).to_string();
            json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments })
        }
    }
}

#[derive(Debug, Default)]
struct Reply {
    /// What is done, by its place.
    items: BTreeMap<u64, Value>,
    /// The response as its last event says it.
    ended: Option<Value>,
}

impl Reader for Reply {
    fn read(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<Flow, ProviderError> {
        match text_at(event, "/type") {
            "response.output_text.delta" | "response.refusal.delta" => on_delta(Delta::Text(text_at(event, "/delta"))),
            "response.output_item.done" => {
                let place = number_at(event, "/output_index").unwrap_or(0);
                self.items.insert(place, at(event, "/item").clone());
            }
            "response.completed" | "response.incomplete" => {
                self.ended = Some(at(event, "/response").clone());
                return Ok(Flow::Done);
            }
            "response.failed" => return Err(fault::of_error(None, at(event, "/response/error"))),
            // Its fields stand in the event itself; some servers write an object as elsewhere.
            "error" => {
                let error = event.get("error").filter(|error| error.is_object()).unwrap_or(event);
                return Err(fault::of_error(None, error));
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ProviderError> {
        let Self { items, ended } = *self;
        let ended = ended.ok_or_else(|| broke_off("before the response was completed"))?;
        let (mut text, mut calls, mut slots) = (String::new(), Vec::new(), Vec::new());
        for item in items.into_values() {
            match text_at(&item, "/type") {
                "message" => {
                    for part in at(&item, "/content").as_array().into_iter().flatten() {
                        text.push_str(text_at(part, "/text"));
                        text.push_str(text_at(part, "/refusal"));
                    }
                    slots.push(Slot::Text(Value::Null));
                }
                "function_call" => {
                    let (tool, arguments) =
                        (text_at(&item, "/name").to_owned(), text_at(&item, "/arguments").to_owned());
                    calls.push(RawCall { tool, arguments });
                    slots.push(Slot::Call(Value::Null));
                }
                // What is stored nowhere can go back only if it came along.
                "reasoning" if at(&item, "/encrypted_content").is_string() => slots.push(Slot::Kept(reasoning(&item))),
                _ => {}
            }
        }
        let stop = match (text_at(&ended, "/status"), text_at(&ended, "/incomplete_details/reason")) {
            ("completed", _) if calls.is_empty() => StopReason::End,
            ("completed", _) => StopReason::Calls,
            ("incomplete", "max_output_tokens") => StopReason::Length,
            (status, reason) => {
                let message = format!("the response ended as `{status}` {reason}");
                return Err(failed(ProviderFault::Refused, message));
            }
        };
        let usage = ended.get("usage").filter(|usage| usage.is_object()).map(counted);
        let provider = record(ABOUT.kind, &slots);
        Ok(ModelReply { text, calls, stop, usage, virtual_ms: 0, provider })
    }
}

/// A reasoning item as it is taken back.
fn reasoning(item: &Value) -> Value {
    let summary = item.get("summary").cloned().unwrap_or_else(|| json!([]));
    let mut kept =
        json!({ "type": "reasoning", "summary": summary, "encrypted_content": at(item, "/encrypted_content") });
    if at(item, "/id").is_string() {
        put(&mut kept, "id", at(item, "/id").clone());
    }
    kept
}

fn counted(usage: &Value) -> Usage {
    Usage {
        input: number_at(usage, "/input_tokens").unwrap_or(0),
        output: number_at(usage, "/output_tokens").unwrap_or(0),
        cached: number_at(usage, "/input_tokens_details/cached_tokens").unwrap_or(0),
        written: number_at(usage, "/input_tokens_details/cache_write_tokens").unwrap_or(0),
        estimated: false,
    }
}
