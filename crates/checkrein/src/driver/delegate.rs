//! A sub-session: begun, found, or taken up. Its journal is its own, and it is found by its name, which follows from the call
//! that asked for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    Actor, Body, Budget, Call, Digest, Lane, Parent, Provider, SessionChange, SessionId, SessionOpened, ToolSpec,
    without_remembered,
};
use checkrein_gate::{Recorder, Registry};
use checkrein_journal::{EventStore, Head, JournalError};
use checkrein_policy::Policy;
use checkrein_session::State;
use checkrein_session::tools::{Access, Delegation, name_deferred, session_tools};
use serde_json::Value;

use super::Session;
use super::narrowing::narrowing;
use crate::HarnessError;
use crate::composition::inherited;
use crate::defaults::INSTRUCTIONS;
use crate::deferral::follows;
use crate::log::SessionLog;
use crate::machine::Held;
use crate::observer::Unobserved;
use crate::setup::{Parts, checker, context_of, load_policy, moved_to, policy_of, reader, session_of};

/// What a sub-session is told besides.
const PART: &str = "\nThis is a part of a larger task. Your answer goes to the session that gave it to you, which sees \
                    nothing else of what you do: say in it what was found or changed, and what was not.";

/// Who answers a sub-session.
pub(crate) fn of(provider: &Arc<dyn Provider>, number: u32) -> Arc<dyn Provider> {
    provider.delegate(number).unwrap_or_else(|| Arc::clone(provider))
}

/// The registry with only these tools on offer, and what the harness checks with.
pub(crate) fn scoped(registry: &Registry, tools: &[ToolSpec]) -> Registry {
    let ours = [checker(), reader()];
    registry.scoped(|name| ours.iter().any(|own| own == name) || tools.iter().any(|tool| tool.name == name))
}

/// What a sub-session begins with.
pub(super) struct Beginning<'a> {
    pub(super) session: SessionId,
    pub(super) call: &'a Call,
    pub(super) delegation: &'a Delegation,
    /// Which of its session's sub-sessions it is, from 1.
    pub(super) number: u32,
    pub(super) budget: Budget,
}

impl Session {
    /// The sub-session of this call as its journal has it, where it was begun.
    pub(super) fn known(&self, call: &Call) -> Result<(SessionId, Option<(Head, State)>), HarnessError> {
        let session = id_of(&self.log.state.opened().session, call);
        let head = match self.log.store().head(&session) {
            Err(JournalError::NoSession { .. }) => return Ok((session, None)),
            head => head?,
        };
        let state = State::fold(&self.log.store().read(&session, 1)?)?;
        let (ours, its) = (&self.log.state.opened().session, state.opened().parent.as_ref());
        if !its.is_some_and(|parent| parent.session == *ours && parent.call == call.id) {
            return Err(HarnessError::Task(format!("the session {session} is none of {ours}")));
        }
        Ok((session, Some((head, state))))
    }

    pub(super) fn begin(&self, beginning: Beginning<'_>) -> Result<Self, HarnessError> {
        let Beginning { session, call, delegation, number, budget } = beginning;
        let state = &self.log.state;
        let parent = state.opened();
        // The model reads this path, so it is called alike in every run.
        let spill = self.spill.below(&format!("task-{number}"));
        let mut variables = parent.variables.clone();
        variables.retain(|(name, _)| name != "spill");
        variables.push(("spill".to_owned(), spill.folder().display().to_string()));
        // A yes that a person wants remembered was given to this session.
        let mut policy = without_remembered(&parent.policy);
        policy.extend(narrowing(delegation));
        let loaded = load_policy(&policy, &parent.place, &parent.identity, &variables)?;
        let (tools, deferred) = self.tools_of(delegation);
        let opened = SessionOpened {
            session: session.clone(),
            parent: Some(Parent {
                session: parent.session.clone(),
                call: call.id.clone(),
                number,
                lane: parent.lane(),
            }),
            forked: None,
            task: format!("{}, of {}", parent.task, parent.session),
            prompt: delegation.prompt.clone(),
            system: format!("{INSTRUCTIONS}{PART}"),
            skills: Vec::new(),
            policy,
            policy_digest: loaded.digest().clone(),
            budget,
            verify: Vec::new(),
            variables,
            tools,
            deferred,
            ..parent.clone()
        };
        let taken = self.machine.take(&self.home, &session)?;
        let (store, clock) = (Arc::clone(self.log.store()), Arc::clone(&self.clock));
        let log = SessionLog::begin(store, clock, Box::new(Unobserved), opened, self.gate.redactor.clone())?;
        self.child(log, loaded, taken)
    }

    pub(super) fn take_up(&self, session: SessionId, opened: &SessionOpened) -> Result<Self, HarnessError> {
        let taken = self.machine.take(&self.home, &session)?;
        let (mut opened, parent) = (opened.clone(), self.log.state.opened());
        let root = &parent.place.root;
        let moved = (opened.place.root != *root).then(|| moved_to(&opened, root, &self.home)).transpose()?;
        moved.iter().for_each(|moved| opened.recompose(moved));
        let change = inherited(&opened, parent)?;
        change.iter().for_each(|change| opened.recompose(change));
        let policy = policy_of(&opened)?;
        let (store, clock) = (Arc::clone(self.log.store()), Arc::clone(&self.clock));
        let redactor = self.gate.redactor.clone();
        let mut log = SessionLog::resume(store, clock, Box::new(Unobserved), session, redactor, None)?;
        for change in moved.into_iter().chain(change) {
            log.record(Actor::Code, Body::Recomposed(Box::new(change)))?;
        }
        self.child(log, policy, taken)
    }

    /// Every lane that there was here and below, with what was handed back last on it.
    pub(super) fn lanes(&mut self) -> Result<BTreeMap<Lane, Value>, HarnessError> {
        let state = &self.log.state;
        let mut lanes = BTreeMap::from([(state.opened().lane(), state.provider().clone())]);
        if state.delegated() > 0 {
            let session = state.opened().session.clone();
            self.log.flush()?;
            below(&**self.log.store(), &session, &mut lanes)?;
        }
        Ok(lanes)
    }

    fn child(&self, log: SessionLog, policy: Arc<Policy>, taken: Held) -> Result<Self, HarnessError> {
        let opened = log.state.opened();
        let context = context_of(opened)?;
        let registry = scoped(&self.gate.registry, &opened.tools);
        let number = opened.parent.as_ref().map_or(1, |parent| parent.number);
        let mut child = session_of(Parts {
            home: self.home.clone(),
            machine: Arc::clone(&self.machine),
            log,
            registry,
            policy,
            hooks: self.gate.hooks.clone(),
            guards: self.gate.guards.clone(),
            sandbox: Arc::clone(&self.gate.sandbox),
            redactor: self.gate.redactor.clone(),
            provider: of(&self.provider, number),
            context,
            clock: Arc::clone(&self.clock),
            taken,
            asker: self.asker.clone(),
            notify: self.notify.clone(),
        });
        child.cancel = self.cancel.clone();
        Ok(child)
    }

    /// What is on offer here, without what only this session can do, and, where nothing may be changed, what is of use
    /// there; and what of it is only named.
    fn tools_of(&self, delegation: &Delegation) -> (Vec<ToolSpec>, Vec<String>) {
        let (state, own) = (&self.log.state, session_tools());
        let looks = |name: &str| self.gate.registry.get(name).is_some_and(|tool| tool.looks());
        let given = |tool: &&ToolSpec| {
            !own.iter().any(|session| session.name() == tool.name)
                && state.offers(&tool.name)
                && (delegation.may == Access::Work || looks(&tool.name))
        };
        let mut tools: Vec<ToolSpec> = state.opened().tools.iter().filter(given).cloned().collect();
        let deferred: Vec<String> =
            tools.iter().map(|tool| tool.name.clone()).filter(|name| state.defers(name)).collect();
        if !deferred.is_empty() {
            tools.extend(state.opened().tools.iter().filter(|tool| follows(&tool.name)).cloned());
            tools.sort_by(|one, other| one.name.cmp(&other.name));
            name_deferred(&mut tools, &[], &deferred);
        }
        (tools, deferred)
    }
}

fn below(store: &dyn EventStore, session: &SessionId, lanes: &mut BTreeMap<Lane, Value>) -> Result<(), HarnessError> {
    for event in store.read(session, 1)? {
        let Body::Finished(finished) = &event.body else { continue };
        let Some(SessionChange::Delegated { session, .. }) = &finished.change else { continue };
        let state = State::fold(&store.read(session, 1)?)?;
        lanes.insert(state.opened().lane(), state.provider().clone());
        if state.delegated() > 0 {
            below(store, session, lanes)?;
        }
    }
    Ok(())
}

/// The same call has the same sub-session, also in another process.
fn id_of(session: &SessionId, call: &Call) -> SessionId {
    let digest = Digest::of(format!("{session}/{}", call.id).as_bytes());
    SessionId::new(format!("s-{}", digest.as_str().get(..8).unwrap_or_default()))
}
