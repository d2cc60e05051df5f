//! The disk: an event store whose writes go through a pending state. A crash drops what is not synced, or leaves a part of
//! it; what was acknowledged is remembered apart, so that nothing of it can be lost unnoticed.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein::approvals::{self, Word};
use checkrein::contract::{ApprovalState, Body, Digest, Event, SessionId};
use checkrein::gate::Redactor;
use checkrein::journal::{
    EventStore, FoundRow, Head, JournalError, Pruned, Pruning, PublicKey, SessionMeta, SessionRow, SignedHead,
    StoredRow,
};

use crate::plan::{Kind, Op};
use crate::world::{Sabotage, World};

/// The store that processes of the world use.
pub(crate) struct Disk(pub(crate) Arc<World>);

impl Disk {
    fn failed(kind: Kind) -> JournalError {
        let path = PathBuf::from("journal.db");
        match kind {
            Kind::Full => JournalError::Full { path },
            Kind::ReadOnly => JournalError::ReadOnly { path },
            Kind::Locked => JournalError::Busy { path },
            _ => JournalError::Io { doing: "writing", path, reason: "the disk failed".to_owned() },
        }
    }

    fn read_fault(&self) -> Result<(), JournalError> {
        match self.0.meet(Op::Read) {
            None => Ok(()),
            Some(Kind::Io) => Err(Self::failed(Kind::Io)),
            Some(_) => self.0.crash(),
        }
    }

    /// One write: pending first, then synced as far as the fault lets it, then acknowledged.
    fn write(
        &self,
        op: Op,
        session: &SessionId,
        pending: &[Event],
        sync: impl Fn(&[Event]) -> Result<Head, JournalError>,
    ) -> Result<Head, JournalError> {
        let world = &self.0;
        let fault = world.meet(op);
        world.inner().attempted.insert(session.clone(), pending.to_vec());
        match fault {
            None => {}
            Some(Kind::CrashBefore) => world.crash(),
            // A session comes with its first event, or not at all.
            Some(Kind::CrashInside) if op == Op::Create => world.crash(),
            Some(Kind::CrashInside) => {
                let part = world.dice(&format!("inside/{}", pending.first().map_or(0, |event| event.seq)));
                _ = sync(&pending[..{ part }.usize(0..=pending.len().saturating_sub(1))]);
                world.crash()
            }
            Some(Kind::CrashAfter) => {
                _ = sync(pending);
                world.crash()
            }
            Some(Kind::KeptAnyway) => {
                _ = sync(pending);
                return Err(Self::failed(Kind::Io));
            }
            Some(Kind::Rival) => self.rival(),
            Some(kind) => return Err(Self::failed(kind)),
        }
        if world.sabotage == Some(Sabotage::DiskForgets) && pending.len() > 1 {
            // What it says is there is there until the process ends.
            world.acknowledge(session, pending);
            world.crash();
        }
        let head = sync(pending)?;
        world.acknowledge(session, pending);
        Ok(head)
    }

    /// A sub-session begins only when what asked for it is durable: else a crash leaves one that acts for a call which
    /// nobody remembers.
    fn asked_for(&self, first: &[Event]) {
        let Some(Body::Session(opened)) = first.first().map(|event| &event.body) else { return };
        let Some(parent) = &opened.parent else { return };
        let events = self.0.disk.read(&parent.session, 1).unwrap_or_default();
        let proposed = events.iter().any(|event| match &event.body {
            Body::Proposal { calls, .. } => calls.iter().any(|call| call.id == parent.call),
            _ => false,
        });
        if !proposed {
            self.0.violation(format!("a sub-session begins for {}, which its journal does not hold", parent.call));
        }
    }

    /// A person takes a yes back, in another process.
    fn rival(&self) {
        let (world, now) = (&self.0, self.0.now());
        let listed = approvals::list(&world.disk, now).unwrap_or_default();
        let Some(given) = listed.iter().find(|listed| listed.state == ApprovalState::Approved) else { return };
        let (request, word) = (given.request(), Word::Revoke { reason: "on second thought".to_owned() });
        if approvals::answer(&world.disk, &Redactor::default(), request.id.as_str(), None, "rob", &word, now).is_ok() {
            world.mark("people/revokes-meanwhile");
            let events = world.events(&request.session);
            let mut inner = world.inner();
            inner.acknowledged.insert(request.session.clone(), events);
        }
    }
}

impl EventStore for Disk {
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError> {
        self.asked_for(first);
        self.write(Op::Create, session, first, |events| self.0.disk.create(session, meta, events))
    }

    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError> {
        self.write(Op::Append, session, events, |events| self.0.disk.append(session, expected, events))
    }

    fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        self.read_fault()?;
        self.0.disk.head(session)
    }

    fn rows(&self, session: &SessionId, from_seq: u64, limit: usize) -> Result<Vec<StoredRow>, JournalError> {
        self.read_fault()?;
        self.0.disk.rows(session, from_seq, limit)
    }

    fn rows_of_kinds(&self, kinds: &[&str]) -> Result<Vec<FoundRow>, JournalError> {
        self.read_fault()?;
        self.0.disk.rows_of_kinds(kinds)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        self.0.disk.blob(digest)
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.read_fault()?;
        self.0.disk.sessions()
    }

    fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        self.read_fault()?;
        self.0.disk.find(prefix)
    }

    fn signed_head(&self, session: &SessionId) -> Result<Option<SignedHead>, JournalError> {
        self.0.disk.signed_head(session)
    }

    fn keys(&self) -> Result<Vec<PublicKey>, JournalError> {
        self.0.disk.keys()
    }

    fn accept(&self, key: &PublicKey) -> Result<(), JournalError> {
        self.0.disk.accept(key)
    }

    fn prune(&self, sessions: &[SessionId], order: Option<&Pruning>) -> Result<Vec<Pruned>, JournalError> {
        self.0.disk.prune(sessions, order)
    }

    fn check(&self) -> Result<(), JournalError> {
        self.0.disk.check()
    }
}
