//! A session's journal with its state: one event, recorded and applied in one step.

use std::sync::Arc;

use checkrein_contract::{Actor, Body, EVENT_VERSION, Event, SessionId};
use checkrein_gate::{Clock, RecordFailure, Recorder};
use checkrein_journal::{EventStore, Head};
use checkrein_session::State;

use crate::HarnessError;
use crate::observer::Observer;

/// The journal of one session, and the state that follows from it.
pub(crate) struct SessionLog {
    pub(crate) state: State,
    pub(crate) observer: Box<dyn Observer>,
    store: Arc<dyn EventStore>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    /// What is durable.
    head: Head,
    /// What is recorded and not durable yet.
    pending: Vec<Event>,
}

impl SessionLog {
    /// Begins a session: its first event is durable when this returns.
    pub(crate) fn begin(
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        mut observer: Box<dyn Observer>,
        first: Body,
        session: SessionId,
    ) -> Result<Self, HarnessError> {
        let event = Event { v: EVENT_VERSION, seq: 1, at: clock.now_ms(), by: Actor::Code, body: first };
        let state = State::open(&event)?;
        let genesis = store.head(&session)?;
        let head = store.append(&session, &genesis, std::slice::from_ref(&event))?;
        observer.event(&event);
        Ok(Self { state, observer, store, clock, session, head, pending: Vec::new() })
    }

    /// Takes a session up again.
    pub(crate) fn load(
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        observer: Box<dyn Observer>,
        session: SessionId,
    ) -> Result<Self, HarnessError> {
        let head = store.head(&session)?;
        let events = store.read(&session, 1)?;
        let state = State::fold(&events)?;
        Ok(Self { state, observer, store, clock, session, head, pending: Vec::new() })
    }

    /// The durable head.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }
}

impl Recorder for SessionLog {
    fn record(&mut self, by: Actor, body: Body) -> Result<(), RecordFailure> {
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
