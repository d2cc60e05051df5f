//! Names that a rule keeps from being written, where nothing is yet that could be held: what matches a pattern of some rule
//! is asked about, and the policy has the word.

use std::path::{Path, PathBuf};

use globset::GlobSet;

use super::would::Act;
use crate::tree;

/// Entries of a folder that is moved which are looked at.
const MOST_SEEN: usize = 100_000;

/// The patterns, read when they are first needed.
pub(super) struct Kept {
    patterns: Vec<String>,
    set: Option<GlobSet>,
}

impl Kept {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self { patterns, set: None }
    }

    /// Paths that would be written by this, and that some rule speaks of.
    pub(super) fn spoken_of(&mut self, path: &Path, act: &Act) -> Vec<PathBuf> {
        if self.patterns.is_empty() || !act.makes() && *act != Act::Write {
            return Vec::new();
        }
        if self.set.is_none() {
            // The view was made with the same patterns, so they can be read.
            self.set = tree::patterns(&self.patterns);
        }
        let Some(set) = &self.set else { return vec![path.to_owned()] };
        // Opening a folder writes nothing in it that has a name.
        let folder = matches!(act, Act::Open | Act::Write) && path.is_dir();
        let mut spoken: Vec<PathBuf> = (!folder && set.is_match(path)).then(|| path.to_owned()).into_iter().collect();
        if let Act::Arrive(from) = act {
            // A tree comes to be there with all that it holds.
            let below = tree::paths(from, MOST_SEEN);
            let there = below.iter().filter_map(|each| Some(path.join(each.strip_prefix(from).ok()?)));
            spoken.extend(there.filter(|each| set.is_match(each)));
        }
        spoken
    }
}
