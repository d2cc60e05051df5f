//! OpenAI Chat Completions, `compatible:URL#NAME`: `POST URL/chat/completions` with `stream`, as many servers speak it, those
//! on the same machine too.
//!
//! - A choice's `finish_reason` says why a reply ended; the count of its tokens comes behind it, and `[DONE]` last. A server
//!   that sends no `[DONE]` has to end its answer as HTTP ends one.
//! - Pieces of a call are told apart by their index; where a server leaves it out or uses it for two calls, a new id begins
//!   a new call.
//! - Reasoning is no part of the protocol. What servers send as such goes back with a reply that has calls, under the name
//!   it came by: DeepSeek and OpenRouter want it there.

use checkrein_contract::{
    Delta, Message, ModelReply, ModelRequest, ProviderError, ProviderFault, RawCall, StopReason, ToolCallPart,
    ToolChoice, ToolSpec, Usage,
};
use serde_json::{Map, Value, json};

use super::fit::Accepts;
use super::slots::as_object;
use super::transport::failed;
use super::{About, Address, Flow, Reader, Wire, append, at, broke_off, fault, number_at, put, stopped_with, text_at};

const ABOUT: About = About {
    kind: "compatible",
    address: Address::InName,
    // Not OpenAI's: a key goes to the server that it is for.
    key_variable: "COMPATIBLE_API_KEY",
    key_header: ("authorization", "Bearer "),
    headers: &[],
    accepts: Accepts { without: &[], without_at_top: &["oneOf", "anyOf", "enum", "const"] },
    cache_write: Some(1.25),
};

/// Fields of a reply that hold reasoning as text.
const REASONING: &[&str] = &["reasoning_content", "reasoning"];
/// OpenRouter's reasoning, in pieces with types.
const DETAILS: &str = "reasoning_details";

pub(super) struct Chat;

impl Wire for Chat {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn path(&self, _name: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn body(&self, name: &str, request: &ModelRequest, tools: Vec<ToolSpec>) -> Value {
        let mut body = json!({
            "model": name,
            "max_tokens": request.max_output_tokens,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        put(&mut body, "messages", messages(request));
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

fn spec(tool: ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": parameters } })
}

fn messages(request: &ModelRequest) -> Value {
    let mut all = Vec::new();
    if !request.system.trim().is_empty() {
        all.push(json!({ "role": "system", "content": request.system }));
    }
    for message in &request.messages {
        match &**message {
            Message::User { text, .. } => all.push(json!({ "role": "user", "content": text })),
            Message::Tool { results } => {
                all.extend(results.iter().map(|r| json!({ "role": "tool", "tool_call_id": r.call, "content": r.text })))
            }
            Message::Assistant { text, calls, provider } => all.push(assistant(text, calls, provider)),
        }
    }
    Value::Array(all)
}

fn assistant(text: &str, calls: &[ToolCallPart], provider: &Value) -> Value {
    if calls.is_empty() {
        return json!({ "role": "assistant", "content": text });
    }
    let calls = calls.iter().map(|call| {
        // Arguments are text on this wire, but there are servers that read it, and fail where it is no object.
        let arguments = as_object(&call.args).to_string();
        json!({ "id": call.id, "type": "function", "function": { "name": call.tool, "arguments": arguments } })
    });
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({ "role": "assistant", "content": content });
    put(&mut message, "tool_calls", calls.collect());
    for (name, reasoning) in provider.get(ABOUT.kind).and_then(Value::as_object).into_iter().flatten() {
        put(&mut message, name, reasoning.clone());
    }
    message
}

/// A call while it comes in.
#[derive(Debug)]
struct Part {
    index: Option<u64>,
    id: String,
    call: RawCall,
}

#[derive(Debug, Default)]
struct Reply {
    text: String,
    parts: Vec<Part>,
    /// By the name of its field.
    reasoning: Map<String, Value>,
    usage: Option<Usage>,
    reason: Option<String>,
}

impl Reader for Reply {
    fn read(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<Flow, ProviderError> {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(fault::of_error(None, error));
        }
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(counted(usage));
        }
        let choice = at(event, "/choices/0");
        let delta = at(choice, "/delta");
        for field in ["content", "refusal"] {
            let piece = text_at(delta, &format!("/{field}"));
            if !piece.is_empty() {
                self.text.push_str(piece);
                on_delta(Delta::Text(piece));
            }
        }
        for part in at(delta, "/tool_calls").as_array().into_iter().flatten() {
            self.add(part);
        }
        self.keep(delta);
        if let Some(reason) = at(choice, "/finish_reason").as_str().filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.to_owned());
        }
        Ok(Flow::More)
    }

    fn last_words(&self) -> Option<&'static str> {
        Some("[DONE]")
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ProviderError> {
        let Self { text, parts, reasoning, usage, reason } = *self;
        let reason = reason.ok_or_else(|| broke_off("without a finish reason"))?;
        let calls: Vec<RawCall> = parts.into_iter().map(|part| part.call).collect();
        let stop = match reason.as_str() {
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" => {
                return Err(failed(ProviderFault::Refused, "the reply was withheld by a content filter".to_owned()));
            }
            // Servers disagree on the words for an end, and some say `stop` where there are calls.
            "stop" | "tool_calls" | "function_call" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => {
                if calls.is_empty() { StopReason::End } else { StopReason::Calls }
            }
            other => return Err(stopped_with(other)),
        };
        let provider = if reasoning.is_empty() { Value::Null } else { json!({ ABOUT.kind: reasoning }) };
        Ok(ModelReply { text, calls, stop, usage, virtual_ms: 0, provider })
    }
}

impl Reply {
    /// A piece of a call.
    fn add(&mut self, piece: &Value) {
        let index = number_at(piece, "/index");
        let id = text_at(piece, "/id");
        let known = match index {
            Some(_) => self.parts.iter_mut().rev().find(|part| part.index == index),
            None => self.parts.last_mut(),
        };
        let begun = known.filter(|part| id.is_empty() || part.id.is_empty() || part.id == id);
        let name = text_at(piece, "/function/name");
        // Some servers hand over arguments as an object.
        let arguments = match at(piece, "/function/arguments") {
            Value::String(text) => text.clone(),
            Value::Object(object) => json!(object).to_string(),
            _ => String::new(),
        };
        if let Some(part) = begun {
            if part.id.is_empty() {
                part.id.push_str(id);
            }
            // A name comes whole; a server that repeats it means the same call.
            if part.call.tool != name {
                part.call.tool.push_str(name);
            }
            part.call.arguments.push_str(&arguments);
        } else {
            let call = RawCall { tool: name.to_owned(), arguments };
            self.parts.push(Part { index, id: id.to_owned(), call });
        }
    }

    /// Reasoning, under the name that it comes by.
    fn keep(&mut self, delta: &Value) {
        for name in REASONING {
            let piece = text_at(delta, &format!("/{name}"));
            if !piece.is_empty() {
                append(&mut self.reasoning, name, piece);
            }
        }
        for piece in delta.get(DETAILS).and_then(Value::as_array).into_iter().flatten() {
            let all = self.reasoning.entry(DETAILS).or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                match all.last_mut() {
                    Some(last) if same(last, piece) => join(last, piece),
                    _ => all.push(piece.clone()),
                }
            }
        }
    }
}

/// Whether two pieces of reasoning are parts of one.
fn same(last: &Value, piece: &Value) -> bool {
    ["type", "index"].iter().all(|key| last.get(key).is_some() && last.get(key) == piece.get(key))
}

/// The text of the one goes on in the other; whatever else the other says counts.
fn join(last: &mut Value, piece: &Value) {
    let (Value::Object(last), Value::Object(piece)) = (last, piece) else { return };
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (key.as_str(), value) {
            ("text" | "summary" | "data", Value::String(more)) => append(last, key, more),
            _ => _ = last.insert(key.clone(), value.clone()),
        }
    }
}

fn counted(usage: &Value) -> Usage {
    let cached = number_at(usage, "/prompt_tokens_details/cached_tokens");
    // DeepSeek has a name of its own.
    let cached = cached.or_else(|| number_at(usage, "/prompt_cache_hit_tokens")).unwrap_or(0);
    Usage {
        input: number_at(usage, "/prompt_tokens").unwrap_or(0),
        output: number_at(usage, "/completion_tokens").unwrap_or(0),
        cached,
        written: number_at(usage, "/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        estimated: false,
    }
}
