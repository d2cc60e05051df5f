//! Errors of the facade, for the operator: what, where, and what to do next.

use std::path::PathBuf;

use checkrein_contract::{Code, Limit, Status};
use checkrein_gate::{RecordFailure, RegistryError};
use checkrein_journal::JournalError;
use checkrein_session::ApplyError;
use checkrein_toml::FileError;
use thiserror::Error;

/// Something that keeps a session from beginning or going on. A call that is refused or fails is not one of these.
#[derive(Debug, Error)]
pub enum HarnessError {
    /// A file that a person wrote has a mistake.
    #[error("{0}")]
    File(#[from] FileError),
    /// A file that a task names can not be read.
    #[error("{path}: {reason}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The task as a whole can not be run.
    #[error("{0}")]
    Task(String),
    /// A tool can not be registered.
    #[error("{0}")]
    Registry(#[from] RegistryError),
    /// The state folder can not be used.
    #[error("the state folder {path} can not be used: {reason}", path = path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The workspace can not be made.
    #[error("the workspace {path} can not be made: {reason}", path = path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The workspace of a session that is to go on is not there.
    #[error(
        "the workspace of session {session} is not here: there is no folder {path}; put it back, or take the whole state folder \
         along, where it lies in sessions/{session}/workspace",
        path = path.display()
    )]
    NoWorkspace {
        /// The session.
        session: String,
        /// Where it was.
        path: PathBuf,
    },
    /// The journal says no.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The journal holds what can not be.
    #[error("the journal of this session can not be folded: {0}")]
    Fold(#[from] ApplyError),
    /// An event could not be recorded, so nothing further was done.
    #[error("{0}")]
    Record(#[from] RecordFailure),
    /// The session is over.
    #[error("session {session} has ended as `{status}`; start a new one with `checkrein run`")]
    Over {
        /// The session.
        session: String,
        /// How it ended.
        status: Status,
    },
    /// A limit ended the session.
    #[error(
        "session {session}: the budget for {limit} is spent; go on with a larger one: `checkrein resume {session} --budget \
         {limit}=N`"
    )]
    Spent {
        /// The session.
        session: String,
        /// The limit.
        limit: Limit,
    },
    /// The session can not go on as it began, and nobody said that it may go on otherwise.
    #[error(
        "session {session} can not go on as it began:\n  {}\nlet it count from here on with `checkrein resume {session} \
         --accept-changes`",
        differences.join("\n  ")
    )]
    Recomposed {
        /// The session.
        session: String,
        /// What is not what it was, a line each.
        differences: Vec<String>,
    },
    /// Another process drives the session.
    #[error("session {session} is being driven by another process; {next}")]
    Busy {
        /// The session.
        session: String,
        /// What to do.
        next: String,
    },
    /// An approval can not be answered.
    #[error("{code}: {reason}")]
    Approval {
        /// Stable code.
        code: Code,
        /// Why.
        reason: String,
    },
    /// A person interrupted twice; the journal keeps what was done.
    #[error("interrupted; the journal keeps what was done")]
    Interrupted,
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
}

impl HarnessError {
    /// The stable code, where there is one: that of an answer which does not count.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Approval { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Another process drives the session, and what was asked for can be asked for again when it has ended.
    pub(crate) fn busy(session: &impl ToString) -> Self {
        let next = "wait for it to end, or end it (Ctrl-C where it runs), and say this again".to_owned();
        Self::Busy { session: session.to_string(), next }
    }

    /// Exit code: 2 where the person's words or files are at fault, 130 for an interruption, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(_)
            | Self::Unreadable { .. }
            | Self::Task(_)
            | Self::Registry(_)
            | Self::NotFound(_)
            | Self::Spent { .. }
            | Self::Recomposed { .. }
            | Self::NoWorkspace { .. }
            | Self::Over { .. } => 2,
            Self::Journal(error) => {
                if matches!(error, JournalError::NoSession { .. } | JournalError::Ambiguous { .. }) { 2 } else { 1 }
            }
            Self::State { .. }
            | Self::Workspace { .. }
            | Self::Fold(_)
            | Self::Record(_)
            | Self::Busy { .. }
            | Self::Approval { .. } => 1,
            Self::Interrupted => 130,
        }
    }
}
