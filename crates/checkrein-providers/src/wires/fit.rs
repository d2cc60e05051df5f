//! A tool's schema, as much of it as a wire takes. What has to go is told to the model in the description instead, and
//! reported: our own validator still holds all of it.

use checkrein_contract::ToolSpec;
use serde_json::{Map, Value, json};

/// What a wire takes of JSON Schema.
#[derive(Debug)]
pub(super) struct Accepts {
    /// Keywords that it refuses or ignores.
    pub(super) without: &'static [&'static str],
    /// Keywords that it refuses at the top.
    pub(super) without_at_top: &'static [&'static str],
}

/// A tool as a wire takes it. What its schema says no more goes to `lost`, as `tool: /place: what`.
pub(super) fn fit(tool: &ToolSpec, accepts: &Accepts, lost: &mut Vec<String>) -> ToolSpec {
    let mut own = Vec::new();
    let parameters = walk(&tool.parameters, "", accepts, &mut own);
    let mut description = tool.description.clone();
    if !own.is_empty() {
        description.push_str("\nAlso required of the arguments: ");
        description.push_str(&own.join("; "));
        description.push('.');
    }
    lost.extend(own.into_iter().map(|what| format!("{}: {what}", tool.name)));
    ToolSpec { name: tool.name.clone(), description, parameters }
}

fn walk(schema: &Value, path: &str, accepts: &Accepts, lost: &mut Vec<String>) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in map {
        let top = path.is_empty();
        let refused = accepts.without.contains(&key.as_str()) || top && accepts.without_at_top.contains(&key.as_str());
        match key.as_str() {
            // Notes bind nobody; what is taken for granted is worth a word.
            "examples" if refused => {}
            "default" if refused => {
                let said = map.get("description").and_then(Value::as_str).unwrap_or_default();
                out.insert("description".to_owned(), json!(format!("{said} Default: {value}.").trim_start()));
            }
            "description" if out.contains_key("description") => {}
            // The same thing in another word, where that word is free.
            "const" if refused && !map.contains_key("enum") => _ = out.insert("enum".to_owned(), json!([value])),
            "exclusiveMinimum" if refused && !map.contains_key("minimum") && whole(map, value).is_some() => {
                out.insert("minimum".to_owned(), json!(whole(map, value).map(|n| n.saturating_add(1))));
            }
            "exclusiveMaximum" if refused && !map.contains_key("maximum") && whole(map, value).is_some() => {
                out.insert("maximum".to_owned(), json!(whole(map, value).map(|n| n.saturating_sub(1))));
            }
            "oneOf"
                if accepts.without.contains(&"oneOf")
                    && !map.contains_key("anyOf")
                    && !(top && accepts.without_at_top.contains(&"anyOf")) =>
            {
                // Values that stand for themselves exclude each other anyway.
                if !value.as_array().is_some_and(|all| all.iter().all(|one| one.get("const").is_some())) {
                    lost.push(format!("{}: exactly one of the alternatives fits", place(path)));
                }
                out.insert("anyOf".to_owned(), branches(value, &format!("{path}/oneOf"), accepts, lost));
            }
            _ if refused => lost.push(format!("{}: {key} {value}", place(path))),
            "properties" => {
                let each = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, inner)| (name.clone(), walk(inner, &format!("{path}/{name}"), accepts, lost)));
                out.insert(key.clone(), Value::Object(each.collect()));
            }
            "items" => _ = out.insert(key.clone(), walk(value, &format!("{path}/items"), accepts, lost)),
            "oneOf" | "anyOf" => {
                out.insert(key.clone(), branches(value, &format!("{path}/{key}"), accepts, lost));
            }
            _ => _ = out.insert(key.clone(), value.clone()),
        }
    }
    Value::Object(out)
}

fn branches(value: &Value, path: &str, accepts: &Accepts, lost: &mut Vec<String>) -> Value {
    let each = value.as_array().into_iter().flatten().enumerate();
    Value::Array(each.map(|(n, inner)| walk(inner, &format!("{path}/{n}"), accepts, lost)).collect())
}

/// A bound of a whole number, which can be moved by one.
fn whole(map: &Map<String, Value>, bound: &Value) -> Option<i64> {
    let integer = map.get("type").and_then(Value::as_str) == Some("integer");
    bound.as_i64().filter(|_| integer)
}

fn place(path: &str) -> &str {
    if path.is_empty() { "all" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What would be said in a word that says something else already is told instead.
    #[test]
    fn nothing_is_lost_in_silence() {
        let accepts =
            Accepts { without: &["const", "exclusiveMinimum", "exclusiveMaximum", "oneOf"], without_at_top: &[] };
        let number =
            json!({ "type": "integer", "exclusiveMinimum": 0, "minimum": -5, "exclusiveMaximum": 9, "maximum": 20 });
        let word = json!({ "const": "a", "enum": ["a", "b"] });
        let either = json!({ "anyOf": [{ "type": "string" }], "oneOf": [{ "minLength": 1 }] });
        let parameters = json!({ "type": "object", "properties": { "n": number, "w": word, "e": either } });
        let tool = ToolSpec { name: "t".to_owned(), description: "Does.".to_owned(), parameters };
        let mut lost = Vec::new();
        let fitted = fit(&tool, &accepts, &mut lost);
        let kept = json!({ "n": { "type": "integer", "minimum": -5, "maximum": 20 }, "w": { "enum": ["a", "b"] },
            "e": { "anyOf": [{ "type": "string" }] } });
        assert_eq!(fitted.parameters["properties"], kept);
        assert_eq!(
            lost,
            [
                "t: /e: oneOf [{\"minLength\":1}]",
                "t: /n: exclusiveMaximum 9",
                "t: /n: exclusiveMinimum 0",
                "t: /w: const \"a\"",
            ]
        );
        assert!(fitted.description.contains("/w: const"), "{}", fitted.description);
    }
}
