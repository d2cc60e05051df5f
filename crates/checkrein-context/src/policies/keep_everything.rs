//! `keep_everything`: a request shows the whole history. It must not look into the messages, so that its cost is that
//! of copying pointers.

use std::sync::Arc;

use checkrein_contract::{ContextPolicy, Message, Trimmed};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PolicyEntry, read};

pub(super) const ENTRY: PolicyEntry = PolicyEntry { name: "keep_everything", build, example: "{}" };

/// It has no parameters; anything given is a mistake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepEverything {}

fn build(parameters: &Value) -> Result<Box<dyn ContextPolicy>, String> {
    Ok(Box::new(read::<KeepEverything>(parameters)?))
}

impl ContextPolicy for KeepEverything {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn apply(&self, history: &[Arc<Message>]) -> Trimmed {
        Trimmed { messages: history.to_vec(), left_out: Vec::new() }
    }
}
