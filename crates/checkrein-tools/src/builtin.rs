//! The built-in tools: a new one is one file in the folder, one `mod` line and one entry in the list.

mod bash;
mod edit;
mod glob;
mod grep;
mod instructions;
mod read;
mod todo;
mod verify;
mod web_fetch;
mod write;

use std::sync::Arc;

use checkrein_gate::{AnyTool, Tool, Typed};
use checkrein_policy::Models;
use serde_json::Value;

/// Every built-in tool with arguments that are valid for it. `models` say what programs do; `secrets` are the names that
/// a command line may name.
pub fn with_examples(models: &Models, secrets: &[String]) -> Vec<(Arc<dyn AnyTool>, Vec<Value>)> {
    vec![
        entry(bash::Bash { models: models.clone(), secrets: secrets.to_vec() }),
        entry(edit::Edit),
        entry(glob::Glob),
        entry(grep::Grep),
        entry(read::Read),
        entry(todo::Todo),
        entry(web_fetch::WebFetch),
        entry(write::Write),
    ]
}

/// Every built-in tool; `models` and `secrets` as for [`with_examples`].
pub fn builtin(models: &Models, secrets: &[String]) -> Vec<Arc<dyn AnyTool>> {
    with_examples(models, secrets).into_iter().map(|(tool, _)| tool).collect()
}

/// The names of the built-in tools, sorted.
pub fn builtin_names() -> Vec<String> {
    let mut names: Vec<_> =
        builtin(Models::built_in(), &[]).iter().map(|tool| tool.definition().name.clone()).collect();
    names.sort_unstable();
    names
}

/// The tool with which the harness itself checks a task's work. No model is ever offered it.
///
/// Its arguments are a [`Check`](checkrein_contract::Check) as JSON.
pub fn verify(models: &Models) -> Arc<dyn AnyTool> {
    Typed::new(verify::Verify { models: models.clone() }).host_only().shared()
}

/// The tool with which the harness itself reads instruction files. No model is ever offered it.
pub fn instructions() -> Arc<dyn AnyTool> {
    Typed::new(instructions::Instructions).host_only().shared()
}

fn entry<T: Tool>(tool: T) -> (Arc<dyn AnyTool>, Vec<Value>) {
    (Typed::new(tool).shared(), T::examples())
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::Map;

    use super::*;

    /// Fills in the defaults of a schema, also inside lists.
    fn filled(schema: &Value, value: &Value) -> Value {
        match value {
            Value::Object(given) => {
                let none = Map::new();
                let properties = schema["properties"].as_object().unwrap_or(&none);
                let mut map = given.clone();
                for (name, property) in properties {
                    match map.get_mut(name) {
                        Some(value) => *value = filled(property, value),
                        None if property.get("default").is_some() => {
                            map.insert(name.clone(), property["default"].clone());
                        }
                        None => {}
                    }
                }
                Value::Object(map)
            }
            Value::Array(items) => items.iter().map(|item| filled(&schema["items"], item)).collect(),
            plain => plain.clone(),
        }
    }

    fn check<T: Tool<Input: Serialize>>() {
        for example in T::examples() {
            let read: T::Input = serde_json::from_value(example.clone()).unwrap();
            let schema = checkrein_gate::input_schema::<T::Input>();
            assert_eq!(serde_json::to_value(read).unwrap(), filled(&schema, &example), "{}", T::NAME);
        }
    }

    /// Shows R37: what the schema says of a default is what happens.
    #[test]
    fn defaults_in_the_schema_are_the_defaults() {
        check::<bash::Bash>();
        check::<edit::Edit>();
        check::<glob::Glob>();
        check::<grep::Grep>();
        check::<read::Read>();
        check::<todo::Todo>();
        check::<verify::Verify>();
        check::<web_fetch::WebFetch>();
        check::<write::Write>();
    }
}
