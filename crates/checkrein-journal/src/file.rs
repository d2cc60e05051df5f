//! The journal's files: how they begin, who may read them, and what must not be taken for a new journal.
//!
//! A database at a path is never opened here. Closing any descriptor of a file drops every lock that this process has on it,
//! those of SQLite included, so only SQLite may open a file that SQLite may have open.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::JournalError;

/// Readable and writable by the owner alone.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Leftovers of killed processes that are stepped over before giving up.
const DRAFTS_MAX: u32 = 100;

/// Makes sure that there is a journal at the path, by `begin`ning one if there is no file. A new journal appears there whole
/// or not at all, so an empty file is always a damaged one.
///
/// # Errors
/// [`JournalError::Corrupt`] when what is there can not be a journal; otherwise what the system says.
pub(crate) fn ensure(path: &Path, begin: impl FnOnce(&Path) -> Result<(), JournalError>) -> Result<(), JournalError> {
    let corrupt = |detail: &str| Err(JournalError::Corrupt { path: path.to_owned(), detail: detail.to_owned() });
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let reason = "it is a folder".to_owned();
            Err(JournalError::NotWritable { path: path.to_owned(), reason })
        }
        Ok(found) if found.len() == 0 => corrupt("the file is empty"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) {
                return corrupt("the file is gone, and its write-ahead log is still there");
            }
            make(path, begin)
        }
        Err(failed) => Err(error(failed, path, "looking at")),
    }
}

/// Makes a file, and its folder, for their owner alone: `begin` fills it under another name, and it appears at the path
/// whole or not at all. One that another process made meanwhile stays.
///
/// # Errors
/// What `begin` says, or the system.
pub(crate) fn make(path: &Path, begin: impl FnOnce(&Path) -> Result<(), JournalError>) -> Result<(), JournalError> {
    let io = |failed| error(failed, path, "making");
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(io)?;
    let draft = draft(path).map_err(io)?;
    let placed = begin(&draft).and_then(|()| place(&draft, path).map_err(io));
    for leftover in ["", "-wal", "-shm"] {
        // Gone already when all went well; the error on its way says more otherwise.
        let _ = fs::remove_file(beside(&draft, leftover));
    }
    placed
}

/// The journal's error for one of the system.
pub(crate) fn error(error: io::Error, path: &Path, doing: &'static str) -> JournalError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => JournalError::Full { path },
        ErrorKind::ReadOnlyFilesystem => JournalError::ReadOnly { path },
        ErrorKind::PermissionDenied => JournalError::NotWritable { path, reason },
        _ => JournalError::Io { doing, path, reason },
    }
}

/// Another name in the same folder, with an empty file that only its owner can read.
fn draft(path: &Path) -> io::Result<PathBuf> {
    let mut last = io::Error::from(ErrorKind::AlreadyExists);
    for number in 0..DRAFTS_MAX {
        // The ending stays, so that rules about names (no tool reads a `*.key`) hold for a draft too.
        let ending = path.extension().unwrap_or_default().display();
        let draft = path.with_extension(format!("new-{}-{number}.{ending}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&draft) {
            Ok(_) => return Ok(draft),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Flushes the draft and gives it its name, unless another process was first, whose journal is as good.
fn place(draft: &Path, path: &Path) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    match fs::hard_link(draft, path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems have no hard links. Renaming could replace a file that appears just now, so look first.
        Err(_) if !path.exists() => fs::rename(draft, path)?,
        Err(error) => return Err(error),
    }
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Takes away what others may do with a journal and the files beside it, say after a backup was put back.
///
/// # Errors
/// What the system says when the files belong to somebody else.
pub(crate) fn tighten(path: &Path) -> Result<(), JournalError> {
    for suffix in ["", "-wal", "-shm"] {
        let file = beside(path, suffix);
        let Ok(found) = fs::metadata(&file) else { continue };
        let mode = found.permissions().mode();
        if mode & 0o077 != 0 {
            let tight = Permissions::from_mode(mode & 0o700);
            fs::set_permissions(&file, tight).map_err(|failed| error(failed, &file, "protecting"))?;
        }
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
