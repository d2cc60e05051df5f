//! Anthropic Messages, `anthropic:NAME`: `POST /v1/messages` with `stream`.
//!
//! - Thinking blocks go back unchanged, in their places: a reply with calls is refused without them.
//! - Two marks let the server keep what it read: one behind instructions and tools, one behind each of the last two
//!   messages of the user, since a mark is looked for twenty blocks back at most.
//! - `message_stop` ends a stream; its reason came with `message_delta` before.

use std::collections::BTreeMap;

use checkrein_contract::{
    Delta, Message, ModelReply, ModelRequest, ProviderError, ProviderFault, RawCall, ResultPart, StopReason,
    ToolChoice, ToolSpec, Usage,
};
use serde_json::{Value, json};

use super::fit::Accepts;
use super::slots::{Piece, Slot, as_object, record, replay};
use super::transport::failed;
use super::{
    About, Address, Flow, Reader, Wire, alternate, append, at, broke_off, fault, number_at, put, stopped_with, text_at,
    turn,
};

const ABOUT: About = About {
    kind: "anthropic",
    address: Address::Vendor { address: "https://api.anthropic.com", variable: "ANTHROPIC_BASE_URL" },
    key_variable: "ANTHROPIC_API_KEY",
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    accepts: Accepts { without: &[], without_at_top: &["oneOf", "anyOf", "allOf"] },
    cache_write: Some(1.25),
};

pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn path(&self, _name: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn body(&self, name: &str, request: &ModelRequest, tools: Vec<ToolSpec>) -> Value {
        let mut body = json!({
            "model": name,
            "max_tokens": request.max_output_tokens,
            "stream": true,
        });
        put(&mut body, "messages", messages(request));
        if !request.system.trim().is_empty() {
            put(&mut body, "system", json!([{ "type": "text", "text": request.system, "cache_control": mark() }]));
        }
        if !tools.is_empty() {
            put(&mut body, "tools", tools.into_iter().map(spec).collect());
            if request.tool_choice == ToolChoice::None {
                put(&mut body, "tool_choice", json!({ "type": "none" }));
            }
        }
        body
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reply::default())
    }
}

fn spec(tool: ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

/// The conversation.
fn messages(request: &ModelRequest) -> Value {
    let mut turns = alternate(request.messages.iter().map(|message| match &**message {
        Message::User { text, .. } => ("user", vec![json!({ "type": "text", "text": visible(text) })]),
        Message::Tool { results } => ("user", results.iter().map(result).collect()),
        Message::Assistant { text, calls, provider } => {
            ("assistant", replay(ABOUT.kind, provider, text, calls).into_iter().map(block).collect())
        }
    }));
    for (_, blocks) in turns.iter_mut().rev().filter(|(role, _)| *role == "user").take(2) {
        if let Some(last) = blocks.last_mut() {
            put(last, "cache_control", mark());
        }
    }
    turns.into_iter().map(|(role, blocks)| turn(role, "content", blocks)).collect()
}

/// Text without a character to see is refused.
fn visible(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}

fn result(result: &ResultPart) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.call, "content": visible(&result.text) });
    if result.is_error {
        put(&mut block, "is_error", json!(true));
    }
    block
}

fn block(piece: Piece<'_>) -> Value {
    match piece {
        Piece::Kept(thinking) => thinking.clone(),
        Piece::Text(text, _) => json!({ "type": "text", "text": text }),
        Piece::Call(call, _) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": as_object(&call.args) })
        }
    }
}

/// A block while it comes in.
#[derive(Debug)]
enum Block {
    Text(String),
    Call(RawCall),
    /// Thinking, as it goes back.
    Thinking(Value),
    /// Of a kind that was never asked for.
    Other,
}

#[derive(Debug, Default)]
struct Reply {
    blocks: BTreeMap<u64, Block>,
    usage: Option<Usage>,
    reason: Option<String>,
    ended: bool,
}

impl Reader for Reply {
    fn read(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<Flow, ProviderError> {
        match text_at(event, "/type") {
            "message_start" => self.count(at(event, "/message/usage")),
            "content_block_start" => self.begin(event, on_delta),
            "content_block_delta" => self.add(event, on_delta)?,
            "message_delta" => {
                self.count(at(event, "/usage"));
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.reason = reason.map(str::to_owned).or(self.reason.take());
            }
            "message_stop" => {
                self.ended = true;
                return Ok(Flow::Done);
            }
            "error" => return Err(fault::of_error(None, at(event, "/error"))),
            // Pings, ends of blocks, and what may be added one day.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ProviderError> {
        let Self { blocks, usage, reason, ended } = *self;
        let reason = reason.filter(|_| ended).ok_or_else(|| broke_off("without a stop reason"))?;
        let stop = match reason.as_str() {
            "end_turn" | "stop_sequence" => StopReason::End,
            "tool_use" => StopReason::Calls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            other => return Err(stopped_with(other)),
        };
        let (mut text, mut calls, mut slots) = (String::new(), Vec::new(), Vec::new());
        for block in blocks.into_values() {
            match block {
                Block::Text(piece) => {
                    text.push_str(&piece);
                    slots.push(Slot::Text(Value::Null));
                }
                Block::Call(call) => {
                    calls.push(call);
                    slots.push(Slot::Call(Value::Null));
                }
                Block::Thinking(value) => slots.push(Slot::Kept(value)),
                Block::Other => {}
            }
        }
        let provider = record(ABOUT.kind, &slots);
        Ok(ModelReply { text, calls, stop, usage, virtual_ms: 0, provider })
    }
}

impl Reply {
    /// Counts are of the whole reply so far, and come more than once.
    fn count(&mut self, usage: &Value) {
        let count = |key: &str| number_at(usage, &format!("/{key}"));
        let mut known = self.usage.unwrap_or_default();
        if let Some(fresh) = count("input_tokens") {
            known.cached = count("cache_read_input_tokens").unwrap_or(0);
            known.written = count("cache_creation_input_tokens").unwrap_or(0);
            known.input = fresh.saturating_add(known.cached).saturating_add(known.written);
        }
        known.output = count("output_tokens").unwrap_or(known.output);
        self.usage = usage.is_object().then_some(known).or(self.usage);
    }

    fn begin(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) {
        let block = at(event, "/content_block");
        let block = match text_at(block, "/type") {
            "text" => {
                let text = text_at(block, "/text");
                if !text.is_empty() {
                    on_delta(Delta::Text(text));
                }
                Block::Text(text.to_owned())
            }
            "tool_use" => {
                // The input comes in pieces; only servers that do not stream it have it here already.
                let input = at(block, "/input").as_object().filter(|input| !input.is_empty());
                let arguments = input.map(|input| json!(input).to_string()).unwrap_or_default();
                Block::Call(RawCall { tool: text_at(block, "/name").to_owned(), arguments })
            }
            "thinking" | "redacted_thinking" => Block::Thinking(block.clone()),
            _ => Block::Other,
        };
        self.blocks.insert(number_at(event, "/index").unwrap_or(0), block);
    }

    fn add(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<(), ProviderError> {
        let index = number_at(event, "/index").unwrap_or(0);
        let block = self.blocks.get_mut(&index);
        let block =
            block.ok_or_else(|| failed(ProviderFault::Broken, "a piece of a block that never began".to_owned()))?;
        let delta = at(event, "/delta");
        match (block, text_at(delta, "/type")) {
            (Block::Text(text), "text_delta") => {
                let piece = text_at(delta, "/text");
                text.push_str(piece);
                on_delta(Delta::Text(piece));
            }
            (Block::Call(call), "input_json_delta") => call.arguments.push_str(text_at(delta, "/partial_json")),
            (Block::Thinking(Value::Object(thinking)), "thinking_delta") => {
                append(thinking, "thinking", text_at(delta, "/thinking"));
            }
            // It comes whole.
            (Block::Thinking(thinking), "signature_delta") => {
                put(thinking, "signature", at(delta, "/signature").clone())
            }
            // Citations and the like, and pieces of blocks of other kinds.
            _ => {}
        }
        Ok(())
    }
}
