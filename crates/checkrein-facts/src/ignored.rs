//! What git leaves out of a tree: the rules of the repository itself. Those of the person do not count, nor do those of
//! other programs (`.ignore`): whoever reads the tree may not know of them, and to leave out less is the careful answer.
//!
//! Limit: git never leaves out what it tracks already, and the index that says so is not read here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files that hold rules for their folder; a later one beats an earlier one.
const FILES: &[&str] = &[".git/info/exclude", ".gitignore"];

/// Rules, read as they are needed.
#[derive(Default)]
pub(crate) struct IgnoreRules(Mutex<BTreeMap<PathBuf, Arc<Folder>>>);

struct Folder {
    rules: Gitignore,
    /// A repository begins here, so that rules above it do not count.
    is_top: bool,
}

impl IgnoreRules {
    /// Whether the rules leave this out. The nearest folder that speaks of it decides; outside a repository none does.
    pub(crate) fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        let mut ignored = None;
        for folder in path.ancestors().skip(1) {
            let folder = self.of(folder);
            ignored = ignored.or(match folder.rules.matched(path, is_dir) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            });
            if folder.is_top {
                return ignored.unwrap_or(false);
            }
        }
        false
    }

    fn of(&self, folder: &Path) -> Arc<Folder> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(folder) {
            return Arc::clone(known);
        }
        let mut builder = GitignoreBuilder::new(folder);
        for name in FILES {
            let file = folder.join(name);
            // Git follows no link to rules, and to open a pipe is to wait. A broken line leaves nothing out.
            if file.symlink_metadata().is_ok_and(|found| found.is_file()) {
                _ = builder.add(file);
            }
        }
        let rules = builder.build().unwrap_or_else(|_| Gitignore::empty());
        let found = Arc::new(Folder { rules, is_top: folder.join(".git").symlink_metadata().is_ok() });
        known.insert(folder.to_owned(), Arc::clone(&found));
        found
    }
}
