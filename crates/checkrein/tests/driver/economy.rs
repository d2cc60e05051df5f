//! What a turn costs in flushes and bytes, counted and not timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use checkrein::contract::{Digest, Event, SessionId, Status};
use checkrein::journal::{
    EventStore, FoundRow, Head, JournalError, Pruned, Pruning, PublicKey, SessionMeta, SessionRow, SignedHead,
    StoredRow,
};
use serde_json::json;

use crate::support::{Reply, Rig, calls, text};

/// Counts appends; each is one flush of the disk.
struct Counting {
    inner: Arc<dyn EventStore>,
    appends: AtomicU32,
}

impl EventStore for Counting {
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.inner.create(session, meta, first)
    }
    fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        self.inner.head(session)
    }
    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError> {
        // Nothing new is nothing to flush.
        if events.is_empty() {
            return self.inner.append(session, expected, events);
        }
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.inner.append(session, expected, events)
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

/// Flushes of a session with so many turns of this call.
async fn flushes(turns: usize, call: &(&str, serde_json::Value)) -> (u32, usize) {
    let mut replies: Vec<Reply> = (0..turns).map(|_| calls(std::slice::from_ref(call))).collect();
    replies.push(text("done"));
    let mut rig = Rig::new(replies);
    std::fs::write(rig.project().join("a.txt"), "hello\n").unwrap();
    let counting = Arc::new(Counting { inner: Arc::clone(&rig.harness.store), appends: AtomicU32::new(0) });
    rig.harness.store = Arc::clone(&counting) as Arc<dyn EventStore>;
    let outcome = rig.drive().await;
    assert_eq!(outcome.status, Status::Completed);
    let rows = counting.rows(&outcome.session, 1, usize::MAX).unwrap();
    (counting.appends.load(Ordering::SeqCst), rows.iter().map(|row| row.body.len() + row.hash.len()).sum())
}

/// A turn whose call changes something is flushed twice (before it starts; before the model sees its result), one whose
/// call only reads once; and a simple turn keeps less than 3 KB.
#[tokio::test]
async fn a_turn_is_flushed_at_most_twice() {
    let note = ("probe", json!({ "what": "note", "word": "a" }));
    let read = ("read", json!({ "file_path": "a.txt" }));
    for (call, per_turn) in [(note, 2), (read, 1)] {
        let (few, few_bytes) = flushes(5, &call).await;
        let (many, many_bytes) = flushes(15, &call).await;
        assert_eq!(many - few, 10 * per_turn, "{call:?}");
        let bytes = (many_bytes - few_bytes) / 10;
        assert!(bytes < 3_000, "{call:?} keeps {bytes} bytes a turn");
    }
}
