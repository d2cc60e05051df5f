//! Leaving results out, oldest first, until what is shown fits. It must not touch anything but results, nor those that the
//! model has not seen yet while others are there to leave out.
//!
//! The history is walked from its beginning, and at each message the walk does what it would have done had the history
//! ended there. So a longer history changes nothing of what a shorter one showed, but where it passes the limit; and then
//! it goes down to half of it, so that this does not happen at every turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{Message, ResultPart, Summarise, Trimmed, TrimmedResult, estimate_message, estimate_text};

/// Results of these tools are a person's words or instructions, and stay.
pub(crate) const KEPT: &[&str] = &["ask_user", "load_skill"];

/// Least and most that a summary may have, tokens: some sentences, and a few pages.
const SUMMARY_TOKENS: (u64, u64) = (200, 2_000);

/// What a request shows of this history when all its messages may have `tokens` together and results of these tools stay.
pub(crate) fn prune(history: &[Arc<Message>], tokens: u64, kept: &[String]) -> Trimmed {
    let mut walk = Walk { history, kept, shown: 0, fresh: 0, out: BTreeMap::new(), tight: false };
    for index in 0..history.len() {
        walk.step(index, tokens);
    }
    let tight = walk.tight || walk.shown > tokens;
    let (messages, left_out) = walk.replaced();
    let summarise = if tight { wish(&messages, tokens) } else { None };
    Trimmed { messages, left_out, summarise }
}

/// A result, by its message and its place in it.
type At = (usize, usize);

struct Walk<'a> {
    history: &'a [Arc<Message>],
    kept: &'a [String],
    /// Estimated tokens of what is shown of the messages so far.
    shown: u64,
    /// The last reply so far: no result behind it was seen by the model.
    fresh: usize,
    /// What stands in place of a result.
    out: BTreeMap<At, String>,
    /// The last time that results were left out, all that could be were hardly enough.
    tight: bool,
}

impl<'a> Walk<'a> {
    fn step(&mut self, index: usize, tokens: u64) {
        let Some(message) = self.history.get(index) else { return };
        self.shown = self.shown.saturating_add(estimate_message(message));
        if matches!(message.as_ref(), Message::Assistant { .. }) {
            self.fresh = index;
        }
        if self.shown <= tokens {
            return;
        }
        self.collapse(index);
        for (at, result) in self.results(0, self.fresh) {
            if self.shown <= tokens / 2 {
                break;
            }
            self.replace(at, result, older(result));
        }
        for (at, result) in self.results(self.fresh, index + 1) {
            if self.shown <= tokens {
                break;
            }
            self.replace(at, result, too_large(result));
        }
        self.tight = self.shown > tokens / 4 * 3;
    }

    /// Of results that say the same, the newest stays.
    fn collapse(&mut self, index: usize) {
        let mut newest: BTreeMap<(&str, &str), &ResultPart> = BTreeMap::new();
        for (at, result) in self.results(0, index + 1).into_iter().rev() {
            match newest.get(&(result.tool.as_str(), result.text.as_str())) {
                Some(later) if at.0 < self.fresh => self.replace(at, result, again(result, later)),
                _ => _ = newest.insert((&result.tool, &result.text), result),
            }
        }
    }

    /// The results in these messages that are shown and may be left out, oldest first.
    fn results(&self, from: usize, to: usize) -> Vec<(At, &'a ResultPart)> {
        let messages = self.history.get(from..to).unwrap_or_default().iter().enumerate();
        let all = messages.flat_map(|(index, message)| {
            results_of(message).iter().enumerate().map(move |(part, result)| ((from + index, part), result))
        });
        all.filter(|(at, result)| !self.out.contains_key(at) && !self.kept.contains(&result.tool)).collect()
    }

    /// Leaves a result out, where that saves anything.
    fn replace(&mut self, at: At, result: &ResultPart, text: String) {
        if let Some(saved) = estimate_text(&result.text).checked_sub(estimate_text(&text)).filter(|saved| *saved > 0) {
            self.shown = self.shown.saturating_sub(saved);
            self.out.insert(at, text);
        }
    }

    fn replaced(mut self) -> (Vec<Arc<Message>>, Vec<TrimmedResult>) {
        let mut left_out = Vec::with_capacity(self.out.len());
        let mut messages = self.history.to_vec();
        for (index, message) in messages.iter_mut().enumerate() {
            let whole = results_of(message);
            if !self.out.keys().any(|(of, _)| *of == index) {
                continue;
            }
            let shown = whole.iter().enumerate().map(|(part, result)| match self.out.remove(&(index, part)) {
                Some(text) => {
                    let tokens = estimate_text(&result.text);
                    left_out.push(TrimmedResult { call: result.call.clone(), tool: result.tool.clone(), tokens });
                    ResultPart { text, ..result.clone() }
                }
                None => result.clone(),
            });
            *message = Arc::new(Message::Tool { results: shown.collect() });
        }
        (messages, left_out)
    }
}

pub(crate) fn results_of(message: &Message) -> &[ResultPart] {
    match message {
        Message::Tool { results } => results,
        Message::User { .. } | Message::Assistant { .. } => &[],
    }
}

/// What should be put away, so that what is shown goes well below `tokens` again: all but the newest quarter. Nothing where that
/// would hardly help, or would have to be done again soon.
pub(crate) fn wish(shown: &[Arc<Message>], tokens: u64) -> Option<Summarise> {
    let reply = |message: &Arc<Message>| matches!(message.as_ref(), Message::Assistant { .. });
    // The last reply stays with its results, however large.
    let fresh = shown.iter().rposition(reply)?;
    let mut upto = shown.len();
    let mut kept = 0_u64;
    for (index, message) in shown.iter().enumerate().rev() {
        kept = kept.saturating_add(estimate_message(message));
        if kept > tokens / 4 && index < fresh {
            break;
        }
        upto = index;
    }
    while shown.get(upto).is_some_and(|message| matches!(message.as_ref(), Message::Tool { .. })) {
        upto += 1;
    }
    let gone = shown.get(..upto).unwrap_or_default().iter();
    let gain: u64 = gone.filter(|m| !matches!(m.as_ref(), Message::User { .. })).map(|m| estimate_message(m)).sum();
    let ceiling = (tokens / 8).clamp(SUMMARY_TOKENS.0, SUMMARY_TOKENS.1);
    (gain > 0 && gain >= tokens / 8).then_some(Summarise {
        upto,
        within: tokens,
        tokens: u32::try_from(ceiling).unwrap_or(u32::MAX),
    })
}

/// What the model reads in place of a result: enough to know what is missing and how to get it back.
pub(crate) fn older(result: &ResultPart) -> String {
    format!(
        "[result of {} (call {}) left out to save space: {} tokens; call the tool again if it is needed]",
        result.tool,
        result.call,
        estimate_text(&result.text)
    )
}

fn again(result: &ResultPart, later: &ResultPart) -> String {
    format!("[result of {} (call {}): the same as that of call {} below]", result.tool, result.call, later.call)
}

fn too_large(result: &ResultPart) -> String {
    format!(
        "[result of {} (call {}) left out: its {} tokens do not fit; ask for a smaller part of it]",
        result.tool,
        result.call,
        estimate_text(&result.text)
    )
}
