//! A lint for parameters whose validity depends on another: such a tool should be two tools.

use serde_json::Value;

/// A parameter that looks like a switch between two tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeParameter {
    /// The tool's parameter.
    pub parameter: String,
    /// Why it looks like one.
    pub why: String,
}

/// Words in a description that tie one parameter to another.
const TIES: &[&str] = &[
    "only when",
    "only if",
    "required when",
    "required if",
    "ignored unless",
    "ignored when",
    "must not be given with",
];

/// Parameters whose meaning or validity depends on another parameter, as far as a schema shows it.
pub fn mode_parameters(schema: &Value) -> Vec<ModeParameter> {
    let mut found = Vec::new();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return found };
    for (name, property) in properties {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        if let Some(tie) = TIES.iter().find(|tie| description.contains(*tie)) {
            found.push(ModeParameter { parameter: name.clone(), why: format!("its description says `{tie}`") });
        }
        let closed = property.get("enum").and_then(Value::as_array).is_some_and(|values| values.len() > 1);
        if closed && ["mode", "action", "operation", "command", "kind"].contains(&name.as_str()) {
            found.push(ModeParameter { parameter: name.clone(), why: "it chooses between several tools".to_owned() });
        }
    }
    for key in ["oneOf", "anyOf"] {
        if schema.get(key).is_some() {
            found.push(ModeParameter { parameter: String::new(), why: format!("the arguments are a `{key}`") });
        }
    }
    found
}
