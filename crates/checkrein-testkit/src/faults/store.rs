//! A journal whose writes fail when the plan says so, and leave nothing behind.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein::journal::{
    EventStore, FoundRow, Head, JournalError, Pruned, Pruning, PublicKey, SessionMeta, SessionRow, SignedHead,
    StoredRow,
};
use checkrein_contract::{Digest, Event, SessionId};

use super::{Armed, Point};

pub(super) struct FaultyStore {
    pub(super) inner: Arc<dyn EventStore>,
    pub(super) faults: Armed,
}

impl FaultyStore {
    /// A write of something; appending nothing only asks whether the head is what it was.
    fn written(&self, events: &[Event]) -> Result<(), JournalError> {
        if !events.is_empty() && self.faults.strikes(&Point::Write) {
            return Err(JournalError::Full { path: PathBuf::from("journal.db") });
        }
        Ok(())
    }
}

impl EventStore for FaultyStore {
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError> {
        self.written(first)?;
        self.inner.create(session, meta, first)
    }

    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError> {
        self.written(events)?;
        self.inner.append(session, expected, events)
    }

    fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        self.inner.head(session)
    }

    fn rows(&self, session: &SessionId, from_seq: u64, limit: usize) -> Result<Vec<StoredRow>, JournalError> {
        self.inner.rows(session, from_seq, limit)
    }

    fn rows_of_kinds(&self, kinds: &[&str]) -> Result<Vec<FoundRow>, JournalError> {
        self.inner.rows_of_kinds(kinds)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        self.inner.blob(digest)
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.inner.sessions()
    }

    fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        self.inner.find(prefix)
    }

    fn signed_head(&self, session: &SessionId) -> Result<Option<SignedHead>, JournalError> {
        self.inner.signed_head(session)
    }

    fn keys(&self) -> Result<Vec<PublicKey>, JournalError> {
        self.inner.keys()
    }

    fn accept(&self, key: &PublicKey) -> Result<(), JournalError> {
        self.inner.accept(key)
    }

    fn prune(&self, sessions: &[SessionId], order: Option<&Pruning>) -> Result<Vec<Pruned>, JournalError> {
        self.inner.prune(sessions, order)
    }

    fn check(&self) -> Result<(), JournalError> {
        self.inner.check()
    }
}
