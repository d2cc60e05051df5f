//! The port of every event store, and the rows it hands out.
//!
//! A store keeps text and digests; what events mean, how they are chained and how payloads are put back is the same for
//! all of them and stands elsewhere. A store must not change or drop a row that it has taken.

use checkrein_contract::{Digest, Event, SessionId, Status};
use serde::{Deserialize, Serialize};

use crate::{Head, JournalError, Pruned, Pruning, PublicKey, SignedHead, read};

/// Event kinds that lists draw on.
pub(crate) const PROPOSAL: &str = "proposal";
pub(crate) const RESUMED: &str = "resumed";
pub(crate) const STOP: &str = "stop";

/// What a list shows of a session before its events are read. Not part of the chain: the first event says it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// Milliseconds since 1970, from the harness's clock.
    pub created_at: u64,
    /// Name of the task.
    pub task: String,
    /// The model, as sessions record it.
    pub model: String,
}

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// Name of the task.
    pub task: String,
    /// The model.
    pub model: String,
    /// How far its chain reaches.
    pub head: Head,
    /// Its last stop, unless it was resumed after that; `None` while it runs, and after a crash.
    pub status: Option<Status>,
    /// Proposals so far.
    pub steps: u64,
}

impl SessionRow {
    /// The status as lists print it: `running` or the word of the stop.
    pub fn status_word(&self) -> &'static str {
        self.status.map_or("running", Status::as_str)
    }
}

/// One event as it is stored, unchecked. For verifying, exporting, and for looking at what is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRow {
    /// Its number.
    pub seq: u64,
    /// Its `type`.
    pub kind: String,
    /// Its hash, 64 hex digits unless somebody changed it.
    pub hash: String,
    /// Canonical JSON, big fields replaced by references.
    pub body: String,
}

impl StoredRow {
    /// When it happened, as its text says: milliseconds since 1970. `None` when the text can not be read.
    pub fn at(&self) -> Option<u64> {
        #[derive(Deserialize)]
        struct Line {
            at: u64,
        }
        serde_json::from_str::<Line>(&self.body).ok().map(|line| line.at)
    }
}

/// A row that was found by its kind, with what it was chained to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// The session.
    pub session: SessionId,
    /// Hash of the row right before it; `None` before the first, or when that row is gone.
    pub before: Option<String>,
    /// The row.
    pub row: StoredRow,
}

/// An event store: the truth about every session.
///
/// Synchronous: an append returns when it is durable, and takes about as long as the disk takes for one flush. All
/// methods may be called from any thread. Handles on one file, in one process or in several, see each other's appends.
///
/// ```
/// use checkrein_contract::{Actor, Body, EVENT_VERSION, Event, SessionId};
/// use checkrein_journal::{EventStore, Head, JournalError, MemoryStore, SessionMeta};
///
/// fn note(store: &dyn EventStore, session: &SessionId, text: &str) -> Result<Head, JournalError> {
///     let head = store.head(session)?;
///     let body = Body::Input { call: None, text: text.to_owned() };
///     let event = Event { v: EVENT_VERSION, seq: head.seq + 1, at: 0, by: Actor::Person("sam".into()), body };
///     store.append(session, &head, &[event])
/// }
///
/// let store = MemoryStore::default();
/// let session = SessionId::new("s-00000001");
/// store.create(&session, &SessionMeta { created_at: 0, task: "words".into(), model: "parrot".into() }, &[])?;
/// let first = note(&store, &session, "hello")?;
/// assert_eq!(first.seq, 1);
/// assert_eq!(store.read(&session, 1)?.len(), 1);
///
/// note(&store, &session, "again")?;
/// let late = store.append(&session, &first, &[]);
/// assert!(matches!(late, Err(JournalError::Conflict { .. })), "the head has moved");
/// # Ok::<(), JournalError>(())
/// ```
pub trait EventStore: Send + Sync {
    /// Adds a session with its first events, both or neither, and gives its head. Durable when it returns.
    ///
    /// # Errors
    /// [`JournalError::Exists`]; [`JournalError::Gap`] when `seq` does not count from 1; or what keeps the store from
    /// writing. Whatever the error, nothing was added.
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError>;

    /// How far the session's chain reaches; [`Head::genesis`] before any event.
    ///
    /// # Errors
    /// [`JournalError::NoSession`], or what keeps the store from reading.
    fn head(&self, session: &SessionId) -> Result<Head, JournalError>;

    /// Adds events after `expected`, all or none, and gives the new head. Durable when it returns.
    ///
    /// # Errors
    /// [`JournalError::Conflict`] when the head is another one: whoever loses reads again before it goes on.
    /// [`JournalError::Damaged`] when the head is not the one that was signed, or a key signed it that is not known here: what
    /// is appended is signed too, and a signature over a forgery would make it true.
    /// [`JournalError::Gap`] when `seq` does not go on from `expected` one by one. Whatever the error, nothing was added
    /// and the store can be used further, except after [`JournalError::Corrupt`], which every later write repeats.
    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError>;

    /// At most `limit` rows from `from_seq` on, in order, unchecked.
    ///
    /// # Errors
    /// [`JournalError::NoSession`], or what keeps the store from reading.
    fn rows(&self, session: &SessionId, from_seq: u64, limit: usize) -> Result<Vec<StoredRow>, JournalError>;

    /// Unchecked rows of these kinds over all sessions, oldest session first. Served by an index.
    ///
    /// # Errors
    /// What keeps the store from reading.
    fn rows_of_kinds(&self, kinds: &[&str]) -> Result<Vec<FoundRow>, JournalError>;

    /// The bytes of a payload, unchecked; `None` when there is none.
    ///
    /// # Errors
    /// What keeps the store from reading.
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError>;

    /// All sessions, the one that was created last first (by order of creation, whatever the clock said).
    ///
    /// # Errors
    /// What keeps the store from reading.
    fn sessions(&self) -> Result<Vec<SessionRow>, JournalError>;

    /// The one session whose id is this, or else begins like this.
    ///
    /// # Errors
    /// [`JournalError::NoSession`] (also for an empty prefix), [`JournalError::Ambiguous`].
    fn find(&self, prefix: &str) -> Result<SessionId, JournalError>;

    /// The session's newest signed head, unchecked: [`verify_chain`](crate::verify_chain) holds it against the chain. A store
    /// on disk signs with every append, in the same flush. `None` for a session that was last written by a version that
    /// signed nothing, and from a store that keeps nothing.
    ///
    /// # Errors
    /// [`JournalError::NoSession`], or what keeps the store from reading.
    fn signed_head(&self, session: &SessionId) -> Result<Option<SignedHead>, JournalError>;

    /// The keys whose signatures count here: the one that this store signs with, if there is one yet, and those that were
    /// accepted. Nothing is appended to a session that another key signed.
    ///
    /// # Errors
    /// [`JournalError::Key`] when there is a file and no key in it.
    fn keys(&self) -> Result<Vec<PublicKey>, JournalError>;

    /// Accepts the signatures of another key from now on: sessions that it signed were brought here from elsewhere, and a
    /// person knows the key.
    ///
    /// # Errors
    /// What keeps the store from writing.
    fn accept(&self, key: &PublicKey) -> Result<(), JournalError>;

    /// Removes the payloads that only these sessions refer to, and notes it in the chain of each that loses one: all or
    /// nothing. Without an order nothing is removed, and what would be is counted. Takes as long as reading every event.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] when an event can not be read, so that nobody knows what it refers to; otherwise what
    /// keeps the store from writing.
    fn prune(&self, sessions: &[SessionId], order: Option<&Pruning>) -> Result<Vec<Pruned>, JournalError>;

    /// Examines the whole store below the level of events (pages, indexes). Takes as long as reading all of it.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] with what was found.
    fn check(&self) -> Result<(), JournalError>;

    /// The events from `from_seq` on, payloads put back. The chain and every payload's digest are checked on the way, so
    /// nothing that was changed on disk is ever acted on. A whole float comes back as an integer (canonical JSON).
    ///
    /// # Errors
    /// [`JournalError::Damaged`], [`JournalError::Unknown`], [`JournalError::MissingBlob`], [`JournalError::NoSession`].
    fn read(&self, session: &SessionId, from_seq: u64) -> Result<Vec<Event>, JournalError> {
        read::read_events(self, session, from_seq)
    }

    /// The events of these kinds over all sessions, oldest session first, payloads put back. For lists: each event is
    /// checked against the one right before it, not all the way to the first, as [`EventStore::read`] does.
    ///
    /// # Errors
    /// As [`EventStore::read`]; the error names the session and the event.
    fn by_kind(&self, kinds: &[&str]) -> Result<Vec<(SessionId, Event)>, JournalError> {
        read::read_kinds(self, kinds)
    }
}

/// Resolves a prefix against the sessions that fit it, newest first.
pub(crate) fn resolve(prefix: &str, fitting: &[SessionId]) -> Result<SessionId, JournalError> {
    let exact = fitting.iter().find(|session| session.as_str() == prefix);
    match (exact, fitting) {
        _ if prefix.is_empty() => Err(JournalError::NoSession { prefix: String::new() }),
        (Some(session), _) | (None, [session]) => Ok(session.clone()),
        (None, []) => Err(JournalError::NoSession { prefix: prefix.to_owned() }),
        (None, several) => Err(JournalError::Ambiguous {
            prefix: prefix.to_owned(),
            found: several.iter().take(AMBIGUOUS_SHOWN_MAX).cloned().collect(),
        }),
    }
}

/// So many sessions an ambiguous prefix names; a person needs a few to see which digit to add.
pub(crate) const AMBIGUOUS_SHOWN_MAX: usize = 5;

/// The status that a list shows: of the last stop, given the numbers of the last stop and the last resumption.
pub(crate) fn status_of(stop: Option<(u64, &str)>, resumed: Option<u64>) -> Option<Status> {
    let (stopped, body) = stop?;
    if resumed.is_some_and(|resumed| resumed > stopped) {
        return None;
    }
    #[derive(Deserialize)]
    struct Line {
        status: Status,
    }
    serde_json::from_str::<Line>(body).ok().map(|line| line.status)
}
