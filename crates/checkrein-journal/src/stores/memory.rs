//! The store that keeps events in memory: for simulations and tests that need no disk.
//!
//! It must not be offered for real sessions: nothing outlives the handle.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use checkrein_contract::{Digest, Event, SessionId};

use crate::chain::{Sealed, seal};
use crate::prune::{References, note};
use crate::store::{PROPOSAL, RESUMED, STOP, resolve, status_of};
use crate::{
    EventStore, FoundRow, Head, JournalError, Pruned, Pruning, PublicKey, SessionMeta, SessionRow, SignedHead,
    StoredRow,
};

/// An event store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: Vec<Session>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    meta: SessionMeta,
    head: Head,
    rows: Vec<StoredRow>,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked left whole rows: each append changes the state after everything that can fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn session(&self, id: &SessionId) -> Result<&Session, JournalError> {
        let missing = || JournalError::NoSession { prefix: id.to_string() };
        self.sessions.iter().find(|session| session.id == *id).ok_or_else(missing)
    }

    fn add(&mut self, id: &SessionId, sealed: Vec<Sealed>, head: &Head) {
        for taker in self.sessions.iter_mut().filter(|taker| taker.id == *id) {
            taker.head = head.clone();
            taker.rows.extend(sealed.iter().map(|event| event.row.clone()));
        }
        self.blobs.extend(sealed.into_iter().flat_map(|event| event.blobs).map(|b| (b.digest, b.text.into_bytes())));
    }
}

impl Session {
    fn last(&self, kind: &str) -> Option<&StoredRow> {
        self.rows.iter().rfind(|row| row.kind == kind)
    }

    fn listed(&self) -> SessionRow {
        let steps = self.rows.iter().filter(|row| row.kind == PROPOSAL).count();
        let stop = self.last(STOP).map(|row| (row.seq, row.body.as_str()));
        SessionRow {
            id: self.id.clone(),
            created_at: self.meta.created_at,
            task: self.meta.task.clone(),
            model: self.meta.model.clone(),
            head: self.head.clone(),
            status: status_of(stop, self.last(RESUMED).map(|row| row.seq)),
            steps: u64::try_from(steps).unwrap_or(u64::MAX),
        }
    }
}

impl EventStore for MemoryStore {
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError> {
        let (sealed, head) = seal(session, &Head::genesis(session), first)?;
        let mut state = self.state();
        if state.session(session).is_ok() {
            return Err(JournalError::Exists { session: session.clone() });
        }
        let added = Session { id: session.clone(), meta: meta.clone(), head: Head::genesis(session), rows: Vec::new() };
        state.sessions.push(added);
        state.add(session, sealed, &head);
        Ok(head)
    }

    fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        Ok(self.state().session(session)?.head.clone())
    }

    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError> {
        let (sealed, head) = seal(session, expected, events)?;
        let mut state = self.state();
        let found = state.session(session)?.head.clone();
        if found != *expected {
            return Err(JournalError::Conflict { session: session.clone(), expected: expected.clone(), found });
        }
        state.add(session, sealed, &head);
        Ok(head)
    }

    fn rows(&self, session: &SessionId, from_seq: u64, limit: usize) -> Result<Vec<StoredRow>, JournalError> {
        let state = self.state();
        let rows = &state.session(session)?.rows;
        let before = usize::try_from(from_seq.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(rows.iter().skip(before).take(limit).cloned().collect())
    }

    fn rows_of_kinds(&self, kinds: &[&str]) -> Result<Vec<FoundRow>, JournalError> {
        let state = self.state();
        let found = state.sessions.iter().flat_map(|session| {
            let hashes = session.rows.iter().map(|row| Some(row.hash.clone()));
            let paired = std::iter::once(None).chain(hashes).zip(&session.rows);
            let wanted = paired.filter(|(_, row)| kinds.contains(&row.kind.as_str()));
            wanted.map(|(before, row)| FoundRow { session: session.id.clone(), before, row: row.clone() })
        });
        Ok(found.collect())
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.state().blobs.get(digest).cloned())
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        Ok(self.state().sessions.iter().rev().map(Session::listed).collect())
    }

    fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        let state = self.state();
        let fitting = state.sessions.iter().rev().filter(|session| session.id.as_str().starts_with(prefix));
        resolve(prefix, &fitting.map(|session| session.id.clone()).collect::<Vec<_>>())
    }

    fn signed_head(&self, session: &SessionId) -> Result<Option<SignedHead>, JournalError> {
        // A signature is for those who read later, and nothing here outlives the handle.
        self.state().session(session).map(|_| None)
    }

    fn keys(&self) -> Result<Vec<PublicKey>, JournalError> {
        Ok(Vec::new())
    }

    fn accept(&self, _key: &PublicKey) -> Result<(), JournalError> {
        Ok(())
    }

    fn prune(&self, sessions: &[SessionId], order: Option<&Pruning>) -> Result<Vec<Pruned>, JournalError> {
        let mut state = self.state();
        let mut references = References::of(sessions);
        for session in &state.sessions {
            for row in &session.rows {
                references.see(session.id.clone(), row)?;
            }
        }
        let bytes = |digest: &Digest| state.blobs.get(digest).and_then(|bytes| u64::try_from(bytes.len()).ok());
        let (losses, doomed) = references.losses(|digest| Ok::<_, JournalError>(bytes(digest)))?;
        let Some(order) = order else { return Ok(losses) };
        for loss in &losses {
            let before = state.session(&loss.session)?.head.clone();
            let (sealed, after) = seal(&loss.session, &before, &[note(&before, loss, order)])?;
            state.add(&loss.session, sealed, &after);
        }
        state.blobs.retain(|digest, _| !doomed.contains(digest));
        Ok(losses)
    }

    fn check(&self) -> Result<(), JournalError> {
        Ok(())
    }
}
