//! What did not fit, on its way to a file: without secrets, like all that is shown of it.

use std::path::PathBuf;

use super::Redactor;
use crate::ports::Spill;

/// A folder for what does not fit, in front of which secrets are taken out.
pub(crate) struct CleanSpill<'a> {
    pub(crate) folder: &'a dyn Spill,
    pub(crate) redactor: &'a Redactor,
}

impl Spill for CleanSpill<'_> {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        let mut stream = self.redactor.stream();
        let mut clean = stream.push_bytes(bytes);
        clean.extend(stream.finish_bytes());
        self.folder.save(name, &clean)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }
}
