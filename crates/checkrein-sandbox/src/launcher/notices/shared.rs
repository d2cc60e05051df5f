//! Files with several names. What is written in such a file is written under all of its names, also where nothing was
//! granted: so one is only written where all of them may be.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::plan::{Node, NodeKind, innermost};
use crate::tree;

/// What is looked at to find all names of a file: those of a large project with what was built of it.
const MOST_SEEN: usize = 500_000;

/// What was found so far.
#[derive(Default)]
pub(super) struct Shared {
    /// Files all of whose names may be written, with how many they have.
    whole: BTreeSet<(u64, u64, u64)>,
}

impl Shared {
    /// Whether this is a file that has a name which may not be written.
    pub(super) fn reaches_out(&mut self, view: &[Node], path: &Path) -> bool {
        let Ok(found) = path.symlink_metadata() else { return false };
        if !found.is_file() || found.nlink() < 2 {
            return false;
        }
        let (file, names) = ((found.dev(), found.ino()), found.nlink());
        if self.whole.contains(&(file.0, file.1, names)) {
            return false;
        }
        let writable = |path: &PathBuf| innermost(view, path).is_some_and(|node| node.kind == NodeKind::Write);
        let tops = view.iter().filter(|node| node.kind == NodeKind::Write).map(|node| PathBuf::from(&node.at));
        let tops: BTreeSet<PathBuf> = tops.collect();
        let outermost = tops.iter().filter(|top| !top.ancestors().skip(1).any(|above| tops.contains(above)));
        let mut seen = BTreeSet::new();
        for top in outermost {
            let names = tree::names(top, &BTreeSet::from([file]), MOST_SEEN);
            seen.extend(names.into_iter().filter(writable));
        }
        if (seen.len() as u64) < names {
            return true;
        }
        self.whole.insert((file.0, file.1, names));
        false
    }
}
