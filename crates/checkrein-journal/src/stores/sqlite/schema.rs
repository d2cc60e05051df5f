//! Tables, settings and migrations of the SQLite store.
//!
//! Migrations only go forward. A file of a newer format, or one that is no journal, is refused before anything is written.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault::Failure;
use crate::JournalError;

/// `CKRJ`: says in the file's header that this database is a journal.
const APPLICATION_ID: i64 = 0x434b_524a;

/// A second process waits at most this long for a writer, then says so.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The write-ahead log is cut back to this many bytes once it was carried over.
const LOG_BYTES_MAX: u32 = 16 * 1_024 * 1_024;

/// Statements that stay prepared; more than the store has.
const STATEMENTS: usize = 32;

/// What leads from format N to format N+1, in order. Entries are only ever added.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE sessions (
        ordinal INTEGER PRIMARY KEY,
        session TEXT NOT NULL UNIQUE,
        created_at INTEGER NOT NULL,
        task TEXT NOT NULL,
        model TEXT NOT NULL
    ) STRICT;
    CREATE TABLE events (
        session TEXT NOT NULL REFERENCES sessions (session),
        seq INTEGER NOT NULL CHECK (seq > 0),
        kind TEXT NOT NULL,
        hash TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX events_by_kind ON events (kind, session, seq);
    CREATE TABLE blobs (
        digest TEXT NOT NULL PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TRIGGER events_stay BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TRIGGER events_stand BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TRIGGER blobs_stand BEFORE UPDATE ON blobs
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
",
    "
    CREATE TABLE heads (
        session TEXT NOT NULL PRIMARY KEY REFERENCES sessions (session),
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        at INTEGER NOT NULL,
        key TEXT NOT NULL,
        signature TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER heads_stay BEFORE DELETE ON heads
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TRIGGER heads_go_on BEFORE UPDATE ON heads WHEN NEW.seq <= OLD.seq OR NEW.session <> OLD.session
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
",
];

/// Begins a journal in an empty file and closes it again.
pub(super) fn begin(draft: &Path) -> Result<(), Failure> {
    let mut connection = connect(draft)?;
    // Whoever gives the draft its name flushes it first; flushing every step of it would take that long many times.
    connection.pragma_update(None, "synchronous", "OFF")?;
    // Not in a write-ahead log yet: closing would carry that over into the file and say nothing if the disk is full,
    // and a draft that is named without its log is no journal. So every write is one whose failure is heard.
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate(&mut connection, draft, MIGRATIONS)?;
    log_ahead(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Opens a journal that is there, and brings it to the newest format.
pub(super) fn open(path: &Path) -> Result<Connection, Failure> {
    let mut connection = connect(path)?;
    // Until the file turns out to be a sound journal, closing it must not carry a write-ahead log over into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if number(&connection, "application_id")? != APPLICATION_ID {
        return Err(JournalError::Foreign { path: path.to_owned() }.into());
    }
    log_ahead(&connection)?;
    migrate(&mut connection, path, MIGRATIONS)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, Failure> {
    // Without the flag that creates: a file that is gone by now is not begun anew here.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A kept statement is not planned anew for each value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Temporary files would hold events where nobody looks after their permissions.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    Ok(connection)
}

fn log_ahead(connection: &Connection) -> Result<(), Failure> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    match mode.as_str() {
        "wal" => Ok(()),
        other => Err(Failure::Corrupt(format!("it has no write-ahead log but `{other}`"))),
    }
}

fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), Failure> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let found = number(connection, "user_version")?;
    if found > known {
        return Err(JournalError::Newer { path: path.to_owned(), found, known }.into());
    }
    if found == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again, now that no other process can be at it.
    let done = usize::try_from(number(&transaction, "user_version")?).unwrap_or_default();
    for step in migrations.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

fn number(connection: &Connection, pragma: &str) -> Result<i64, Failure> {
    Ok(connection.pragma_query_value(None, pragma, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> i64 {
        number(connection, "user_version").ok().unwrap()
    }

    /// Shows R167: each commit is flushed, which no kill test can show, since a killed process leaves its writes behind.
    #[test]
    fn every_commit_is_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        std::fs::write(&path, "").unwrap();
        begin(&path).ok().unwrap();
        let connection = open(&path).ok().unwrap();
        const FULL: i64 = 2;
        assert_eq!(number(&connection, "synchronous").ok(), Some(FULL));
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn migrations_go_forward_each_step_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x)", "CREATE TABLE c (x)"];
        for (known, expected) in [(1, 1), (3, 3), (3, 3)] {
            migrate(&mut connection, Path::new("j"), &steps[..known]).ok().unwrap();
            assert_eq!(version(&connection), expected);
        }
        let refused = migrate(&mut connection, Path::new("j"), &steps[..2]);
        assert!(matches!(refused, Err(Failure::Journal(JournalError::Newer { found: 3, known: 2, .. }))));
        assert_eq!(version(&connection), 3);
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(migrate(&mut connection, Path::new("j"), &["CREATE TABLE a (x)", "CREATE TABLE a (x)"]).is_err());
        assert_eq!(version(&connection), 0);
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 0);
    }
}
