//! The store in one SQLite file: write-ahead log, flushed at every commit, shared by any number of processes.
//!
//! It never repairs, replaces or begins a file anew at a path where one was: what can not be read is an error that names
//! the file. It does not know what events mean.

mod commit;
mod fault;
mod prune;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use checkrein_contract::{Digest, Event, SessionId};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use self::commit::{Job, Onto, Queue};
use self::fault::Failure;
use crate::chain::seal;
use crate::key::{self, Signer};
use crate::signed::PublicKey;
use crate::store::{AMBIGUOUS_SHOWN_MAX, PROPOSAL, RESUMED, STOP, resolve, status_of};
use crate::verify::{ChainFault, ChainProblem};
use crate::{
    EventStore, FoundRow, Head, JournalError, Pruned, Pruning, SessionMeta, SessionRow, SignedHead, StoredRow, file,
};

const HEAD: &str = "SELECT seq, hash FROM events WHERE session = ?1 ORDER BY seq DESC LIMIT 1";
const KNOWN: &str = "SELECT 1 FROM sessions WHERE session = ?1";
const ADD_SESSION: &str = "INSERT INTO sessions (session, created_at, task, model) VALUES (?1, ?2, ?3, ?4)";
const ADD_EVENT: &str = "INSERT INTO events (session, seq, kind, hash, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const ADD_BLOB: &str = "INSERT INTO blobs (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const BLOB: &str = "SELECT bytes FROM blobs WHERE digest = ?1";
const ROWS: &str = "SELECT seq, kind, hash, body FROM events WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";
const SIGN: &str = "INSERT INTO heads (session, seq, hash, at, key, signature) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at, \
    key = excluded.key, signature = excluded.signature";
const SIGNED: &str = "SELECT seq, hash, at, key, signature FROM heads WHERE session = ?1";
const ROWS_WITH_PAYLOADS: &str = "SELECT seq, kind, hash, body, session FROM events WHERE instr(body, '\"$blob\"') > 0";
const ROWS_OF_KINDS: &str = "SELECT e.seq, e.kind, e.hash, e.body, e.session, b.hash \
    FROM events AS e JOIN sessions AS s ON s.session = e.session \
    LEFT JOIN events AS b ON b.session = e.session AND b.seq = e.seq - 1 \
    WHERE e.kind IN (SELECT value FROM json_each(?1)) ORDER BY s.ordinal, e.seq";
const SESSIONS: &str = "SELECT s.session, s.created_at, s.task, s.model, \
    (SELECT seq FROM events WHERE session = s.session ORDER BY seq DESC LIMIT 1), \
    (SELECT hash FROM events WHERE session = s.session ORDER BY seq DESC LIMIT 1), \
    (SELECT count(*) FROM events WHERE kind = ?1 AND session = s.session), \
    (SELECT max(seq) FROM events WHERE kind = ?2 AND session = s.session), \
    (SELECT max(seq) FROM events WHERE kind = ?3 AND session = s.session), \
    (SELECT body FROM events WHERE kind = ?3 AND session = s.session ORDER BY seq DESC LIMIT 1) \
    FROM sessions AS s ORDER BY s.ordinal DESC";
const FIND: &str = "SELECT session FROM sessions WHERE substr(session, 1, length(?1)) = ?1 \
    ORDER BY session = ?1 DESC, ordinal DESC LIMIT ?2";

/// An event store in one SQLite file.
///
/// The file and those beside it (`-wal`, `-shm`, and the signing key) can be read and written by their owner alone. An
/// append costs one flush of the disk; now and then one more, when the write-ahead log is carried over into the file.
/// Threads that append at the same time share one.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    state: Mutex<State>,
    queue: Queue,
    signer: OnceLock<Signer>,
    /// The hash that this handle signed last of each session it wrote to.
    ours: Mutex<BTreeMap<SessionId, Digest>>,
}

#[derive(Debug)]
struct State {
    connection: Connection,
    /// What was found wrong with the file. Once set, nothing is written any more.
    damage: Option<String>,
}

impl SqliteStore {
    /// Opens the journal at this path, or begins one there if there is no file, with its folder. Cheap: it looks at the
    /// file's header and not at its events.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`], [`JournalError::Foreign`] or [`JournalError::Newer`] for a file that can not be taken as
    /// it is; it is left untouched. Otherwise what keeps the store from reading or writing.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let path = std::path::absolute(path).map_err(|error| file::error(error, path, "finding"))?;
        file::ensure(&path, |draft| schema::begin(draft).map_err(|failure| failure.into_error(&path, "beginning")))?;
        let connection = schema::open(&path).map_err(|failure| failure.into_error(&path, "opening"))?;
        // Only now: what turned out to be no journal keeps its permissions too.
        file::tighten(&path)?;
        let state = Mutex::new(State { connection, damage: None });
        Ok(Self { path, state, queue: Queue::default(), signer: OnceLock::new(), ours: Mutex::default() })
    }

    /// The file, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key that signs, made at first use.
    fn signer(&self) -> Result<&Signer, JournalError> {
        match self.signer.get() {
            Some(signer) => Ok(signer),
            None => {
                let signer = Signer::open_or_make(&key::beside(&self.path))?;
                Ok(self.signer.get_or_init(|| signer))
            }
        }
    }

    /// What is written with these events: the head that they end in, signed. Without events there is nothing new to sign.
    fn sign(&self, session: &SessionId, head: &Head, events: &[Event]) -> Result<Option<SignedHead>, JournalError> {
        events.last().map(|last| Ok(self.signer()?.sign(session, head, last.at))).transpose()
    }

    fn reading<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, Failure>) -> Result<T, JournalError> {
        // Whoever panicked left no open transaction: dropping one rolls it back.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.run(&mut state, "reading", work)
    }

    fn writing<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, Failure>) -> Result<T, JournalError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(detail) = &state.damage {
            return Err(JournalError::Corrupt { path: self.path.clone(), detail: detail.clone() });
        }
        self.run(&mut state, "writing", work)
    }

    fn run<T>(
        &self,
        state: &mut State,
        doing: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, JournalError> {
        let error = match work(&mut state.connection) {
            Ok(done) => return Ok(done),
            Err(failure) => failure.into_error(&self.path, doing),
        };
        if let JournalError::Corrupt { detail, .. } = &error {
            state.damage = Some(detail.clone());
            // Closing would carry the write-ahead log over into a file that is to be left as it is. There is nothing to
            // do if this fails as well: the error that is on its way says what matters.
            let _ = state.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        Err(error)
    }
}

impl EventStore for SqliteStore {
    fn create(&self, session: &SessionId, meta: &SessionMeta, first: &[Event]) -> Result<Head, JournalError> {
        let (sealed, head) = seal(session, &Head::genesis(session), first)?;
        let signed = self.sign(session, &head, first)?;
        self.commit(Job { session: session.clone(), onto: Onto::New(meta.clone()), sealed, signed })?;
        Ok(head)
    }

    fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        self.reading(|connection| head(connection, session))
    }

    fn append(&self, session: &SessionId, expected: &Head, events: &[Event]) -> Result<Head, JournalError> {
        // Outside of the transaction: other writers need not wait for the hashing and signing.
        let (sealed, after) = seal(session, expected, events)?;
        let signed = self.sign(session, &after, events)?;
        self.commit(Job { session: session.clone(), onto: Onto::Head(expected.clone()), sealed, signed })?;
        Ok(after)
    }

    fn rows(&self, session: &SessionId, from_seq: u64, limit: usize) -> Result<Vec<StoredRow>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.reading(|connection| {
            let mut statement = connection.prepare_cached(ROWS)?;
            let rows = statement.query_map(params![session.as_str(), integer(from_seq), limit], stored_row)?;
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            if rows.is_empty() && !is_known(connection, session)? {
                return Err(JournalError::NoSession { prefix: session.to_string() }.into());
            }
            Ok(rows)
        })
    }

    fn rows_of_kinds(&self, kinds: &[&str]) -> Result<Vec<FoundRow>, JournalError> {
        let kinds = serde_json::Value::from(kinds).to_string();
        self.reading(|connection| {
            let mut statement = connection.prepare_cached(ROWS_OF_KINDS)?;
            let rows = statement.query_map([kinds], found_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        self.reading(|connection| {
            let mut statement = connection.prepare_cached(BLOB)?;
            Ok(statement.query_row([digest.as_str()], |row| row.get(0)).optional()?)
        })
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.reading(|connection| {
            let mut statement = connection.prepare_cached(SESSIONS)?;
            let rows = statement.query_map([PROPOSAL, RESUMED, STOP], listed)?;
            rows.map(|row| row?.map_err(Failure::from)).collect()
        })
    }

    fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        // One more than is shown would do; a few rows cost nothing.
        let limit = i64::try_from(AMBIGUOUS_SHOWN_MAX).unwrap_or(i64::MAX);
        let fitting = self.reading(|connection| {
            let mut statement = connection.prepare_cached(FIND)?;
            let ids = statement.query_map(params![prefix, limit], |row| Ok(SessionId::new(text(row, 0)?)))?;
            Ok(ids.collect::<Result<Vec<_>, _>>()?)
        })?;
        resolve(prefix, &fitting)
    }

    fn signed_head(&self, session: &SessionId) -> Result<Option<SignedHead>, JournalError> {
        self.reading(|connection| {
            let signed = signed(connection, session)?;
            if signed.is_none() && !is_known(connection, session)? {
                return Err(JournalError::NoSession { prefix: session.to_string() }.into());
            }
            Ok(signed)
        })
    }

    fn keys(&self) -> Result<Vec<PublicKey>, JournalError> {
        let own = match self.signer.get() {
            Some(signer) => Some(signer.public().clone()),
            None => Signer::open(&key::beside(&self.path))?.map(|signer| signer.public().clone()),
        };
        Ok(own.into_iter().chain(key::accepted(&key::beside_accepted(&self.path))?).collect())
    }

    fn accept(&self, key: &PublicKey) -> Result<(), JournalError> {
        key::accept(&key::beside_accepted(&self.path), key)
    }

    fn prune(&self, sessions: &[SessionId], order: Option<&Pruning>) -> Result<Vec<Pruned>, JournalError> {
        self.prune_payloads(sessions, order)
    }

    fn check(&self) -> Result<(), JournalError> {
        self.reading(|connection| {
            let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if found == "ok" { Ok(()) } else { Err(Failure::Corrupt(found)) }
        })
    }
}

fn is_known(connection: &Connection, session: &SessionId) -> Result<bool, Failure> {
    Ok(connection.prepare_cached(KNOWN)?.exists([session.as_str()])?)
}

fn head(connection: &Connection, session: &SessionId) -> Result<Head, Failure> {
    let mut statement = connection.prepare_cached(HEAD)?;
    let last = statement.query_row([session.as_str()], |row| Ok((count(row, 0)?, text(row, 1)?))).optional()?;
    match last {
        Some((seq, hash)) => Ok(head_of(session, seq, &hash)?),
        None if is_known(connection, session)? => Ok(Head::genesis(session)),
        None => Err(JournalError::NoSession { prefix: session.to_string() }.into()),
    }
}

fn head_of(session: &SessionId, seq: u64, hash: &str) -> Result<Head, JournalError> {
    let damaged = || ChainFault { session: session.clone(), seq, problem: ChainProblem::Hash };
    Ok(Head { seq, hash: Digest::parse(hash).ok_or_else(damaged)? })
}

fn signed(connection: &Connection, session: &SessionId) -> Result<Option<SignedHead>, Failure> {
    let mut statement = connection.prepare_cached(SIGNED)?;
    let signed = statement.query_row([session.as_str()], |row| signed_row(session, row)).optional()?;
    signed.transpose().map_err(Failure::from)
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Result<SessionRow, JournalError>> {
    let id = SessionId::new(text(row, 0)?);
    let head = match maybe_count(row, 4)? {
        Some(seq) => head_of(&id, seq, &text(row, 5)?),
        None => Ok(Head::genesis(&id)),
    };
    let stop = maybe_count(row, 8)?;
    let stop_body = if stop.is_some() { text(row, 9)? } else { String::new() };
    let (created_at, task, model) = (count(row, 1)?, text(row, 2)?, text(row, 3)?);
    let status = status_of(stop.map(|seq| (seq, stop_body.as_str())), maybe_count(row, 7)?);
    let steps = count(row, 6)?;
    Ok(head.map(|head| SessionRow { id, created_at, task, model, head, status, steps }))
}

fn stored_row(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    Ok(StoredRow { seq: count(row, 0)?, kind: text(row, 1)?, hash: text(row, 2)?, body: text(row, 3)? })
}

fn signed_row(session: &SessionId, row: &Row<'_>) -> rusqlite::Result<Result<SignedHead, JournalError>> {
    let (seq, hash, at) = (count(row, 0)?, text(row, 1)?, count(row, 2)?);
    let (key, signature) = (PublicKey::new(text(row, 3)?), text(row, 4)?);
    Ok(head_of(session, seq, &hash).map(|head| SignedHead {
        at,
        hash: head.hash,
        key,
        seq,
        session: session.clone(),
        signature,
    }))
}

fn found_row(row: &Row<'_>) -> rusqlite::Result<FoundRow> {
    let before = match row.get_ref(5)? {
        ValueRef::Null => None,
        _ => Some(text(row, 5)?),
    };
    Ok(FoundRow { session: SessionId::new(text(row, 4)?), before, row: stored_row(row)? })
}

/// A text column. Bytes that are no UTF-8 any more are replaced, so that the chain and not the conversion finds them.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(maybe_count(row, column)?.unwrap_or_default())
}

/// A number column. One below 0 was not written by us; 0 is out of place as well, and the chain finds it.
fn maybe_count(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    let number: Option<i64> = row.get(column)?;
    Ok(number.map(|number| u64::try_from(number).unwrap_or_default()))
}

/// SQLite's integers end at 2^63-1; no event number and no time of ours comes near.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows R101: approvals of all sessions are found without reading every event.
    #[test]
    fn kinds_are_found_by_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let plan = store.reading(|connection| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {ROWS_OF_KINDS}"))?;
            let lines = statement.query_map([r#"["ask"]"#], |row| row.get::<_, String>(3))?;
            Ok(lines.collect::<Result<Vec<_>, _>>()?.join("\n"))
        });
        let plan = plan.unwrap();
        assert!(plan.contains("SEARCH e USING INDEX events_by_kind (kind=?)"), "{plan}");
        assert!(plan.contains("SEARCH b USING PRIMARY KEY (session=? AND seq=?)"), "{plan}");
    }
}
