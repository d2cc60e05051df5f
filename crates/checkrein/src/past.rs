//! The recorded past: the calls of sessions with their decisions, judged again by another policy.
//!
//! Only what rules say is compared. What else tightened a decision then (a hook, a guard, a missing sandbox) is left out on
//! both sides.

mod difference;
mod record;
mod suggest;

use std::sync::Arc;

use checkrein_contract::{
    Answer, ApprovalId, Body, CallId, Decision, Event, Facts, Layer, PolicySource, ProposedCall, SessionId,
    SessionOpened,
};
use checkrein_journal::EventStore;
use checkrein_policy::{Policy, decide};
use serde_json::Value;

pub use difference::{Difference, differences};
pub use record::{Recorded, fixtures};
pub use suggest::{Suggested, Suggestion, Unspared, suggest};

use crate::HarnessError;
use crate::setup::load_policy;
use crate::verify::foreseen;

/// A call that was decided.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// Its session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
    /// Number of the event that decided it last.
    pub seq: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments, as the journal has them: without secrets.
    pub args: Value,
    /// The decision as it was recorded.
    pub decision: Decision,
    /// What it rested on.
    pub facts: Facts,
    /// A person said yes to it.
    pub approved: bool,
    /// What was in force when it was decided, by number in [`Past`].
    opened: usize,
}

/// Calls of several sessions, in their order.
#[derive(Clone, Debug, Default)]
pub struct Past {
    opened: Vec<SessionOpened>,
    calls: Vec<PastCall>,
}

impl Past {
    /// Reads sessions. A call that was refused before it could be judged (an unknown tool, say) is none.
    ///
    /// # Errors
    /// [`HarnessError`] for a session that can not be read.
    pub fn read(store: &dyn EventStore, sessions: &[SessionId]) -> Result<Self, HarnessError> {
        let mut past = Self::default();
        for session in sessions {
            past.add(session, store.read(session, 1)?);
        }
        Ok(past)
    }

    /// The same of events that are there already.
    pub fn of(session: &SessionId, events: Vec<Event>) -> Self {
        let mut past = Self::default();
        past.add(session, events);
        past
    }

    fn add(&mut self, session: &SessionId, events: Vec<Event>) {
        let number = self.opened.len();
        let mut proposed: Vec<ProposedCall> = Vec::new();
        let mut asked: Vec<(ApprovalId, CallId)> = Vec::new();
        for event in events {
            match event.body {
                Body::Session(opened) => self.opened.push(*opened),
                // What is decided from here on is decided under other rules, or in another place.
                Body::Recomposed(change) => self.then(number, |opened| opened.recompose(&change)),
                Body::Remembered(yes) => self.then(number, |opened| opened.remember(&yes)),
                Body::Forgotten { rule, policy_digest, .. } => {
                    self.then(number, |opened| opened.forget(&rule, &policy_digest));
                }
                Body::Proposal { calls, .. } => proposed.extend(calls),
                Body::Check(round) | Body::Instructions(round) => proposed.extend(round.calls),
                Body::Hook(note) => {
                    if let Some(call) = proposed.iter_mut().find(|call| call.id == note.call) {
                        call.args = note.new;
                    }
                }
                Body::Decision { call, tool, decision, facts, .. } if !decision.trace.is_empty() => {
                    let args = proposed.iter().find(|known| known.id == call).map(|known| known.args.clone());
                    let known = self.calls.iter_mut().find(|known| known.opened >= number && known.call == call);
                    match known {
                        // Judged again, after an approval.
                        Some(known) => {
                            (known.decision, known.facts, known.seq) = (decision, facts, event.seq);
                            known.opened = self.opened.len().saturating_sub(1);
                        }
                        None => self.calls.push(PastCall {
                            session: session.clone(),
                            call,
                            seq: event.seq,
                            tool,
                            args: args.unwrap_or_default(),
                            decision,
                            facts,
                            approved: false,
                            opened: self.opened.len().saturating_sub(1),
                        }),
                    }
                }
                Body::Ask(request) => asked.push((request.id, request.call)),
                Body::Approval { id, answer: Answer::Approved { .. } } => {
                    let call = asked.iter().find(|(asked, _)| *asked == id).map(|(_, call)| call);
                    let mut calls = self.calls.iter_mut().filter(|known| known.opened >= number);
                    if let Some(known) = calls.find(|known| Some(&known.call) == call) {
                        known.approved = true;
                    }
                }
                _ => {}
            }
        }
    }

    /// Something else is in force in the session that is read, whose beginning has this number.
    fn then(&mut self, beginning: usize, change: impl FnOnce(&mut SessionOpened)) {
        let Some(mut opened) = self.opened.last().filter(|_| self.opened.len() > beginning).cloned() else { return };
        change(&mut opened);
        self.opened.push(opened);
    }

    /// The calls.
    pub fn calls(&self) -> &[PastCall] {
        &self.calls
    }

    /// What a session began with.
    fn opened(&self, call: &PastCall) -> Option<&SessionOpened> {
        self.opened.get(call.opened)
    }

    /// The decision on each call, had these been the rules of the project; what floor, machine and person said then
    /// stays. `None`: as it was.
    ///
    /// # Errors
    /// [`HarnessError::File`] for a mistake in a policy.
    pub fn judged(&self, own: Option<&PolicySource>) -> Result<Vec<Decision>, HarnessError> {
        self.judged_with(own, None)
    }

    /// The same with one more file of rules.
    pub(crate) fn judged_with(
        &self,
        own: Option<&PolicySource>,
        more: Option<&PolicySource>,
    ) -> Result<Vec<Decision>, HarnessError> {
        let mut policies: Vec<Option<Arc<Policy>>> = vec![None; self.opened.len()];
        let mut decisions = Vec::new();
        for call in &self.calls {
            let (Some(opened), Some(slot)) = (self.opened.get(call.opened), policies.get_mut(call.opened)) else {
                return Err(HarnessError::NotFound(format!("the beginning of session {} is missing", call.session)));
            };
            let policy = match slot {
                Some(policy) => Arc::clone(policy),
                None => {
                    let sources = layers(&opened.policy, own, more);
                    let policy = load_policy(&sources, &opened.place, &opened.identity, &opened.variables)?;
                    Arc::clone(slot.insert(policy))
                }
            };
            decisions.push(decide(&policy, &foreseen(&call.decision.trace), &call.facts));
        }
        Ok(decisions)
    }
}

/// The recorded policies with these rules as those of the project, and one more file.
pub(crate) fn layers(
    recorded: &[PolicySource],
    own: Option<&PolicySource>,
    more: Option<&PolicySource>,
) -> Vec<PolicySource> {
    let mut layers = recorded.to_vec();
    if let Some(own) = own {
        layers.retain(|source| source.layer != Layer::Project);
        layers.push(own.clone());
    }
    layers.extend(more.cloned());
    layers
}
