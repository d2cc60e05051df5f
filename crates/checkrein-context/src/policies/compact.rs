//! `compact`: the whole conversation while it fits; then results are left out, and only where that is not enough the beginning
//! is put away behind a summary. It must not touch a person's words, part a call from its result, or act at every turn.
//!
//! When all messages have more than `tokens` together, results are left out, oldest first, until they have half of it; of
//! results that say the same the newest stays. Where everything that can be left out brings it to no less than three
//! quarters, the session is asked to put away all but the newest quarter. After either, as much has to be said again before
//! the next time as was won, so that a provider's cache is lost once in a long while and not at each request.

use std::sync::Arc;

use checkrein_contract::{ContextPolicy, Message, Trimmed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PolicyEntry, read};
use crate::prune::{KEPT, prune};

pub(super) const ENTRY: PolicyEntry =
    PolicyEntry { name: "compact", build, example: r#"{"keep":["load_skill"],"tokens":300}"# };

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compact {
    /// Estimated tokens that all messages of a request may have together.
    tokens: u64,
    /// Tools whose results are never left out; without it those of [`KEPT`].
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<Vec<String>>,
}

fn build(parameters: &Value) -> Result<Box<dyn ContextPolicy>, String> {
    Ok(Box::new(read::<Compact>(parameters)?))
}

impl ContextPolicy for Compact {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn apply(&self, history: &[Arc<Message>], room: Option<u64>) -> Trimmed {
        let kept = self.keep.clone().unwrap_or_else(default_kept);
        prune(history, room.unwrap_or(u64::MAX).min(self.tokens), &kept)
    }
}

/// The tools whose results stay unless somebody says otherwise.
pub(super) fn default_kept() -> Vec<String> {
    KEPT.iter().map(|tool| (*tool).to_owned()).collect()
}
