//! Why the journal refuses: one error for an operator, who reads what happened, where, and what to do next.
//!
//! It decides nothing; the stores and the reading side raise these.

use std::path::PathBuf;

use checkrein_contract::{Digest, SessionId};
use thiserror::Error;

use crate::{ChainFault, Head};

/// Anything that keeps the journal from doing what it was asked. Nothing was added or changed when one comes back.
#[derive(Debug, Error)]
pub enum JournalError {
    /// [`create`](crate::EventStore::create) of a session that is there.
    #[error("session `{session}` is in the journal already; resume it, or start another one")]
    Exists {
        /// The session.
        session: SessionId,
    },
    /// No session has this id, or an id that begins like this.
    #[error("the journal has no session `{prefix}`; list the sessions to see which there are")]
    NoSession {
        /// What was asked for.
        prefix: String,
    },
    /// Several sessions begin like this.
    #[error("`{prefix}` fits several sessions ({}); write more of the id", list(found))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of the sessions that fit, newest first.
        found: Vec<SessionId>,
    },
    /// Somebody else appended first. The compare-and-set lost.
    #[error(
        "another process works on session `{session}`: the journal is at event {} ({}), this process was at event {} ({}); \
         nothing was added. Let one of them go on; this one has to read the session again first",
        found.seq, found.hash.short(), expected.seq, expected.hash.short()
    )]
    Conflict {
        /// The session.
        session: SessionId,
        /// The head that the caller knew.
        expected: Head,
        /// The head that there is.
        found: Head,
    },
    /// The events of an append do not follow the head one by one.
    #[error(
        "events of session `{session}` must follow one by one: {expected} was due, {found} came; nothing was added"
    )]
    Gap {
        /// The session.
        session: SessionId,
        /// The number that was due.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// An event that can not be written down.
    #[error("event {seq} of session `{session}` can not be written: {reason}; nothing was added")]
    Unwritable {
        /// The session.
        session: SessionId,
        /// The event.
        seq: u64,
        /// Why.
        reason: String,
    },
    /// An event that this version does not know. Nothing is guessed and nothing is left out.
    #[error(
        "event {seq} of session `{session}` is unknown to this version ({what}); read it with the version that wrote it, or \
         with a newer one"
    )]
    Unknown {
        /// The session.
        session: SessionId,
        /// The event.
        seq: u64,
        /// What is unknown about it.
        what: String,
    },
    /// A payload was removed. The chain still verifies; the session can not be folded any more.
    #[error(
        "event {seq} of session `{session}` needs the payload {digest}, which is no longer in the journal; the session can \
         be verified and exported, but not taken up again"
    )]
    MissingBlob {
        /// The session.
        session: SessionId,
        /// The event.
        seq: u64,
        /// The payload.
        digest: Digest,
    },
    /// The signing key is none.
    #[error(
        "the signing key {} can not be used ({reason}); nothing was added. Put back a copy of it, or move it away: a new one \
         is made then, and what was signed before counts as signed with another key",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// What is stored is not what was written.
    #[error(
        "{0}; nothing of it was used. Verify the journal to see where it breaks, and compare with a copy or an export"
    )]
    Damaged(Box<ChainFault>),
    /// No space, or no quota, is left.
    #[error("the disk is full: {} could not be written and is as it was; free some space and try again", path.display())]
    Full {
        /// The file or folder.
        path: PathBuf,
    },
    /// The file, or the file system it lies on, is read-only.
    #[error("{} is read-only; make it writable, or keep the journal somewhere else", path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// The operating system does not let us write here.
    #[error("{} can not be written ({reason}); change its permissions, or keep the journal somewhere else", path.display())]
    NotWritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Another process held the journal for longer than two seconds.
    #[error("another process keeps {} locked; wait until it is done, or end it, and try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged. It is left as it is: not repaired, not replaced, not begun anew.
    #[error(
        "the journal {} is damaged ({detail}). Nothing was changed. Copy it aside with every file beside it that begins \
         with its name, then put back a copy, or move it away to begin a new one",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A database, but not a journal.
    #[error("{} is the database of another program; nothing was changed. Name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer version.
    #[error(
        "the journal {} has format {found}, and this version knows formats up to {known}; nothing was changed. Use the newer \
         version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that is known here.
        known: i64,
    },
    /// Any other failure of the system.
    #[error("{doing} {} failed: {reason}; nothing was added. If the disk is not failing, try again", path.display())]
    Io {
        /// What was being done, as `writing`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
}

impl From<ChainFault> for JournalError {
    fn from(fault: ChainFault) -> Self {
        Self::Damaged(Box::new(fault))
    }
}

fn list(sessions: &[SessionId]) -> String {
    sessions.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ")
}
