//! The journal of a watched session: each call is three events (proposal, decision, end), appended at once.

use std::sync::Arc;

use checkrein_contract::{
    Actor, Body, CallId, Code, Decision, EVENT_VERSION, Event, Facts, Finished, FinishedAs, ProposalKind, ProposedCall,
    SessionId, SessionOpened, Usage, Verdict,
};
use checkrein_gate::Clock;
use checkrein_journal::{EventStore, Head, JournalError, SessionMeta};
use serde_json::Value;

use super::Word;
use super::payload::Asked;
use crate::HarnessError;

/// Events of one call.
const EVENTS: u64 = 3;
/// Tries to append, where calls of one session are asked about at the same time.
const TRIES: usize = 16;

/// A session of the journal, there already or to be made.
pub(super) struct Session {
    store: Arc<dyn EventStore>,
    id: SessionId,
    /// How far it reaches; `None`: it is to be made.
    head: Option<Head>,
    began_ms: Option<u64>,
    opened: SessionOpened,
}

impl Session {
    /// Looks it up.
    pub(super) fn find(store: Arc<dyn EventStore>, opened: SessionOpened) -> Result<Self, HarnessError> {
        let id = opened.session.clone();
        let (head, began_ms) = match store.head(&id) {
            Ok(head) => (Some(head), Some(began(&*store, &id)?)),
            Err(JournalError::NoSession { .. }) => (None, None),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { store, id, head, began_ms, opened })
    }

    /// When it began.
    pub(super) fn began_ms(&self) -> Option<u64> {
        self.began_ms
    }

    /// Records one call. Durable when it returns.
    pub(super) fn record(
        mut self,
        asked: &Asked,
        args: Value,
        decision: &Decision,
        facts: Facts,
        word: &Word,
        clock: &dyn Clock,
    ) -> Result<(), HarnessError> {
        for _ in 0..TRIES {
            let head = match self.head.take() {
                Some(head) => head,
                None => self.made(clock)?,
            };
            let events = self.events(&head, asked, &args, decision, &facts, word, clock.now_ms());
            match self.store.append(&self.id, &head, &events) {
                Ok(_) => return Ok(()),
                Err(JournalError::Conflict { .. }) => self.head = Some(self.store.head(&self.id)?),
                Err(error) => return Err(error.into()),
            }
        }
        Err(HarnessError::busy(&self.id))
    }

    fn made(&self, clock: &dyn Clock) -> Result<Head, HarnessError> {
        let at = clock.now_ms();
        let meta = SessionMeta { created_at: at, task: self.opened.task.clone(), model: self.opened.model.clone() };
        let body = Body::Session(Box::new(self.opened.clone()));
        let first = Event { v: EVENT_VERSION, seq: 1, at, by: Actor::Code, body };
        match self.store.create(&self.id, &meta, std::slice::from_ref(&first)) {
            Ok(head) => Ok(head),
            Err(JournalError::Exists { .. }) => Ok(self.store.head(&self.id)?),
            Err(error) => Err(error.into()),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of three events")]
    fn events(
        &self,
        head: &Head,
        asked: &Asked,
        args: &Value,
        decision: &Decision,
        facts: &Facts,
        word: &Word,
        at: u64,
    ) -> Vec<Event> {
        let turn = u32::try_from((head.seq - 1) / EVENTS + 1).unwrap_or(u32::MAX);
        let call = CallId::new(format!("c{turn}-1"));
        let tool = asked.tool.clone();
        let proposed = ProposedCall {
            id: call.clone(),
            tool: tool.clone(),
            args: args.clone(),
            raw: false,
            parallel: false,
            through: None,
        };
        let proposal = Body::Proposal {
            turn,
            kind: ProposalKind::Calls,
            text: String::new(),
            calls: vec![proposed],
            usage: Usage::default(),
            provider: Value::Null,
            defect: None,
        };
        let decided = Body::Decision {
            call: call.clone(),
            tool: tool.clone(),
            decision: decision.clone(),
            facts: facts.clone(),
            binds: None,
        };
        let (ended, code, text) = match word {
            Word::Deny { reason } => {
                let code = if decision.verdict == Verdict::Ask { Code::DeniedUnattended } else { decision.code };
                (FinishedAs::Refused, Some(code), reason.clone())
            }
            Word::Ask { .. } => (FinishedAs::Left, None, "its person is asked there".to_owned()),
            Word::Allow { .. } | Word::Leave => (FinishedAs::Left, None, "it may run there".to_owned()),
        };
        let finished = Body::Finished(Box::new(Finished::bare(call, tool, ended, code, text)));
        let by = Actor::Hook(self.opened.model.strip_prefix("hook:").unwrap_or(&self.opened.model).to_owned());
        let bodies = [(by, proposal), (Actor::Code, decided), (Actor::Code, finished)];
        let numbered = bodies.into_iter().zip(head.seq + 1..);
        numbered.map(|((by, body), seq)| Event { v: EVENT_VERSION, seq, at, by, body }).collect()
    }
}

/// The time of a session's first event.
fn began(store: &dyn EventStore, id: &SessionId) -> Result<u64, HarnessError> {
    let row = store.rows(id, 1, 1)?.into_iter().next();
    // What was changed since can not be told without it.
    let damaged = || HarnessError::NotFound(format!("the first event of session {id} can not be read"));
    row.and_then(|row| row.at()).ok_or_else(damaged)
}
