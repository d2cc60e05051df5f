//! What a call names: one file or folder, by the name that each who meets it has for it.

use checkrein_contract::{Digest, Place, SeenFile};
use checkrein_gate::{Approved, RunContext};
use checkrein_policy::paths;

use crate::walk::below;

/// A file or folder that a call names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Absolute, as the call wrote it: what was asked for.
    pub(crate) written: String,
    /// Without links, as it was judged: what is opened.
    pub(crate) real: String,
    /// As the model knows it: what messages say.
    pub(crate) shown: String,
}

impl Target {
    /// What stands at a path of the input, relative to the folder that the call works in.
    pub(crate) fn of(path: &str, approved: &Approved, context: &RunContext<'_>) -> Self {
        Self::at(paths::absolute(path, context.place), approved, context.place)
    }

    /// What stands at an absolute path.
    pub(crate) fn at(written: String, approved: &Approved, place: &Place) -> Self {
        let real = approved.grant().real_path(&written).to_owned();
        let shown = paths::shown(&written, place);
        Self { written, real, shown }
    }

    /// The name that the model has for what was found in it, by real path: it leads there from the project, also where the
    /// folder was reached through a link.
    pub(crate) fn shown_within(&self, real: &str, place: &Place) -> String {
        if real == self.real {
            return self.shown.clone();
        }
        paths::shown(&format!("{}/{}", self.written.trim_end_matches('/'), below(real, &self.real)), place)
    }
}

/// A file with this real path was seen in this version; none where an older record holds no digest.
pub(crate) fn seen(real: &str, version: &str) -> Vec<SeenFile> {
    let seen = |version| SeenFile { path: real.to_owned(), version: Some(version) };
    Digest::parse(version).map(seen).into_iter().collect()
}
