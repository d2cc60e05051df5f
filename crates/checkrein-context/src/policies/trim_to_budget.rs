//! `trim_to_budget`: the newest tool results that fit, and a placeholder for each older one. It must not drop a
//! message, split a call from its result, or tell a result by anything but its role.
//!
//! It walks the results newest first and keeps each while the estimated tokens of all kept ones stay within the
//! budget; equal is within. At the first that does not fit it stops: everything older is left out, small results too,
//! so that what is visible is always an unbroken end of the history. Placeholders do not count. This is the policy of
//! document 004. Where a model did not take as much, the budget is what is left beside all that is no result, and what does
//! not fit then is put away as in `compact`.

use std::sync::Arc;

use checkrein_contract::{ContextPolicy, Message, ResultPart, Trimmed, TrimmedResult, estimate_message, estimate_text};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PolicyEntry, read};
use crate::prune::{older, wish};

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

    fn apply(&self, history: &[Arc<Message>], room: Option<u64>) -> Trimmed {
        let others = |message: &&Arc<Message>| !matches!(message.as_ref(), Message::Tool { .. });
        let left = room.map_or(u64::MAX, |room| {
            room.saturating_sub(history.iter().filter(others).map(|message| estimate_message(message)).sum())
        });
        let mut walk = Walk { left: Some(left.min(self.tokens)), left_out: Vec::new() };
        let mut messages: Vec<Arc<Message>> = history.iter().rev().map(|message| walk.message(message)).collect();
        messages.reverse();
        walk.left_out.reverse();
        let shown = || messages.iter().map(|message| estimate_message(message)).sum::<u64>();
        let summarise = room.filter(|room| shown() > *room).and_then(|room| wish(&messages, room));
        Trimmed { messages, left_out: walk.left_out, summarise }
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
        Some(ResultPart { text: older(result), ..result.clone() })
    }
}
