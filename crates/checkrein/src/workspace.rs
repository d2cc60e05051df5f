//! Workspaces: a fresh copy of a task folder for each session, without the files that steer the session.

use std::fs;
use std::path::{Path, PathBuf};

use crate::HarnessError;
use crate::home::make_private;

/// Build results, which a copy does without.
const LEFT_OUT: &[&str] = &["target", "node_modules"];

/// Copies a folder. `without` names paths, relative to it, that the copy does not get: the task's own control files, so
/// that a session neither reads its script nor its policy.
///
/// # Errors
/// [`HarnessError::Workspace`] names the first path that could not be copied.
pub(crate) fn copy(from: &Path, to: &Path, without: &[PathBuf]) -> Result<(), HarnessError> {
    let fail = |path: &Path, error: &std::io::Error| HarnessError::Workspace {
        path: to.to_path_buf(),
        reason: format!("{}: {error}", path.display()),
    };
    make_private(to).map_err(|error| fail(to, &error))?;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let source = from.join(&folder);
        for entry in fs::read_dir(&source).map_err(|error| fail(&source, &error))? {
            let entry = entry.map_err(|error| fail(&source, &error))?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(|error| fail(&path, &error))?;
            let left_out = kind.is_dir() && LEFT_OUT.iter().any(|name| entry.file_name().to_str() == Some(name));
            if left_out || without.contains(&path) {
                continue;
            }
            let target = to.join(&path);
            let copied = if kind.is_dir() {
                folders.push(path.clone());
                fs::create_dir(&target)
            } else if kind.is_symlink() {
                fs::read_link(entry.path()).and_then(|link| std::os::unix::fs::symlink(link, &target))
            } else if kind.is_file() {
                fs::copy(entry.path(), &target).map(|_| ())
            } else {
                Ok(())
            };
            copied.map_err(|error| fail(&path, &error))?;
        }
    }
    Ok(())
}
