//! Ignore files of a project. Those of the person and of folders around the project do not count: the same project
//! gives the same result for everybody.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files that hold rules for their folder; a later one beats an earlier one.
const FILES: &[&str] = &[".git/info/exclude", ".gitignore", ".ignore"];

/// The rules of a project, read as they are needed.
pub(crate) struct IgnoreRules {
    top: PathBuf,
    known: Mutex<BTreeMap<PathBuf, Arc<Gitignore>>>,
}

impl IgnoreRules {
    /// The rules of a folder and everything in it.
    pub(crate) fn below(top: &Path) -> Self {
        Self { top: top.to_owned(), known: Mutex::default() }
    }

    /// Whether the rules leave this out. The nearest folder that speaks of it decides, also where a search begins
    /// further down.
    pub(crate) fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.top));
        for folder in folders {
            match self.of(folder).matched(path, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    fn of(&self, folder: &Path) -> Arc<Gitignore> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(folder) {
            return Arc::clone(rules);
        }
        let mut builder = GitignoreBuilder::new(folder);
        for name in FILES {
            // Most folders have none; a broken line in one hides nothing.
            let _ = builder.add(folder.join(name));
        }
        let rules = Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty()));
        known.insert(folder.to_owned(), Arc::clone(&rules));
        rules
    }
}
