//! OpenAI Chat Completions, the server's side: `POST /v1/chat/completions`.

use checkrein_contract::{Lane, ModelRequest, StopReason, ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::frames::Frames;
use super::talk::{Talk, ceiling, list, needed, parsed, texts};
use super::{Asked, Dialect, Route, Speech, SpokenCall, openai};
use crate::wires::{at, number_at, put, text_at};

pub(super) struct Chat;

impl Dialect for Chat {
    fn kind(&self) -> &'static str {
        "compatible"
    }

    fn base_path(&self) -> &'static str {
        "/v1"
    }

    fn told(&self, base: &str) -> String {
        format!("compatible:{base}#NAME")
    }

    fn header(&self) -> Option<&'static str> {
        None
    }

    fn route<'p>(&self, path: &'p str, _query: &str) -> Option<Route<'p>> {
        Route::ending(path, &["/v1/chat/completions"])
    }

    fn read(&self, body: &Value, _route: &Route<'_>) -> Result<Asked, String> {
        if number_at(body, "/n").is_some_and(|n| n != 1) {
            return Err("n: a script has one reply to a request".to_owned());
        }
        let (mut talk, mut system) = (Talk::default(), Vec::new());
        for (n, message) in list(body, "/messages").iter().enumerate() {
            read_message(&mut talk, &mut system, message).map_err(|why| format!("messages.{n}: {why}"))?;
        }
        let most = ceiling(body, "/max_completion_tokens")?.or(ceiling(body, "/max_tokens")?);
        let request = ModelRequest {
            model: needed(body, "model")?,
            system: system.join("\n\n"),
            tools: list(body, "/tools").iter().map(tool).collect::<Result<_, _>>()?,
            messages: talk.finish().map_err(|why| format!("messages: {why}"))?,
            tool_choice: if at(body, "/tool_choice") == "none" { ToolChoice::None } else { ToolChoice::Auto },
            max_output_tokens: most.unwrap_or(u32::MAX),
            lane: Lane::main(),
            provider: Value::Null,
        };
        let counted = at(body, "/stream_options/include_usage") == true;
        Ok(Asked { request, stream: at(body, "/stream") == true, counted })
    }

    fn whole(&self, reply: &Speech) -> Value {
        let text = reply.text();
        let content = if text.is_empty() { Value::Null } else { json!(text) };
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if !reply.calls.is_empty() {
            put(&mut message, "tool_calls", reply.calls.iter().map(|call| part(call, &call.arguments)).collect());
        }
        let mut all = head(reply, "chat.completion");
        let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": reason(reply.stop) });
        put(&mut all, "choices", json!([choice]));
        put(&mut all, "usage", usage(reply));
        all
    }

    fn stream(&self, reply: &Speech, frames: &mut Frames) {
        let chunk = |delta: Value, reason: Value| {
            let mut all = head(reply, "chat.completion.chunk");
            put(&mut all, "choices", json!([{ "index": 0, "delta": delta, "finish_reason": reason }]));
            all
        };
        frames.head(&chunk(json!({ "role": "assistant", "content": "" }), Value::Null));
        for piece in &reply.pieces {
            frames.text(&chunk(json!({ "content": piece }), Value::Null));
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let mut begun = part(call, "");
            put(&mut begun, "index", json!(index));
            frames.tail(&chunk(json!({ "tool_calls": [begun] }), Value::Null));
            for piece in call.pieces() {
                let more = json!({ "index": index, "function": { "arguments": piece } });
                frames.tail(&chunk(json!({ "tool_calls": [more] }), Value::Null));
            }
        }
        frames.tail(&chunk(json!({}), json!(reason(reply.stop))));
        if reply.counted {
            let mut all = head(reply, "chat.completion.chunk");
            put(&mut all, "choices", json!([]));
            put(&mut all, "usage", usage(reply));
            frames.tail(&all);
        }
        frames.word("[DONE]");
    }

    fn error(&self, status: u16, message: &str, _wait_s: Option<u64>) -> Value {
        openai::error(status, message)
    }

    fn models(&self, name: &str) -> Value {
        openai::models(name)
    }
}

fn read_message(talk: &mut Talk, system: &mut Vec<String>, message: &Value) -> Result<(), String> {
    let content = at(message, "/content");
    match text_at(message, "/role") {
        "system" | "developer" => system.extend(texts(content)),
        "user" => texts(content).iter().try_for_each(|text| talk.user(text))?,
        "tool" => talk.result(text_at(message, "/tool_call_id"), texts(content).concat(), false)?,
        "assistant" => {
            talk.said(&texts(content).concat())?;
            for call in list(message, "/tool_calls") {
                let args = parsed(text_at(call, "/function/arguments"));
                talk.call(text_at(call, "/id"), text_at(call, "/function/name"), args)?;
            }
        }
        role => return Err(format!("role: `{role}` is none of system, developer, user, assistant, tool")),
    }
    Ok(())
}

fn tool(tool: &Value) -> Result<ToolSpec, String> {
    let function = tool.get("function").ok_or("tools: only functions are called here")?;
    Ok(ToolSpec {
        name: needed(function, "name").map_err(|why| format!("tools: {why}"))?,
        description: text_at(function, "/description").to_owned(),
        parameters: at(function, "/parameters").clone(),
    })
}

fn head(reply: &Speech, object: &str) -> Value {
    json!({ "id": format!("chatcmpl-{}", reply.number), "object": object, "created": 0, "model": reply.model })
}

fn part(call: &SpokenCall, arguments: &str) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.tool, "arguments": arguments } })
}

fn usage(reply: &Speech) -> Value {
    let mut details = json!({ "cached_tokens": reply.usage.cached });
    if reply.usage.written > 0 {
        put(&mut details, "cache_write_tokens", json!(reply.usage.written));
    }
    json!({ "prompt_tokens": reply.usage.input, "completion_tokens": reply.usage.output, "total_tokens": reply.total(),
        "prompt_tokens_details": details })
}

fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::Calls => "tool_calls",
        StopReason::Length => "length",
    }
}
