//! parse: arguments as they came. Empty is `{}`; what is not JSON is kept as text and fails readably at *validate*.

use checkrein_contract::{CallId, ProposedCall, RawCall};
use serde_json::{Map, Value};

use crate::redact::{redact_text, redact_value};

/// Turns a call as the wire carried it into one that may be journaled: parsed, and without secrets.
///
/// Whether it may overlap is not known here; the driver asks the registry.
pub fn parse(id: CallId, call: &RawCall) -> ProposedCall {
    let text = call.arguments.trim();
    let (args, raw) = if text.is_empty() {
        (Value::Object(Map::new()), false)
    } else {
        match serde_json::from_str(text) {
            Ok(value) => (redact_value(value), false),
            Err(_) => (Value::String(redact_text(&call.arguments).into_owned()), true),
        }
    };
    ProposedCall { id, tool: redact_text(&call.tool).into_owned(), args, raw, parallel: false, through: None }
}
