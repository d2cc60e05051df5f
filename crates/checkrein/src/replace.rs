//! Small files of a person, written whole or not at all.

use std::path::{Path, PathBuf};

use crate::HarnessError;

/// Replaces a file, keeping its mode: written beside and moved over, so that a full disk leaves what was there.
///
/// # Errors
/// [`HarnessError::Unreadable`], and the file is as it was.
pub fn replace_file(path: &Path, text: &str) -> Result<(), HarnessError> {
    let fail = |error: std::io::Error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text).map_err(fail)?;
    if let Ok(there) = std::fs::metadata(path) {
        std::fs::set_permissions(&beside, there.permissions()).map_err(fail)?;
    }
    std::fs::rename(&beside, path).map_err(fail)
}
