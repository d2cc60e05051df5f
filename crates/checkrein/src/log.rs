//! A session's journal with its state: one event, recorded and applied in one step.

use std::sync::Arc;

use checkrein_contract::{Actor, Body, Budget, EVENT_VERSION, Event, SessionId, SessionOpened};
use checkrein_gate::{Clock, RecordFailure, Recorder, Redactor};
use checkrein_journal::{EventStore, Head, SessionMeta};
use checkrein_session::{State, recover};

use crate::HarnessError;
use crate::observer::Observer;
use crate::secrets;

/// The journal of one session, and the state that follows from it.
pub(crate) struct SessionLog {
    pub(crate) state: State,
    pub(crate) observer: Box<dyn Observer>,
    store: Arc<dyn EventStore>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    redactor: Redactor,
    began_ms: u64,
    /// What is durable.
    head: Head,
    /// What is recorded and not durable yet.
    pending: Vec<Event>,
}

impl SessionLog {
    /// Begins a session: it and its first event are durable when this returns, or there is neither.
    pub(crate) fn begin(
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        mut observer: Box<dyn Observer>,
        opened: SessionOpened,
        redactor: Redactor,
    ) -> Result<Self, HarnessError> {
        secrets::without_secrets(&opened, &redactor)?;
        let (session, at) = (opened.session.clone(), clock.now_ms());
        let meta = SessionMeta { created_at: at, task: opened.task.clone(), model: opened.model.clone() };
        let body = Body::Session(Box::new(opened));
        let event = Event { v: EVENT_VERSION, seq: 1, at, by: Actor::Code, body };
        let state = State::open(&event)?;
        let head = store.create(&session, &meta, std::slice::from_ref(&event))?;
        observer.event(&event);
        Ok(Self { state, observer, store, clock, session, redactor, began_ms: at, head, pending: Vec::new() })
    }

    /// Takes a session up again.
    fn load(
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        observer: Box<dyn Observer>,
        session: SessionId,
        redactor: Redactor,
    ) -> Result<Self, HarnessError> {
        let head = store.head(&session)?;
        let events = store.read(&session, 1)?;
        // Appending nothing asks whether this is what was signed, before anything is done that follows from it.
        store.append(&session, &head, &[])?;
        let state = State::fold(&events)?;
        // What a fresh copy holds was changed by nobody, whenever the session that it was forked from began.
        let fresh = |event: &&Event| matches!(&event.body, Body::Recomposed(change) if change.fresh);
        let began_ms = events.iter().rev().find(fresh).or(events.first()).map_or(0, |event| event.at);
        Ok(Self { state, observer, store, clock, session, redactor, began_ms, head, pending: Vec::new() })
    }

    /// Takes a session up again after another process, with an end for every call of which nobody knows more; under
    /// other limits, where a person set some.
    pub(crate) fn resume(
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        observer: Box<dyn Observer>,
        session: SessionId,
        redactor: Redactor,
        budget: Option<(Actor, Budget)>,
    ) -> Result<Self, HarnessError> {
        let mut log = Self::load(store, clock, observer, session, redactor)?;
        // Before anything else: a session that a limit ended is taken up under a larger one, or not at all.
        if let Some((by, budget)) = budget {
            log.record(by, Body::Budget { budget })?;
        }
        log.record(Actor::Code, Body::Resumed { harness: env!("CARGO_PKG_VERSION").to_owned() })?;
        for end in recover(&log.state) {
            log.record(Actor::Code, Body::Finished(Box::new(end)))?;
        }
        Ok(log)
    }

    /// The store.
    pub(crate) fn store(&self) -> &Arc<dyn EventStore> {
        &self.store
    }

    /// When the session began: the time of its first event, milliseconds since 1970.
    pub(crate) fn began_ms(&self) -> u64 {
        self.began_ms
    }

    /// The durable head.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }
}

impl Recorder for SessionLog {
    fn record(&mut self, by: Actor, body: Body) -> Result<(), RecordFailure> {
        let body = secrets::redacted(body, &self.redactor)?;
        let event = Event { v: EVENT_VERSION, seq: self.state.seq() + 1, at: self.clock.now_ms(), by, body };
        self.state.apply(&event).map_err(|error| RecordFailure { reason: error.to_string() })?;
        self.observer.event(&event);
        self.pending.push(event);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordFailure> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let appended = self.store.append(&self.session, &self.head, &self.pending);
        self.head = appended.map_err(|error| RecordFailure { reason: error.to_string() })?;
        self.pending.clear();
        Ok(())
    }
}
