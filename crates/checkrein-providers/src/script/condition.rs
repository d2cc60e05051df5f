//! Conditions of steps: what a request must show. They look at the messages of the request and at nothing else.

use std::fmt;
use std::sync::Arc;

use checkrein_contract::{Message, ResultPart};

/// What must be visible; every key that is given must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) tool_result: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) user_contains: Option<String>,
}

impl Condition {
    /// Whether these messages show what it wants.
    pub(super) fn holds(&self, messages: &[Arc<Message>]) -> bool {
        self.result_holds(messages) && self.user_holds(messages)
    }

    fn result_holds(&self, messages: &[Arc<Message>]) -> bool {
        if self.tool_result.is_none() && self.contains.is_none() {
            return true;
        }
        newest_results(messages).any(|result| {
            self.tool_result.as_ref().is_none_or(|tool| *tool == result.tool)
                && self.contains.as_ref().is_none_or(|text| result.text.contains(text.as_str()))
        })
    }

    fn user_holds(&self, messages: &[Arc<Message>]) -> bool {
        let Some(wanted) = &self.user_contains else { return true };
        messages.iter().rev().any(|message| match message.as_ref() {
            Message::User { text, .. } => text.contains(wanted.as_str()),
            Message::Assistant { .. } | Message::Tool { .. } => false,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tool_result, &self.contains) {
            (None, None) => {}
            (Some(tool), None) => write!(f, "a result of `{tool}`")?,
            (None, Some(text)) => write!(f, "a result that contains {text:?}")?,
            (Some(tool), Some(text)) => write!(f, "a result of `{tool}` that contains {text:?}")?,
        }
        if let Some(text) = &self.user_contains {
            if self.tool_result.is_some() || self.contains.is_some() {
                f.write_str(" and ")?;
            }
            write!(f, "a user message that contains {text:?}")?;
        }
        Ok(())
    }
}

/// The results that are visible, newest first.
pub(super) fn newest_results(messages: &[Arc<Message>]) -> impl Iterator<Item = &ResultPart> {
    messages.iter().rev().flat_map(|message| {
        match message.as_ref() {
            Message::Tool { results } => results.as_slice(),
            Message::User { .. } | Message::Assistant { .. } => &[],
        }
        .iter()
        .rev()
    })
}

/// What is visible, for messages: each tool once, newest first, with the number of its results.
pub(super) struct Visible<'a>(pub(super) &'a [Arc<Message>]);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts: Vec<(&str, usize, usize)> = Vec::new();
        for result in newest_results(self.0) {
            let failed = usize::from(result.is_error);
            match counts.iter_mut().find(|(tool, ..)| *tool == result.tool) {
                Some((_, count, failures)) => {
                    *count += 1;
                    *failures += failed;
                }
                None => counts.push((&result.tool, 1, failed)),
            }
        }
        if counts.is_empty() {
            return f.write_str("no result is visible");
        }
        f.write_str("visible results: ")?;
        for (index, (tool, count, failures)) in counts.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match (count, failures) {
                (1, 0) => write!(f, "{comma}`{tool}`")?,
                (_, 0) => write!(f, "{comma}`{tool}` ({count})")?,
                (1, _) => write!(f, "{comma}`{tool}` (an error)")?,
                _ => write!(f, "{comma}`{tool}` ({count}, errors: {failures})")?,
            }
        }
        Ok(())
    }
}
