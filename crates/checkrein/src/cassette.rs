//! Cassettes: where sessions are recorded into them or played from them, made from journals, and held against what is there
//! now. What a cassette is, and how it answers, is the providers' part.

mod check;
mod from_session;
mod origin;
mod rekey;
mod scrub;

pub use check::{Report, check, find};
pub use checkrein_providers::{Cassette, Changes, Header, TaskRef, Turn, changes};
pub(crate) use origin::Origin;
pub use origin::{task, with_model};
pub use rekey::re_keyed;
pub(crate) use scrub::scrub_of;

use std::path::{Path, PathBuf};

use crate::HarnessError;
use crate::task::read;

/// Reads a cassette.
///
/// # Errors
/// [`HarnessError`] with file and line.
pub fn load(path: &Path) -> Result<Cassette, HarnessError> {
    Cassette::read(&read(path)?).map_err(|why| HarnessError::Task(format!("{}: {why}", path.display())))
}

/// Where a recording lies that nobody has accepted yet.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    path.with_file_name(name)
}
