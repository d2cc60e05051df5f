//! OpenAI Responses, the server's side: `POST /v1/responses`. Nothing is stored: a request brings the whole conversation.

use checkrein_contract::{Lane, ModelRequest, StopReason, ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::frames::Frames;
use super::talk::{Talk, ceiling, list, needed, parsed, texts};
use super::{Asked, Dialect, Route, Speech, SpokenCall, openai};
use crate::wires::{at, put, text_at};

pub(super) struct Responses;

impl Dialect for Responses {
    fn kind(&self) -> &'static str {
        "openai"
    }

    fn base_path(&self) -> &'static str {
        "/v1"
    }

    fn told(&self, base: &str) -> String {
        format!("OPENAI_BASE_URL={base}")
    }

    fn header(&self) -> Option<&'static str> {
        None
    }

    fn route<'p>(&self, path: &'p str, _query: &str) -> Option<Route<'p>> {
        Route::ending(path, &["/v1/responses"])
    }

    fn read(&self, body: &Value, _route: &Route<'_>) -> Result<Asked, String> {
        for stored in ["previous_response_id", "conversation", "prompt"] {
            if !at(body, &format!("/{stored}")).is_null() {
                return Err(format!("{stored}: nothing is stored here; send the whole input"));
            }
        }
        let mut talk = Talk::default();
        let mut system: Vec<String> = at(body, "/instructions").as_str().map(str::to_owned).into_iter().collect();
        if let Some(text) = at(body, "/input").as_str() {
            talk.user(text)?;
        }
        for (n, item) in list(body, "/input").iter().enumerate() {
            read_item(&mut talk, &mut system, item).map_err(|why| format!("input[{n}]: {why}"))?;
        }
        let request = ModelRequest {
            model: needed(body, "model")?,
            system: system.join("\n\n"),
            tools: list(body, "/tools").iter().map(tool).collect::<Result<_, _>>()?,
            messages: talk.finish().map_err(|why| format!("input: {why}"))?,
            tool_choice: if at(body, "/tool_choice") == "none" { ToolChoice::None } else { ToolChoice::Auto },
            max_output_tokens: ceiling(body, "/max_output_tokens")?.unwrap_or(u32::MAX),
            lane: Lane::main(),
            provider: Value::Null,
        };
        Ok(Asked { request, stream: at(body, "/stream") == true, counted: true })
    }

    fn whole(&self, reply: &Speech) -> Value {
        ended(reply)
    }

    fn stream(&self, reply: &Speech, frames: &mut Frames) {
        let mut number = 0_u64;
        let mut next = |kind: &str, mut event: Value| {
            put(&mut event, "type", json!(kind));
            put(&mut event, "sequence_number", json!(number));
            number += 1;
            event
        };
        let begun = response(reply, "in_progress", vec![]);
        frames.head(&next("response.created", json!({ "response": begun })));
        frames.head(&next("response.in_progress", json!({ "response": begun })));
        let mut index = 0;
        if !reply.pieces.is_empty() {
            let (id, whole) = (message_id(reply), part(&reply.text()));
            let place = json!({ "item_id": id, "output_index": index, "content_index": 0 });
            let with = |key: &str, value: Value| {
                let mut event = place.clone();
                put(&mut event, key, value);
                event
            };
            let item = message(reply, "in_progress", vec![]);
            frames.head(&next("response.output_item.added", json!({ "output_index": index, "item": item })));
            frames.head(&next("response.content_part.added", with("part", part(""))));
            for piece in &reply.pieces {
                let mut event = with("delta", json!(piece));
                put(&mut event, "logprobs", json!([]));
                frames.text(&next("response.output_text.delta", event));
            }
            let mut event = with("text", json!(reply.text()));
            put(&mut event, "logprobs", json!([]));
            frames.tail(&next("response.output_text.done", event));
            frames.tail(&next("response.content_part.done", with("part", whole.clone())));
            let item = message(reply, "completed", vec![whole]);
            frames.tail(&next("response.output_item.done", json!({ "output_index": index, "item": item })));
            index += 1;
        }
        for (n, call) in reply.calls.iter().enumerate() {
            let item = |status: &str, arguments: &str| function(reply, n, call, status, arguments);
            let place = json!({ "item_id": function_id(reply, n), "output_index": index });
            let with = |key: &str, text: &str| {
                let mut event = place.clone();
                put(&mut event, key, json!(text));
                event
            };
            let added = json!({ "output_index": index, "item": item("in_progress", "") });
            frames.tail(&next("response.output_item.added", added));
            for piece in call.pieces() {
                frames.tail(&next("response.function_call_arguments.delta", with("delta", piece)));
            }
            let mut event = with("arguments", &call.arguments);
            put(&mut event, "name", json!(call.tool));
            frames.tail(&next("response.function_call_arguments.done", event));
            let done = json!({ "output_index": index, "item": item("completed", &call.arguments) });
            frames.tail(&next("response.output_item.done", done));
            index += 1;
        }
        let kind = if reply.stop == StopReason::Length { "response.incomplete" } else { "response.completed" };
        frames.tail(&next(kind, json!({ "response": ended(reply) })));
    }

    fn error(&self, status: u16, message: &str, _wait_s: Option<u64>) -> Value {
        openai::error(status, message)
    }

    fn models(&self, name: &str) -> Value {
        openai::models(name)
    }
}

fn read_item(talk: &mut Talk, system: &mut Vec<String>, item: &Value) -> Result<(), String> {
    let content = at(item, "/content");
    match (text_at(item, "/type"), text_at(item, "/role")) {
        ("message" | "", "system" | "developer") => system.extend(texts(content)),
        ("message" | "", "user") => texts(content).iter().try_for_each(|text| talk.user(text))?,
        ("message" | "", "assistant") => talk.said(&texts(content).concat())?,
        ("function_call", _) => {
            let args = parsed(text_at(item, "/arguments"));
            talk.call(text_at(item, "/call_id"), text_at(item, "/name"), args)?;
        }
        ("function_call_output", _) => {
            talk.result(text_at(item, "/call_id"), texts(at(item, "/output")).concat(), false)?;
        }
        // Of which a script has none.
        ("reasoning", _) => {}
        (kind, role) => return Err(format!("an item of type `{kind}` and role `{role}` is not understood here")),
    }
    Ok(())
}

fn tool(tool: &Value) -> Result<ToolSpec, String> {
    match text_at(tool, "/type") {
        "function" => Ok(ToolSpec {
            name: needed(tool, "name").map_err(|why| format!("tools: {why}"))?,
            description: text_at(tool, "/description").to_owned(),
            parameters: at(tool, "/parameters").clone(),
        }),
        kind => Err(format!("tools: `{kind}` would run on the server, and here nothing runs")),
    }
}

/// The response at its end.
fn ended(reply: &Speech) -> Value {
    let text = reply.text();
    let text = (!text.is_empty()).then(|| message(reply, "completed", vec![part(&text)]));
    let calls = reply.calls.iter().enumerate().map(|(n, call)| function(reply, n, call, "completed", &call.arguments));
    let output = text.into_iter().chain(calls).collect();
    let length = reply.stop == StopReason::Length;
    let mut all = response(reply, if length { "incomplete" } else { "completed" }, output);
    if length {
        put(&mut all, "incomplete_details", json!({ "reason": "max_output_tokens" }));
    }
    let mut details = json!({ "cached_tokens": reply.usage.cached });
    if reply.usage.written > 0 {
        put(&mut details, "cache_write_tokens", json!(reply.usage.written));
    }
    let counts = json!({
        "input_tokens": reply.usage.input, "input_tokens_details": details,
        "output_tokens": reply.usage.output, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": reply.total(),
    });
    put(&mut all, "usage", counts);
    all
}

fn response(reply: &Speech, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": format!("resp_{}", reply.number), "object": "response", "created_at": 0, "status": status,
        "model": reply.model, "output": output, "error": null, "incomplete_details": null, "instructions": null,
        "metadata": {}, "parallel_tool_calls": true, "previous_response_id": null, "store": false,
        "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": [], "usage": null,
    })
}

fn message_id(reply: &Speech) -> String {
    format!("msg_{}", reply.number)
}

fn message(reply: &Speech, status: &str, content: Vec<Value>) -> Value {
    json!({ "type": "message", "id": message_id(reply), "status": status, "role": "assistant", "content": content })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn function_id(reply: &Speech, n: usize) -> String {
    format!("fc_{}_{}", reply.number, n + 1)
}

fn function(reply: &Speech, n: usize, call: &SpokenCall, status: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": function_id(reply, n), "call_id": call.id, "name": call.tool,
        "arguments": arguments, "status": status })
}
