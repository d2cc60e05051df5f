//! `trim_to_budget`: the newest tool results that fit, and a placeholder for each older one. It must not drop a
//! message, split a call from its result, or tell a result by anything but its role.
//!
//! It walks the results newest first and keeps each while the estimated tokens of all kept ones stay within the
//! budget; equal is within. At the first that does not fit it stops: everything older is left out, small results too,
//! so that what is visible is always an unbroken end of the history. Placeholders do not count. This is the policy of
//! document 004.

use std::sync::Arc;

use checkrein_contract::{ContextPolicy, Message, ResultPart, Trimmed, TrimmedResult, estimate_text};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PolicyEntry, read};

pub(super) const ENTRY: PolicyEntry = PolicyEntry { name: "trim_to_budget", build, example: r#"{"tokens":300}"# };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrimToBudget {
    /// Estimated tokens that the texts of all kept results may have together.
    tokens: u64,
}

fn build(parameters: &Value) -> Result<Box<dyn ContextPolicy>, String> {
    Ok(Box::new(read::<TrimToBudget>(parameters)?))
}

impl ContextPolicy for TrimToBudget {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> Value {
        json!({ "tokens": self.tokens })
    }

    fn apply(&self, history: &[Arc<Message>]) -> Trimmed {
        let mut walk = Walk { left: Some(self.tokens), left_out: Vec::new() };
        let mut messages: Vec<Arc<Message>> = history.iter().rev().map(|message| walk.message(message)).collect();
        messages.reverse();
        walk.left_out.reverse();
        Trimmed { messages, left_out: walk.left_out }
    }
}

/// The walk from the newest result to the oldest.
struct Walk {
    /// Tokens of the budget that are left; `None` since the first result that did not fit.
    left: Option<u64>,
    /// Newest first.
    left_out: Vec<TrimmedResult>,
}

impl Walk {
    fn message(&mut self, message: &Arc<Message>) -> Arc<Message> {
        let Message::Tool { results } = message.as_ref() else { return Arc::clone(message) };
        let before = self.left_out.len();
        let mut shown: Vec<Option<ResultPart>> = results.iter().rev().map(|result| self.result(result)).collect();
        if self.left_out.len() == before {
            return Arc::clone(message);
        }
        shown.reverse();
        let results = results
            .iter()
            .zip(shown)
            .map(|(whole, placeholder)| placeholder.unwrap_or_else(|| whole.clone()))
            .collect();
        Arc::new(Message::Tool { results })
    }

    /// The placeholder of a result that does not fit; `None` for one that is kept.
    fn result(&mut self, result: &ResultPart) -> Option<ResultPart> {
        let tokens = estimate_text(&result.text);
        self.left = self.left.and_then(|left| left.checked_sub(tokens));
        if self.left.is_some() {
            return None;
        }
        self.left_out.push(TrimmedResult { call: result.call.clone(), tool: result.tool.clone(), tokens });
        Some(ResultPart { text: placeholder(result, tokens), ..result.clone() })
    }
}

/// What the model reads in place of a result: enough to know what is missing and how to get it back.
fn placeholder(result: &ResultPart, tokens: u64) -> String {
    format!(
        "[result of {} (call {}) left out to save space: {tokens} tokens; call the tool again if it is needed]",
        result.tool, result.call
    )
}
