//! `keep_everything`: a request shows the whole history. It must not look into the messages, so that its cost is that
//! of copying pointers; but where a model did not take as much, what has to go goes as in `compact`.

use std::sync::Arc;

use checkrein_contract::{ContextPolicy, Message, Trimmed};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PolicyEntry, compact::default_kept, read};
use crate::prune::prune;

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

    fn apply(&self, history: &[Arc<Message>], room: Option<u64>) -> Trimmed {
        match room {
            Some(tokens) => prune(history, tokens, &default_kept()),
            None => Trimmed { messages: history.to_vec(), ..Trimmed::default() },
        }
    }
}
