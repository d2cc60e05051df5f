//! The conversation, and the request that is made of it. Cost does not grow with the session: every message is hashed and
//! weighed once.

use std::sync::Arc;

use checkrein_contract::{
    ContextPolicy, Digest, Limit, Message, ModelRequest, ToolChoice, ToolSpec, TrimmedResult, canonical_bytes,
    digest_json, estimate_message, estimate_spec, estimate_text,
};
use serde_json::json;

use crate::compaction::Digested;
use crate::state::State;

/// A message with what was computed from it once.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) message: Arc<Message>,
    digest: Digest,
    tokens: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// It is shown for ever: words of the person, or instructions.
    Pinned,
    /// It stands for what was put away.
    Note,
}

/// All messages so far: those that requests show, before a context policy leaves results out, and the whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: Vec<Entry>,
    /// Just the messages, as context policies take them.
    messages: Vec<Arc<Message>>,
    whole: Vec<Arc<Message>>,
    pub(crate) digested: Digested,
    tokens: u64,
    /// Running digest of instructions, tools and messages; valid for the frame it was begun with.
    chain: Option<Chain>,
}

#[derive(Clone, Debug)]
struct Chain {
    frame: Digest,
    upto: usize,
    digest: Digest,
}

/// A request, planned from the state alone.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The request.
    pub request: ModelRequest,
    /// Its digest.
    pub digest: Digest,
    /// Digest of the part that the request before it had too.
    pub prefix: Digest,
    /// Digest of instructions, tools and all messages; the next request's prefix, if it only extends this one.
    pub shown: Digest,
    /// Estimated input, tokens.
    pub estimate: u64,
    /// It is the last one, without tools, because of this limit.
    pub last: Option<Limit>,
    /// Results that are newly left out.
    pub trimmed: Vec<TrimmedResult>,
    /// It asks for a summary of the first so many messages that requests show.
    pub summarises: Option<u64>,
}

impl History {
    pub(crate) fn push(&mut self, message: Message) {
        let kind = if matches!(message, Message::User { harness: false, .. }) { Kind::Pinned } else { Kind::Plain };
        let entry = Entry::of(message, kind);
        self.whole.push(Arc::clone(&entry.message));
        self.show(entry);
    }

    /// A message that is shown for ever.
    pub(crate) fn pin(&mut self, message: Message) {
        let entry = Entry::of(message, Kind::Pinned);
        self.whole.push(Arc::clone(&entry.message));
        self.show(entry);
    }

    fn show(&mut self, entry: Entry) {
        self.tokens = self.tokens.saturating_add(entry.tokens);
        self.messages.push(Arc::clone(&entry.message));
        self.entries.push(entry);
    }

    /// What requests show, before a context policy leaves results out.
    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub(crate) fn whole(&self) -> &[Arc<Message>] {
        &self.whole
    }

    /// Whether this one of the messages that requests show stands for others that were put away.
    pub(crate) fn is_note(&self, index: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| entry.kind == Kind::Note)
    }

    /// What would not be shown any more without the first `upto` messages; `None` where no exchange is among them, or one
    /// would be parted.
    pub(crate) fn gone(&self, upto: usize) -> Option<Vec<Arc<Message>>> {
        let parted = self.entries.get(upto).is_some_and(|entry| matches!(*entry.message, Message::Tool { .. }));
        let plain = self.entries.get(..upto)?.iter().filter(|entry| entry.kind == Kind::Plain);
        let gone: Vec<Arc<Message>> = plain.map(|entry| Arc::clone(&entry.message)).collect();
        let exchange = gone.iter().any(|message| matches!(**message, Message::Assistant { .. }));
        (exchange && !parted).then_some(gone)
    }

    /// Puts the first `upto` messages away, but for those that are shown for ever, and says how many stand where they stood.
    pub(crate) fn put_away(&mut self, upto: usize, note: Message) -> usize {
        let rest = self.entries.split_off(upto.min(self.entries.len()));
        let before = std::mem::take(&mut self.entries);
        let same = before.iter().take_while(|entry| entry.kind == Kind::Pinned).count();
        (self.messages, self.tokens, self.chain) = (Vec::new(), 0, None);
        let kept = before.into_iter().filter(|entry| entry.kind == Kind::Pinned);
        for entry in kept.chain([Entry::of(note, Kind::Note)]).chain(rest) {
            self.show(entry);
        }
        same
    }

    /// Digest of the frame and the first `upto` messages as they are, from the running one where possible.
    fn chain(&mut self, frame: &Digest, upto: usize) -> Digest {
        let usable = self.chain.take().filter(|chain| chain.frame == *frame && chain.upto <= upto);
        let mut chain = usable.unwrap_or_else(|| Chain { frame: frame.clone(), upto: 0, digest: frame.clone() });
        for entry in self.entries.get(chain.upto..upto).unwrap_or_default() {
            chain.digest = link(&chain.digest, &entry.digest);
        }
        chain.upto = upto;
        let digest = chain.digest.clone();
        self.chain = Some(chain);
        digest
    }
}

impl Entry {
    fn of(message: Message, kind: Kind) -> Self {
        let digest = digest_of(&message);
        Self { tokens: estimate_message(&message), digest, message: Arc::new(message), kind }
    }
}

pub(crate) fn link(before: &Digest, message: &Digest) -> Digest {
    Digest::of_parts(&[before.as_str().as_bytes(), message.as_str().as_bytes()])
}

impl State {
    /// The tools that requests declare now, in their order: on offer, and not deferred.
    pub fn specs_on_offer(&self) -> Vec<ToolSpec> {
        self.declared().cloned().collect()
    }

    fn declared(&self) -> impl Iterator<Item = &ToolSpec> {
        self.opened.tools.iter().filter(|spec| self.offers(&spec.name) && !self.defers(&spec.name))
    }

    /// Estimated tokens of what every request begins with: instructions and tools.
    pub(crate) fn frame_tokens(&self) -> u64 {
        estimate_text(&self.opened.system).saturating_add(self.declared().map(estimate_spec).sum())
    }

    /// Plans the next request; `now` in milliseconds since 1970 tells whether the time is up.
    pub fn plan(&mut self, policy: &dyn ContextPolicy, now: u64) -> Plan {
        self.plan_with(policy, |state, estimate| state.limit_reached(estimate, now))
    }

    /// Plans the request that a journal says was the next one: as the last, where it says so. Deterministic: the same
    /// events give the same request.
    pub fn plan_again(&mut self, policy: &dyn ContextPolicy, last: Option<Limit>) -> Plan {
        self.plan_with(policy, |_, _| last)
    }

    fn plan_with(&mut self, policy: &dyn ContextPolicy, limit: impl FnOnce(&Self, u64) -> Option<Limit>) -> Plan {
        let trimmed = policy.apply(self.history.messages(), self.room);
        let untouched = trimmed.left_out.is_empty();
        let mut tools = self.specs_on_offer();
        // A policy may only replace results in place, so most messages are the ones that were weighed and hashed once.
        let weighed = |(index, message): (usize, &Arc<Message>)| match self.history.entries.get(index) {
            Some(entry) if Arc::ptr_eq(&entry.message, message) => (entry.tokens, entry.digest.clone()),
            _ => (estimate_message(message), digest_of(message)),
        };
        let weights: Vec<(u64, Digest)> =
            if untouched { Vec::new() } else { trimmed.messages.iter().enumerate().map(weighed).collect() };
        let shown_tokens =
            if untouched { self.history.tokens } else { weights.iter().map(|(tokens, _)| *tokens).sum() };
        let mut estimate = shown_tokens.saturating_add(self.frame_tokens());
        let last = limit(self, estimate);
        let mut messages = trimmed.messages;
        if let Some(limit) = last {
            tools = Vec::new();
            let text = last_words(limit);
            estimate = estimate.saturating_add(estimate_text(&text));
            messages.push(Arc::new(Message::User { text, harness: true }));
        }
        let frame = digest_json(&json!({ "system": self.opened.system, "tools": tools, "model": self.opened.model }));
        let (shown, prefix) = if untouched {
            let seen = self.requested_upto.min(self.history.entries.len());
            let prefix = self.history.chain(&frame, seen);
            let upto = self.history.entries.len();
            let mut shown = self.history.chain(&frame, upto);
            if last.is_some() {
                shown = messages.last().map_or(shown.clone(), |note| link(&shown, &digest_of(note)));
            }
            (shown, prefix)
        } else {
            let mut digests: Vec<Digest> = weights.into_iter().map(|(_, digest)| digest).collect();
            digests.extend(messages.get(digests.len()..).unwrap_or_default().iter().map(|message| digest_of(message)));
            let fold =
                |upto: usize| digests.iter().take(upto).fold(frame.clone(), |chain, digest| link(&chain, digest));
            (fold(digests.len()), fold(self.requested_upto))
        };
        let max_output_tokens = self.reply_ceiling(estimate);
        let tool_choice = if last.is_some() { ToolChoice::None } else { ToolChoice::Auto };
        let digest = digest_json(&json!([shown, tool_choice, max_output_tokens]));
        let newly = trimmed.left_out.into_iter().filter(|result| !self.trimmed.contains(&result.call)).collect();
        let request = ModelRequest {
            model: self.opened.model.clone(),
            system: self.opened.system.clone(),
            tools,
            messages,
            tool_choice,
            max_output_tokens,
            lane: self.opened.lane(),
            provider: self.provider.clone(),
        };
        Plan { request, digest, prefix, shown, estimate, last, trimmed: newly, summarises: None }
    }
}

pub(crate) fn digest_of(message: &Message) -> Digest {
    Digest::of(&canonical_bytes(message).unwrap_or_default())
}

/// What the model reads with its last request.
fn last_words(limit: Limit) -> String {
    format!(
        "[harness] The budget for {limit} is spent, so this is the last request and no tool can be called any more. Give \
         your final answer from what you know, and say what is missing. This was decided by the harness, not by you."
    )
}
