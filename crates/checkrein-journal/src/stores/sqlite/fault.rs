//! From SQLite's and the system's errors to the journal's.
//!
//! SQLite often says only that something failed. Then the folder is asked, by writing a little and removing it again, so
//! that a full disk and missing permissions are told apart. The journal's own files are never touched for that.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use rusqlite::ErrorCode;

use crate::{JournalError, file};

/// What can go wrong inside the store.
pub(super) enum Failure {
    Sql(rusqlite::Error),
    Corrupt(String),
    Journal(JournalError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl Failure {
    /// As the journal's error about this file.
    pub(super) fn into_error(self, path: &Path, doing: &'static str) -> JournalError {
        match self {
            Self::Sql(error) => sql(&error, path, doing),
            Self::Corrupt(detail) => JournalError::Corrupt { path: path.to_owned(), detail },
            Self::Journal(error) => error,
        }
    }
}

fn sql(error: &rusqlite::Error, path: &Path, doing: &'static str) -> JournalError {
    let path = path.to_owned();
    let Some(code) = error.sqlite_error_code() else {
        // A column of a type that the journal never writes.
        return JournalError::Corrupt { path, detail: error.to_string() };
    };
    match code {
        ErrorCode::DiskFull => JournalError::Full { path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            JournalError::Corrupt { path, detail: error.to_string() }
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => JournalError::Busy { path },
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied => {
            match ask_folder(&path) {
                Err(reason) => file::error(reason, &path, doing),
                Ok(()) if code == ErrorCode::ReadOnly => JournalError::ReadOnly { path },
                Ok(()) => JournalError::Io { doing, path, reason: error.to_string() },
            }
        }
        _ => JournalError::Io { doing, path, reason: error.to_string() },
    }
}

/// Why nothing can be written beside this file, if so.
fn ask_folder(path: &Path) -> io::Result<()> {
    let probe = path.with_extension(format!("probe-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&probe).and_then(|mut file| {
        // Two pages: more than what is left over in the last block of a file.
        file.write_all(&[0; 8_192])?;
        file.sync_all()
    });
    match (&written, fs::remove_file(&probe)) {
        (Err(error), _) if error.kind() != ErrorKind::AlreadyExists => written,
        _ => Ok(()),
    }
}
