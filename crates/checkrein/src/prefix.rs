//! How much of each request the one before it had too, and what moved the rest: from a journal alone. A provider bills what it
//! has seen before at a fraction, as far as the beginning is the same.

use std::sync::Arc;

use checkrein_contract::{Body, Event, Message, SessionChange, canonical_bytes, estimate_message, estimate_text};
use checkrein_session::{Plan, State};
use serde::Serialize;
use serde_json::json;

use crate::HarnessError;
use crate::setup::context_of;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixRow {
    /// Number of its event.
    pub seq: u64,
    /// The turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// It asks for a summary, and so begins like none before.
    pub summary: bool,
    /// Its length: instructions, tools and messages as canonical JSON, bytes.
    pub bytes: u64,
    /// As many of them, from its beginning, the request before had too.
    pub kept_bytes: u64,
    /// Its length in estimated tokens.
    pub tokens: u64,
    /// As many of them, from its beginning, the request before had too.
    pub kept_tokens: u64,
    /// The message, counted from 0, at which it parts from what the request before showed; absent where it only goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_at: Option<usize>,
    /// Events since the request before that say why, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Reason>,
}

/// Why a request does not extend the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The event.
    pub seq: u64,
    /// What it is.
    pub what: &'static str,
}

/// What a request shows, in pieces that are the same or not.
#[derive(Default)]
struct Shown {
    frame: Vec<u8>,
    frame_tokens: u64,
    messages: Vec<(Arc<Message>, u64)>,
}

/// Each request of a session, with what it has in common with the one before. Requests for summaries are held against nothing,
/// and nothing is held against them.
///
/// # Errors
/// [`HarnessError`] where the journal is none, or something else was put away than it says.
pub fn prefixes(events: &[Event]) -> Result<Vec<PrefixRow>, HarnessError> {
    let Some((first, rest)) = events.split_first() else { return Ok(Vec::new()) };
    let mut state = State::open(first)?;
    let context = context_of(state.opened())?;
    let (mut rows, mut because) = (Vec::new(), Vec::new());
    let mut before: Option<Shown> = None;
    for event in rest {
        if let Some(what) = moves(&event.body) {
            because.push(Reason { seq: event.seq, what });
        }
        if let Body::Request { turn, attempt, last, summarises, .. } = &event.body {
            let planned = match summarises {
                Some(_) => state.summary_again(&*context),
                None => Some(state.plan_again(&*context, *last)),
            };
            let Some(plan) = planned else {
                return Err(HarnessError::Task(format!("event {}: nothing is to be summarised here", event.seq)));
            };
            let summary = summarises.is_some();
            let shown = Shown::of(&plan, before.as_ref().filter(|_| !summary));
            let mut row = held_against(&shown, before.as_ref().filter(|_| !summary));
            (row.seq, row.turn, row.attempt, row.summary) = (event.seq, *turn, *attempt, summary);
            if !summary {
                if last.is_some() {
                    because.push(Reason { seq: event.seq, what: "the last request, without tools" });
                }
                let reasons = std::mem::take(&mut because);
                row.because = if row.parts_at.is_some() { reasons } else { Vec::new() };
                before = Some(shown);
            }
            rows.push(row);
        }
        state.apply(event)?;
    }
    Ok(rows)
}

/// What of an event moves the beginning of requests.
fn moves(body: &Body) -> Option<&'static str> {
    match body {
        Body::Trim { .. } => Some("results were left out"),
        Body::Compacted(_) => Some("the beginning was put away"),
        Body::Recomposed(_) => Some("something else is in force"),
        Body::Budget { .. } => Some("a limit was raised"),
        Body::Finished(finished) if matches!(finished.change, Some(SessionChange::SkillLoaded { .. })) => {
            Some("a skill was loaded")
        }
        _ => None,
    }
}

impl Shown {
    /// Bytes of messages that the request before had too are taken from there.
    fn of(plan: &Plan, before: Option<&Self>) -> Self {
        let frame = canonical_bytes(&json!({ "system": plan.request.system, "tools": plan.request.tools }));
        let earlier = |index: usize| before.and_then(|before| before.messages.get(index));
        let messages = plan.request.messages.iter().enumerate().map(|(index, message)| {
            let known = earlier(index).filter(|(earlier, _)| Arc::ptr_eq(earlier, message)).map(|(_, bytes)| *bytes);
            let bytes = known.unwrap_or_else(|| canonical_bytes(message).map_or(0, |bytes| bytes.len() as u64));
            (Arc::clone(message), bytes)
        });
        let messages: Vec<(Arc<Message>, u64)> = messages.collect();
        let said: u64 = messages.iter().map(|(message, _)| estimate_message(message)).sum();
        let frame_tokens = plan.estimate.saturating_sub(said).max(estimate_text(&plan.request.system));
        Self { frame: frame.unwrap_or_default(), frame_tokens, messages }
    }
}

fn held_against(shown: &Shown, before: Option<&Shown>) -> PrefixRow {
    let all: u64 = shown.messages.iter().map(|(_, bytes)| bytes).sum();
    let said: u64 = shown.messages.iter().map(|(message, _)| estimate_message(message)).sum();
    let mut row = PrefixRow {
        seq: 0,
        turn: 0,
        attempt: 0,
        summary: false,
        bytes: shown.frame.len() as u64 + all,
        kept_bytes: 0,
        tokens: shown.frame_tokens.saturating_add(said),
        kept_tokens: 0,
        parts_at: None,
        because: Vec::new(),
    };
    let Some(before) = before else { return row };
    if shown.frame != before.frame {
        row.parts_at = Some(0);
        return row;
    }
    let pairs = shown.messages.iter().zip(&before.messages);
    let same = pairs.take_while(|((now, _), (then, _))| Arc::ptr_eq(now, then) || now == then).count();
    let kept = shown.messages.iter().take(same);
    row.kept_bytes = shown.frame.len() as u64 + kept.clone().map(|(_, bytes)| bytes).sum::<u64>();
    row.kept_tokens = shown.frame_tokens.saturating_add(kept.map(|(message, _)| estimate_message(message)).sum());
    row.parts_at = (same < before.messages.len()).then_some(same);
    row
}
