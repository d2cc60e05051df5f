//! The state of a session: everything that follows from its events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use checkrein_contract::{
    ApprovalId, Budget, CallId, Citation, Code, Digest, Event, Limit, Message, Place, ProposedCall, RuleId, SessionId,
    SessionOpened, Skill, Spend, Stop, Verdict,
};
use checkrein_gate::RecordedApproval;
use serde_json::Value;

use crate::apply::ApplyError;
use crate::batch::{Batch, Slot};
use crate::budget::Reserved;
use crate::history::History;
use crate::remembered::RecordedRule;

/// How often in a row a request is made shorter because the model did not take it.
const MAX_OVERFLOWS: u32 = 2;

/// The state. Made by [`State::open`], changed by [`State::apply`] and by nothing else.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) opened: Arc<SessionOpened>,
    pub(crate) seq: u64,
    pub(crate) last_at: u64,
    pub(crate) phase: Phase,
    pub(crate) turn: u32,
    pub(crate) attempt: u32,
    pub(crate) history: History,
    pub(crate) requested_upto: usize,
    pub(crate) reserved: Option<Reserved>,
    pub(crate) budget: Budget,
    pub(crate) spend: Spend,
    pub(crate) loaded: BTreeSet<String>,
    pub(crate) hidden: BTreeMap<String, Vec<String>>,
    /// Tools that requests only name.
    pub(crate) deferred: BTreeSet<String>,
    pub(crate) approvals: BTreeMap<ApprovalId, RecordedApproval>,
    pub(crate) asked: BTreeMap<CallId, ApprovalId>,
    pub(crate) remembered: BTreeMap<RuleId, RecordedRule>,
    pub(crate) inputs: BTreeMap<CallId, String>,
    pub(crate) failures: BTreeMap<Digest, u32>,
    pub(crate) seen: Arc<BTreeMap<String, Option<Digest>>>,
    pub(crate) tool_runs: BTreeMap<String, u32>,
    pub(crate) citations: Vec<Citation>,
    pub(crate) answer: Option<String>,
    pub(crate) provider: Value,
    pub(crate) malformed: u32,
    pub(crate) rounds: u32,
    pub(crate) delegated: u32,
    pub(crate) trimmed: BTreeSet<CallId>,
    /// The request that is on its way, or is tried again, asks for a summary of so many messages.
    pub(crate) summarising: Option<u64>,
    /// No summary came of what is to be put away next, and why.
    pub(crate) summary_failed: Option<(Code, String)>,
    /// The most that the messages of a request may have, tokens, since the model did not take as much as was shown.
    pub(crate) room: Option<u64>,
    /// How often in a row it did not.
    pub(crate) overflows: u32,
    /// What a person answered to calls that are not shown any more: questions and answers.
    pub(crate) answers: Vec<(String, String)>,
    /// What the rules refused: tools and reasons, each once.
    pub(crate) refusals: Vec<(String, String)>,
    /// Folders that may have instruction files and were not looked into yet.
    pub(crate) folders_due: BTreeSet<String>,
    pub(crate) folders_done: BTreeSet<String>,
    pub(crate) instruction_rounds: u32,
    /// Bytes of instruction files that were shown.
    pub(crate) instructed: u64,
    pub(crate) last: Option<Limit>,
    pub(crate) stop: Option<Stop>,
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// The next thing is a request.
    Ready,
    /// A request was sent, and no reply is recorded.
    Waiting,
    /// Calls are on their way.
    Calls(Batch),
    /// The model answered; checks come next, or the end.
    Answered,
    /// A round of checks is on its way.
    Checking(Batch),
    /// Something ends the session, whatever else would come.
    Ending(Stop),
}

impl State {
    /// The state after a session's first event.
    ///
    /// # Errors
    /// [`ApplyError`] when the event is not the beginning of a session.
    pub fn open(event: &Event) -> Result<Self, ApplyError> {
        let checkrein_contract::Body::Session(opened) = &event.body else {
            return Err(ApplyError { seq: event.seq, reason: "a session begins with a `session` event".to_owned() });
        };
        let root = [opened.place.root.trim_end_matches('/').to_owned()];
        let mut history = History::default();
        history.push(Message::User { text: opened.prompt.clone(), harness: false });
        Ok(Self {
            opened: Arc::new((**opened).clone()),
            seq: event.seq,
            last_at: event.at,
            phase: Phase::Ready,
            turn: 0,
            attempt: 0,
            history,
            requested_upto: 0,
            reserved: None,
            budget: opened.budget.clone(),
            spend: Spend::default(),
            loaded: BTreeSet::new(),
            hidden: hidden_by(&opened.skills),
            deferred: opened.deferred.iter().cloned().collect(),
            approvals: BTreeMap::new(),
            asked: BTreeMap::new(),
            remembered: BTreeMap::new(),
            inputs: BTreeMap::new(),
            failures: BTreeMap::new(),
            seen: Arc::default(),
            tool_runs: BTreeMap::new(),
            citations: Vec::new(),
            answer: None,
            provider: Value::Null,
            malformed: 0,
            rounds: 0,
            delegated: 0,
            trimmed: BTreeSet::new(),
            summarising: None,
            summary_failed: None,
            room: None,
            overflows: 0,
            answers: Vec::new(),
            refusals: Vec::new(),
            folders_due: if opened.instructions.is_empty() { BTreeSet::new() } else { root.into() },
            folders_done: BTreeSet::new(),
            instruction_rounds: 0,
            instructed: 0,
            last: None,
            stop: None,
        })
    }

    /// Folds a whole journal.
    ///
    /// # Errors
    /// [`ApplyError`] names the first event that does not follow from those before it.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, ApplyError> {
        let mut events = events.into_iter();
        let Some(first) = events.next() else {
            return Err(ApplyError { seq: 0, reason: "the session has no events".to_owned() });
        };
        let mut state = Self::open(first)?;
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// What the session began with.
    pub fn opened(&self) -> &SessionOpened {
        &self.opened
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.opened.session
    }

    /// Where calls happen.
    pub fn place(&self) -> &Place {
        &self.opened.place
    }

    /// Sequence number of the last event.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Number of the turn that is running or was the last.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Number of the next attempt at the turn's request, from 1.
    pub fn next_attempt(&self) -> u32 {
        self.attempt + 1
    }

    /// Number of the turn that the next request belongs to.
    pub fn next_turn(&self) -> u32 {
        if self.attempt == 0 { self.turn.saturating_add(1) } else { self.turn }
    }

    /// What has been used.
    pub fn spend(&self) -> &Spend {
        &self.spend
    }

    /// Whether a tool is on offer: registered, and named by no skill or by one that is loaded.
    pub fn offers(&self, tool: &str) -> bool {
        match self.hidden.get(tool) {
            None => true,
            Some(skills) => skills.iter().any(|skill| self.loaded.contains(skill)),
        }
    }

    /// Whether requests only name this tool: the model looks it up, and calls it through another one.
    pub fn defers(&self, tool: &str) -> bool {
        self.deferred.contains(tool)
    }

    /// How often in a row a call with this digest was refused or failed.
    pub fn failures(&self, call: &Digest) -> u32 {
        self.failures.get(call).copied().unwrap_or(0)
    }

    /// File versions that were seen, by absolute real path.
    pub fn seen(&self) -> Arc<BTreeMap<String, Option<Digest>>> {
        Arc::clone(&self.seen)
    }

    /// All messages so far, also those that requests do not show any more.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.whole()
    }

    /// Whether the model may be asked again with less, since it did not take as much as was shown.
    pub fn may_show_less(&self) -> bool {
        self.overflows < MAX_OVERFLOWS
    }

    /// The approval that was asked for this call last.
    pub fn approval_for(&self, call: &CallId) -> Option<&RecordedApproval> {
        self.asked.get(call).and_then(|id| self.approvals.get(id))
    }

    /// All approvals, by id.
    pub fn approvals(&self) -> impl Iterator<Item = &RecordedApproval> {
        self.approvals.values()
    }

    /// What a person answered to a call that asked them.
    pub fn input_for(&self, call: &CallId) -> Option<&str> {
        self.inputs.get(call).map(String::as_str)
    }

    /// The call that waits for a person's words, when the session stopped for that.
    pub fn waiting_for_input(&self) -> Option<CallId> {
        let Phase::Calls(batch) = &self.phase else { return None };
        let slot = batch.current().next()?;
        let asks = slot.decided == Some(Verdict::Allow)
            && crate::tools::session_tool(&slot.call.tool).is_some_and(|tool| tool.asks());
        asks.then(|| slot.call.id.clone())
    }

    /// The calls that were started, may not be repeated and have no end, where nobody has said what became of them. Between
    /// two steps of a session there are none, unless a process was lost.
    pub fn unknown_outcomes(&self) -> Vec<ProposedCall> {
        let open = self.open_slots().filter(|slot| slot.is_interrupted() && slot.settled.is_none());
        open.map(|slot| slot.call.clone()).collect()
    }

    /// Whether a call is still on its way, so that an answer to it counts.
    pub fn is_waiting_for(&self, call: &CallId) -> bool {
        self.open_slots().any(|slot| slot.call.id == *call)
    }

    /// Calls on their way that have no end yet.
    pub(crate) fn open_slots(&self) -> impl Iterator<Item = &Slot> {
        let batch = match &self.phase {
            Phase::Calls(batch) | Phase::Checking(batch) => Some(batch),
            Phase::Ready | Phase::Waiting | Phase::Answered | Phase::Ending(_) => None,
        };
        batch.into_iter().flat_map(|batch| &batch.slots).filter(|slot| slot.ended.is_none())
    }

    /// Whether a person may say something to the model now: no call is on its way.
    pub fn takes_words(&self) -> bool {
        !matches!(self.phase, Phase::Calls(_) | Phase::Checking(_))
    }

    /// The stop that was recorded last, while it stands.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// What the provider asked to get back.
    pub fn provider(&self) -> &Value {
        &self.provider
    }

    /// Skills that are loaded.
    pub fn loaded(&self) -> &BTreeSet<String> {
        &self.loaded
    }

    /// Sub-sessions that are over.
    pub fn delegated(&self) -> u32 {
        self.delegated
    }

    /// Rounds of checks so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

/// The tools that skills reveal, each with those that do.
pub(crate) fn hidden_by(skills: &[Skill]) -> BTreeMap<String, Vec<String>> {
    let mut hidden: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for skill in skills {
        for tool in &skill.tools {
            hidden.entry(tool.clone()).or_default().push(skill.name.clone());
        }
    }
    hidden
}
