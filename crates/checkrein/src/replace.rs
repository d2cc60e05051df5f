//! Small files of a person, written whole or not at all.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::HarnessError;

/// Mode of a file that was not there: it is a person's own, and no secret.
const MODE: u32 = 0o644;

/// Replaces a file, keeping its mode, and the link where it is one: written beside and moved over, flushed before, so that
/// a full disk or a cut leaves what was there.
///
/// # Errors
/// [`HarnessError::Unreadable`], and the file is as it was.
pub fn replace_file(path: &Path, text: &str) -> Result<(), HarnessError> {
    let fail = |error: std::io::Error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() };
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(fail)?;
    let mode = fs::metadata(&path).map_or_else(|_| fs::Permissions::from_mode(MODE), |there| there.permissions());
    let mut beside = NamedTempFile::new_in(folder).map_err(fail)?;
    beside.write_all(text.as_bytes()).map_err(fail)?;
    beside.as_file().set_permissions(mode).map_err(fail)?;
    beside.as_file().sync_all().map_err(fail)?;
    beside.persist(&path).map_err(|error| fail(error.error))?;
    Ok(())
}
