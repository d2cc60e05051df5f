//! From what the generator writes to the stated subset: one type a field, closed objects, no generator's notes.

use serde_json::{Map, Value};

/// Brings a generated schema into the subset. Optional fields lose their `null` (absent is how a model leaves a field
/// out), objects are closed unless they say otherwise, and `$schema`, titles and number formats go.
pub fn tidy_up(schema: Value) -> Value {
    match schema {
        Value::Object(map) => Value::Object(tidy_object(map)),
        // `true` is the schema of any value.
        Value::Bool(true) => Value::Object(Map::new()),
        other => other,
    }
}

fn tidy_object(mut map: Map<String, Value>) -> Map<String, Value> {
    for key in ["$schema", "title", "format"] {
        // A property may be called `title`; those stand one level down, under `properties`.
        map.remove(key);
    }
    if let Some(inner) = without_null(&map) {
        let kept = map.clone();
        map = inner;
        for key in ["description", "default", "examples"] {
            if let (Some(value), false) = (kept.get(key), map.contains_key(key)) {
                map.insert(key.to_owned(), value.clone());
            }
        }
    }
    if map.get("default") == Some(&Value::Null) {
        map.remove("default");
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = map.get_mut(key) {
            *inner = tidy_up(inner.take());
        }
    }
    if let Some(items @ Value::Bool(true)) = map.get_mut("items") {
        *items = Value::Object(Map::new());
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(branches)) = map.get_mut(key) {
            for branch in branches {
                *branch = tidy_up(branch.take());
            }
        }
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            *property = tidy_up(property.take());
        }
    }
    if map.get("type").and_then(Value::as_str) == Some("object") && !map.contains_key("additionalProperties") {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    map
}

/// The schema of an optional value without its `null`: `{"type": ["string", "null"]}` and `{"anyOf": [S, null]}`.
fn without_null(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    if let Some(Value::Array(types)) = map.get("type") {
        let mut rest: Vec<_> = types.iter().filter(|t| t.as_str() != Some("null")).collect();
        if let (Some(only), true) = (rest.pop(), rest.is_empty()) {
            let mut map = map.clone();
            map.insert("type".to_owned(), only.clone());
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            return Some(map);
        }
    }
    if let Some(Value::Array(branches)) = map.get("anyOf") {
        let null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
        if let ([only], true) =
            (branches.iter().filter(|b| !null(b)).collect::<Vec<_>>().as_slice(), branches.iter().any(|b| null(&b)))
        {
            return only.as_object().cloned();
        }
    }
    None
}
