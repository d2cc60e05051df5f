//! What OpenAI's two wires share on the server's side: errors and the list of models.

use serde_json::{Value, json};

pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key")),
        429 => ("requests", json!("rate_limit_exceeded")),
        500.. => ("server_error", Value::Null),
        _ => ("invalid_request_error", Value::Null),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

pub(super) fn models(name: &str) -> Value {
    json!({ "object": "list", "data": [{ "id": name, "object": "model", "created": 0, "owned_by": "checkrein" }] })
}
