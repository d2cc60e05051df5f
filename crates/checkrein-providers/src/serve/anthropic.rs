//! Anthropic Messages, the server's side: `POST /v1/messages`.

use checkrein_contract::{Lane, ModelRequest, StopReason, ToolChoice, ToolSpec, Usage};
use serde_json::{Map, Value, json};

use super::frames::Frames;
use super::talk::{Talk, ceiling, list, needed, texts};
use super::{Asked, Dialect, Route, Speech, SpokenCall};
use crate::wires::{at, put, text_at};

pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn kind(&self) -> &'static str {
        "anthropic"
    }

    fn base_path(&self) -> &'static str {
        ""
    }

    fn told(&self, base: &str) -> String {
        format!("ANTHROPIC_BASE_URL={base}")
    }

    fn header(&self) -> Option<&'static str> {
        Some("anthropic-version")
    }

    fn route<'p>(&self, path: &'p str, _query: &str) -> Option<Route<'p>> {
        Route::ending(path, &["/v1/messages"])
    }

    fn read(&self, body: &Value, _route: &Route<'_>) -> Result<Asked, String> {
        let max_output_tokens = ceiling(body, "/max_tokens")?.ok_or("max_tokens: a whole number is required")?;
        let mut talk = Talk::default();
        for (n, message) in list(body, "/messages").iter().enumerate() {
            read_message(&mut talk, message).map_err(|why| format!("messages.{n}: {why}"))?;
        }
        let none = text_at(body, "/tool_choice/type") == "none";
        let request = ModelRequest {
            model: needed(body, "model")?,
            system: texts(at(body, "/system")).join("\n\n"),
            tools: list(body, "/tools").iter().map(tool).collect::<Result<_, _>>()?,
            messages: talk.finish().map_err(|why| format!("messages: {why}"))?,
            tool_choice: if none { ToolChoice::None } else { ToolChoice::Auto },
            max_output_tokens,
            lane: Lane::main(),
            provider: Value::Null,
        };
        Ok(Asked { request, stream: at(body, "/stream") == true, counted: true })
    }

    fn whole(&self, reply: &Speech) -> Value {
        let text = reply.text();
        let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
        let calls = reply.calls.iter().map(|call| block(call, call.value()));
        let mut message = opening(reply);
        put(&mut message, "content", text.into_iter().chain(calls).collect());
        put(&mut message, "stop_reason", json!(reason(reply.stop)));
        put(&mut message, "usage", usage(reply, reply.usage.output));
        message
    }

    fn stream(&self, reply: &Speech, frames: &mut Frames) {
        frames.head(&json!({ "type": "message_start", "message": opening(reply) }));
        frames.head(&json!({ "type": "ping" }));
        let mut index = 0;
        if !reply.pieces.is_empty() {
            let begun = json!({ "type": "text", "text": "" });
            frames.head(&json!({ "type": "content_block_start", "index": index, "content_block": begun }));
            for piece in &reply.pieces {
                let delta = json!({ "type": "text_delta", "text": piece });
                frames.text(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
            frames.tail(&json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        for call in &reply.calls {
            let begun = block(call, json!({}));
            frames.tail(&json!({ "type": "content_block_start", "index": index, "content_block": begun }));
            for piece in call.pieces() {
                let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                frames.tail(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
            frames.tail(&json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        let delta = json!({ "stop_reason": reason(reply.stop), "stop_sequence": null });
        let usage = usage(reply, reply.usage.output);
        frames.tail(&json!({ "type": "message_delta", "delta": delta, "usage": usage }));
        frames.tail(&json!({ "type": "message_stop" }));
    }

    fn error(&self, status: u16, message: &str, _wait_s: Option<u64>) -> Value {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    }

    fn models(&self, name: &str) -> Value {
        let model = json!({ "type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z" });
        json!({ "data": [model], "has_more": false, "first_id": name, "last_id": name })
    }
}

fn read_message(talk: &mut Talk, message: &Value) -> Result<(), String> {
    let content = at(message, "/content");
    match text_at(message, "/role") {
        "user" => {
            if let Some(text) = content.as_str() {
                talk.user(text)?;
            }
            for block in list(content, "") {
                if text_at(block, "/type") == "tool_result" {
                    let text = texts(at(block, "/content")).concat();
                    talk.result(text_at(block, "/tool_use_id"), text, at(block, "/is_error") == true)?;
                } else {
                    texts(&json!([block])).iter().try_for_each(|text| talk.user(text))?;
                }
            }
            Ok(())
        }
        "assistant" => {
            if let Some(text) = content.as_str() {
                talk.said(text)?;
            }
            for block in list(content, "") {
                match text_at(block, "/type") {
                    "text" => talk.said(text_at(block, "/text"))?,
                    "tool_use" => {
                        talk.call(text_at(block, "/id"), text_at(block, "/name"), at(block, "/input").clone())?;
                    }
                    // Thinking, which a script has none of.
                    _ => {}
                }
            }
            Ok(())
        }
        role => Err(format!("role: `{role}` is none; write `user` or `assistant`")),
    }
}

fn tool(tool: &Value) -> Result<ToolSpec, String> {
    let Some(schema) = tool.get("input_schema") else {
        return Err(format!("tools: `{}` would run on the server, and here nothing runs", text_at(tool, "/name")));
    };
    Ok(ToolSpec {
        name: needed(tool, "name").map_err(|why| format!("tools: {why}"))?,
        description: text_at(tool, "/description").to_owned(),
        parameters: schema.clone(),
    })
}

/// A message of which nothing is there yet.
fn opening(reply: &Speech) -> Value {
    let mut message = Map::new();
    for (key, value) in [
        ("id", json!(format!("msg_{}", reply.number))),
        ("type", json!("message")),
        ("role", json!("assistant")),
        ("model", json!(reply.model)),
        ("content", json!([])),
        ("stop_reason", Value::Null),
        ("stop_sequence", Value::Null),
        ("usage", usage(reply, 1)),
    ] {
        message.insert(key.to_owned(), value);
    }
    Value::Object(message)
}

fn block(call: &SpokenCall, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
}

fn usage(reply: &Speech, output: u64) -> Value {
    let Usage { input, cached, written, .. } = reply.usage;
    json!({ "input_tokens": input.saturating_sub(cached).saturating_sub(written), "output_tokens": output,
        "cache_creation_input_tokens": written, "cache_read_input_tokens": cached })
}

fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "end_turn",
        StopReason::Calls => "tool_use",
        StopReason::Length => "max_tokens",
    }
}
