//! The state folder: the journal, and one folder a session for its workspace and for what did not fit into results.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use checkrein_contract::SessionId;
use checkrein_gate::Spill;

use crate::HarnessError;

/// `$CHECKREIN_HOME`, or the platform's data folder. Only its owner may look inside.
#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Opens the folder, making it where it is not there.
    ///
    /// # Errors
    /// [`HarnessError::State`] when it can not be made or is no folder.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, HarnessError> {
        let path = path.into();
        let fail = |reason: String| HarnessError::State { path: path.clone(), reason };
        make_private(&path).map_err(|error| fail(error.to_string()))?;
        let real = path.canonicalize().map_err(|error| fail(error.to_string()))?;
        Ok(Self { path: real })
    }

    /// Names a folder without looking for it or making it: for a machine that keeps its things elsewhere.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder itself, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.db")
    }

    /// The folder of one session.
    pub fn session(&self, session: &SessionId) -> PathBuf {
        self.path.join("sessions").join(session.as_str())
    }

    /// Where a session's workspace is, when it is a copy.
    pub fn workspace(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("workspace")
    }

    /// Takes the session for this process; free again when the guard is dropped, however the process ends.
    ///
    /// The journal alone decides who may append. This keeps a second process from taking a call that is still running
    /// for one that was lost.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while another process has it.
    pub(crate) fn take(&self, session: &SessionId) -> Result<Taken, HarnessError> {
        let folder = self.session(session);
        let fail = |error: std::io::Error| HarnessError::State { path: folder.clone(), reason: error.to_string() };
        make_private(&folder).map_err(fail)?;
        let file =
            fs::OpenOptions::new().create(true).append(true).mode(0o600).open(self.lock(session)).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(Taken { file }),
            Err(fs::TryLockError::WouldBlock) => Err(HarnessError::busy(session)),
            Err(fs::TryLockError::Error(error)) => Err(fail(error)),
        }
    }

    /// Whether a process of this machine drove the session and none does any more. Whatever its journal says of it then, it
    /// goes on only when somebody resumes it.
    pub fn is_left(&self, session: &SessionId) -> bool {
        let Ok(file) = fs::File::open(self.lock(session)) else { return false };
        // Given free again as it is closed.
        file.try_lock_shared().is_ok()
    }

    fn lock(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("lock")
    }

    /// Where what did not fit goes.
    pub fn spill(&self, session: &SessionId) -> FolderSpill {
        FolderSpill::at(self.session(session).join("spill"))
    }
}

/// A session that this process has taken.
#[derive(Debug)]
pub(crate) struct Taken {
    file: fs::File,
}

impl Drop for Taken {
    /// Closing alone gives it free only once no program that is just being started has the file open as well.
    fn drop(&mut self) {
        // Closing follows in any case.
        _ = self.file.unlock();
    }
}

/// A folder for cut text; files only their owner may read.
#[derive(Clone, Debug)]
pub struct FolderSpill {
    folder: PathBuf,
}

impl FolderSpill {
    /// In this folder.
    pub(crate) fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder that a session's variables name.
    pub(crate) fn of(variables: &[(String, String)]) -> Option<Self> {
        let (_, folder) = variables.iter().find(|(name, _)| name == "spill")?;
        Some(Self::at(folder))
    }

    /// A folder in this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self { folder: self.folder.join(name) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Spill for FolderSpill {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        make_private(&self.folder).ok()?;
        let path = self.path(name);
        fs::write(&path, bytes).ok()?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).ok()?;
        Some(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        let safe: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
        self.folder.join(safe)
    }
}

/// Makes a folder and those above it, 0700.
pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that is being started has a copy of every open file for a moment; the session is free all the same.
    #[test]
    fn a_session_is_free_when_its_guard_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let home = StateFolder::open(folder.path()).unwrap();
        let session = SessionId::new("s-1");
        assert!(!home.is_left(&session), "nobody ever drove it");
        let taken = home.take(&session).unwrap();
        assert!(matches!(home.take(&session), Err(HarnessError::Busy { .. })));
        assert!(!home.is_left(&session));
        let copy = taken.file.try_clone().unwrap();
        drop(taken);
        assert!(home.is_left(&session));
        let again = home.take(&session).unwrap();
        drop((again, copy));
    }
}
