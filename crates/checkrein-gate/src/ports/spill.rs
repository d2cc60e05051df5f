//! Where whatever was cut goes, so that a cut loses nothing.

use std::path::PathBuf;

/// A folder for what does not fit into a result.
pub trait Spill: Send + Sync {
    /// Saves a text and returns its path, which `read` may open. `None` when it could not be saved; the cut is then
    /// announced without a path.
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf>;

    /// A path in the same folder for something that is written piece by piece. Nothing is created yet.
    fn path(&self, name: &str) -> PathBuf;
}
