//! Read before write: a file may be changed only as the version that this session has seen.

use checkrein_contract::{Code, Digest};
use checkrein_gate::{Failure, RunContext};

/// What the session knows of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was never looked at.
    Unseen,
    /// It was seen to be absent.
    Absent,
    /// It was seen with this content.
    Version(Digest),
}

impl Known {
    /// What the session knows of the file with this real path.
    pub(crate) fn of(real: &str, context: &RunContext<'_>) -> Self {
        match context.seen.get(real) {
            None => Self::Unseen,
            Some(None) => Self::Absent,
            Some(Some(version)) => Self::Version(version.clone()),
        }
    }

    /// Whether the file as it is now (`None`: not there) may be changed.
    ///
    /// # Errors
    /// `FS_NOT_OBSERVED` or `FS_STALE_VERSION`.
    pub(crate) fn check(&self, now: Option<&Digest>, shown: &str) -> Result<(), Failure> {
        let stale = |what: &str| Err(Failure::new(Code::FsStaleVersion, format!("`{shown}` {what}")));
        match (self, now) {
            (Self::Unseen | Self::Absent, None) => Ok(()),
            (Self::Version(seen), Some(now)) if seen == now => Ok(()),
            (Self::Unseen, Some(_)) => {
                let message = format!("`{shown}` exists and was not read in this session");
                Err(Failure::new(Code::FsNotObserved, message))
            }
            (Self::Absent, Some(_)) => stale("was created since it was looked for"),
            (Self::Version(_), Some(_)) => stale("changed since it was read"),
            (Self::Version(_), None) => stale("is gone since it was read"),
        }
    }
}
