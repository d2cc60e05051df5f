//! The subset of JSON Schema that tools may use. Whatever is not in it is refused at registration, never ignored: a
//! keyword that a provider or our validator dropped in silence would be a check that nobody makes.

use serde_json::{Map, Value};
use thiserror::Error;

/// Keywords that mean something here.
pub const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "anyOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "description",
    "default",
    "examples",
];

const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];
/// Deeper schemas are refused; providers refuse them too.
const MAX_DEPTH: usize = 10;

/// One thing in a schema that is outside the subset.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct Unsupported {
    /// Where, as a JSON Pointer into the schema (empty for the top).
    pub path: String,
    /// What.
    pub problem: String,
}

/// Everything in a schema that is outside the subset; empty when it may be used.
pub fn check_subset(schema: &Value, root_must_be_object: bool) -> Vec<Unsupported> {
    let mut problems = Vec::new();
    if root_must_be_object && schema.get("type").and_then(Value::as_str) != Some("object") {
        problems
            .push(Unsupported { path: String::new(), problem: "arguments are an object (`type: object`)".to_owned() });
    }
    walk(schema, "", 0, &mut problems);
    problems
}

fn walk(schema: &Value, path: &str, depth: usize, problems: &mut Vec<Unsupported>) {
    let mut complain = |problem: String| problems.push(Unsupported { path: path.to_owned(), problem });
    let Some(map) = schema.as_object() else {
        return complain("a schema is an object".to_owned());
    };
    if depth > MAX_DEPTH {
        return complain(format!("nested deeper than {MAX_DEPTH}"));
    }
    for key in map.keys().filter(|key| !KEYWORDS.contains(&key.as_str())) {
        complain(format!("the keyword `{key}` is not supported"));
    }
    match map.get("type") {
        None => {}
        Some(Value::String(name)) if TYPES.contains(&name.as_str()) => {}
        Some(other) => complain(format!("`type` is one of {}, not {other}", TYPES.join(", "))),
    }
    check_object(map, &mut complain);
    for key in ["oneOf", "anyOf"] {
        if let Some(value) = map.get(key) {
            match value.as_array() {
                Some(branches) if branches.len() >= 2 => {}
                _ => complain(format!("`{key}` has two branches or more")),
            }
        }
    }
    let mut inner: Vec<(String, &Value)> = Vec::new();
    if let Some(Value::Object(properties)) = map.get("properties") {
        inner.extend(properties.iter().map(|(name, schema)| (format!("{path}/properties/{}", escape(name)), schema)));
    }
    if let Some(items) = map.get("items") {
        inner.push((format!("{path}/items"), items));
    }
    for key in ["oneOf", "anyOf"] {
        for (index, branch) in map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            inner.push((format!("{path}/{key}/{index}"), branch));
        }
    }
    for (path, schema) in inner {
        walk(schema, &path, depth + 1, problems);
    }
}

fn check_object(map: &Map<String, Value>, complain: &mut impl FnMut(String)) {
    if map.get("type").and_then(Value::as_str) == Some("object")
        && !map.get("additionalProperties").is_some_and(Value::is_boolean)
    {
        complain("an object says whether it is open (`additionalProperties: true` or `false`)".to_owned());
    }
    let properties = map.get("properties").and_then(Value::as_object);
    if map.contains_key("properties") && properties.is_none() {
        complain("`properties` is an object".to_owned());
    }
    for name in map.get("required").and_then(Value::as_array).into_iter().flatten() {
        let declared = name.as_str().is_some_and(|name| properties.is_some_and(|p| p.contains_key(name)));
        if !declared {
            complain(format!("`required` names {name}, which is not declared"));
        }
    }
    for key in ["enum", "const"] {
        let values = match map.get(key) {
            Some(Value::Array(values)) if key == "enum" => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        if values.iter().any(|value| value.is_object() || value.is_array()) {
            complain(format!("`{key}` holds only plain values"));
        }
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
