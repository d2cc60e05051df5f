//! Token estimates, for budgets and context policies where no provider has counted yet.

use crate::{Message, ToolSpec};

/// The larger of the number of words and a quarter of the characters, rounded up; 0 only for an empty text.
///
/// The rule is the one of the harness example our third source document describes. It errs on the high side for prose and
/// on the low side for dense code, by about a third either way.
pub fn estimate_text(text: &str) -> u64 {
    let words = text.split_whitespace().count();
    let quarters = text.chars().count().div_ceil(4);
    u64::try_from(words.max(quarters)).unwrap_or(u64::MAX)
}

/// Tokens of one message: its texts, arguments and names.
pub fn estimate_message(message: &Message) -> u64 {
    match message {
        Message::User { text, .. } => estimate_text(text),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| estimate_text(&call.tool) + estimate_text(&call.args.to_string()));
            estimate_text(text).saturating_add(calls.sum())
        }
        Message::Tool { results } => results.iter().map(|result| estimate_text(&result.text)).sum(),
    }
}

/// Tokens of a reply: its text, and its calls as tool and arguments.
pub fn estimate_reply<'a, A: AsRef<str>>(text: &str, calls: impl IntoIterator<Item = (&'a str, A)>) -> u64 {
    let calls = calls.into_iter().map(|(tool, args)| estimate_text(tool) + estimate_text(args.as_ref()));
    estimate_text(text).saturating_add(calls.sum())
}

/// Tokens of a tool's specification: what it costs in every request.
pub fn estimate_spec(spec: &ToolSpec) -> u64 {
    estimate_text(&spec.name) + estimate_text(&spec.description) + estimate_text(&spec.parameters.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_words_and_quarters() {
        for (text, tokens) in [("", 0), ("a", 1), ("a b c d", 4), ("abcdefgh", 2), ("abcdefghi", 3), ("éééé", 1)] {
            assert_eq!(estimate_text(text), tokens, "{text}");
        }
    }
}
