//! Gemini, the server's side: `POST /v1beta/models/NAME:generateContent`, and `:streamGenerateContent?alt=sse`.
//!
//! Arguments are objects on this wire. What a script sends as anything else ends the reply as `MALFORMED_FUNCTION_CALL`, as it
//! does there.

use checkrein_contract::{Lane, ModelRequest, StopReason, ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::frames::Frames;
use super::talk::{Talk, ceiling, list, needed};
use super::{Asked, Dialect, Route, Speech, SpokenCall};
use crate::wires::{at, put, text_at};

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn kind(&self) -> &'static str {
        "gemini"
    }

    fn base_path(&self) -> &'static str {
        ""
    }

    fn told(&self, base: &str) -> String {
        format!("GOOGLE_GEMINI_BASE_URL={base}")
    }

    fn header(&self) -> Option<&'static str> {
        Some("x-goog-api-key")
    }

    fn route<'p>(&self, path: &'p str, query: &str) -> Option<Route<'p>> {
        let (rest, action) = path.rsplit_once(':')?;
        let stream = match action {
            "generateContent" => Some(false),
            "streamGenerateContent" => query.split('&').any(|pair| pair == "alt=sse").then_some(true),
            _ => return None,
        };
        // Clients in other languages ask for other versions; what is used of them here is the same.
        let (session, model) = ["/v1beta/models/", "/v1/models/"].iter().find_map(|part| rest.rsplit_once(part))?;
        Some(Route { session, model: Some(model), stream })
    }

    fn read(&self, body: &Value, route: &Route<'_>) -> Result<Asked, String> {
        let stream = route.stream.ok_or("streams are of events here: write `:streamGenerateContent?alt=sse`")?;
        let mut talk = Talk::default();
        for (n, content) in list(body, "/contents").iter().enumerate() {
            read_content(&mut talk, content).map_err(|why| format!("contents[{n}]: {why}"))?;
        }
        let mut tools = Vec::new();
        for tool in list(body, "/tools") {
            let functions = list(field(tool, "functionDeclarations"), "");
            if functions.is_empty() {
                return Err("tools: only functions are called here".to_owned());
            }
            for function in functions {
                tools.push(spec(function)?);
            }
        }
        let system = list(field(body, "systemInstruction"), "/parts");
        let system: Vec<&str> = system.iter().map(|part| text_at(part, "/text")).collect();
        let calling = field(field(body, "toolConfig"), "functionCallingConfig");
        let most = field(field(body, "generationConfig"), "maxOutputTokens");
        let request = ModelRequest {
            model: route.model.unwrap_or_default().to_owned(),
            system: system.join("\n\n"),
            tools,
            messages: talk.finish().map_err(|why| format!("contents: {why}"))?,
            tool_choice: if text_at(calling, "/mode") == "NONE" { ToolChoice::None } else { ToolChoice::Auto },
            max_output_tokens: ceiling(most, "")?.unwrap_or(u32::MAX),
            lane: Lane::main(),
            provider: Value::Null,
        };
        Ok(Asked { request, stream, counted: true })
    }

    fn whole(&self, reply: &Speech) -> Value {
        let text = reply.text();
        let text = (!text.is_empty()).then(|| json!({ "text": text }));
        let calls = calls(reply);
        let parts = text.into_iter().chain(calls.clone().unwrap_or_default()).collect();
        chunk(reply, parts, Some(reason(reply, calls.is_some())))
    }

    fn stream(&self, reply: &Speech, frames: &mut Frames) {
        for piece in &reply.pieces {
            frames.text(&chunk(reply, vec![json!({ "text": piece })], None));
        }
        let calls = calls(reply);
        for part in calls.iter().flatten() {
            frames.tail(&chunk(reply, vec![part.clone()], None));
        }
        frames.tail(&chunk(reply, vec![json!({ "text": "" })], Some(reason(reply, calls.is_some()))));
    }

    fn error(&self, status: u16, message: &str, wait_s: Option<u64>) -> Value {
        let word = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "FAILED_PRECONDITION",
        };
        let mut error = json!({ "code": status, "message": message, "status": word });
        if let Some(seconds) = wait_s {
            let info =
                json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") });
            put(&mut error, "details", json!([info]));
        }
        json!({ "error": error })
    }

    fn models(&self, name: &str) -> Value {
        let ways = ["generateContent"];
        json!({ "models": [{ "name": format!("models/{name}"), "displayName": name, "supportedGenerationMethods": ways }] })
    }
}

/// A field of an object. This vendor takes two spellings of every name, and its own client for Python sends both.
fn field<'v>(object: &'v Value, name: &str) -> &'v Value {
    let spell = |c: char| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.to_string() };
    let other: String = name.chars().map(spell).collect();
    object.get(name).or_else(|| object.get(&other)).unwrap_or(&Value::Null)
}

fn read_content(talk: &mut Talk, content: &Value) -> Result<(), String> {
    let model = match text_at(content, "/role") {
        "model" => true,
        "user" | "function" | "" => false,
        role => return Err(format!("role: `{role}` is none; write `user` or `model`")),
    };
    for part in list(content, "/parts") {
        let text = at(part, "/text").as_str();
        let (call, result) = (field(part, "functionCall"), field(part, "functionResponse"));
        if call.is_object() {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            talk.call(text_at(call, "/id"), text_at(call, "/name"), args)?;
        } else if result.is_object() {
            let (text, is_error) = told(at(result, "/response"));
            talk.result_of(text_at(result, "/name"), text_at(result, "/id"), text, is_error)?;
        } else if at(part, "/thought") == true {
            // Of which a script has none.
        } else if model {
            talk.said(text.unwrap_or_default())?;
        } else {
            // A part that is no text is named by what it is.
            let kind = part.as_object().and_then(|part| part.keys().next()).map(|key| format!("[{key}]"));
            talk.user(text.unwrap_or(&kind.unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// The text of a result, and whether it is an error. On this wire it is an object: of its own making, or with the text in a
/// field that clients have agreed on.
fn told(response: &Value) -> (String, bool) {
    let field = |key: &str| {
        let only = response.as_object().is_some_and(|object| object.len() == 1);
        response.get(key).filter(|_| only).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    match field("error") {
        Some(text) => (text, true),
        None => (field("output").or_else(|| field("result")).unwrap_or_else(|| response.to_string()), false),
    }
}

fn spec(function: &Value) -> Result<ToolSpec, String> {
    let schema = Some(field(function, "parametersJsonSchema")).filter(|schema| !schema.is_null());
    let schema = schema.or_else(|| function.get("parameters"));
    Ok(ToolSpec {
        name: needed(function, "name").map_err(|why| format!("tools: {why}"))?,
        description: text_at(function, "/description").to_owned(),
        parameters: schema.cloned().unwrap_or_default(),
    })
}

/// The calls; `None` where one has arguments that are no object.
fn calls(reply: &Speech) -> Option<Vec<Value>> {
    let part = |call: &SpokenCall| {
        let mut part = json!({ "functionCall": { "name": call.tool, "args": call.value() } });
        if let Some(inner) = part.get_mut("functionCall").filter(|_| !call.id.is_empty()) {
            put(inner, "id", json!(call.id));
        }
        call.value().is_object().then_some(part)
    };
    reply.calls.iter().map(part).collect()
}

fn reason(reply: &Speech, well_formed: bool) -> &'static str {
    match reply.stop {
        StopReason::Length => "MAX_TOKENS",
        StopReason::End | StopReason::Calls if well_formed => "STOP",
        StopReason::End | StopReason::Calls => "MALFORMED_FUNCTION_CALL",
    }
}

fn chunk(reply: &Speech, parts: Vec<Value>, reason: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(reason) = reason {
        put(&mut candidate, "finishReason", json!(reason));
    }
    let mut counts = json!({ "promptTokenCount": reply.usage.input, "candidatesTokenCount": reply.usage.output,
        "totalTokenCount": reply.total() });
    if reply.usage.cached > 0 {
        put(&mut counts, "cachedContentTokenCount", json!(reply.usage.cached));
    }
    json!({ "candidates": [candidate], "usageMetadata": counts, "modelVersion": reply.model,
        "responseId": format!("resp_{}", reply.number) })
}
