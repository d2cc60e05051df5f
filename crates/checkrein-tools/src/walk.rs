//! The files of a tree, in a fixed order, as a search sees them: ignore files honoured, nothing hidden, no link
//! followed. What the policy withholds is left out here, before anything is opened.

use std::path::Path;
use std::time::Instant;

use checkrein_contract::Code;
use checkrein_gate::{Failure, Grant, RunContext};
use ignore::WalkBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::files::{io_failure, not_regular};
use crate::ignored::IgnoreRules;
use crate::next_call::count;
use crate::off_thread::{go_on, off_thread};
use crate::pattern::Pattern;

/// Files and folders that one search looks at. More is no project but a disk.
pub(crate) const MAX_ENTRIES: usize = 200_000;
/// How many files are held against the policy before others get their turn.
const BATCH: usize = 1_000;

/// What to look for.
pub(crate) struct Search {
    /// Real path of the top.
    pub(crate) root: String,
    /// The project. Ignore files above it belong to somebody else.
    pub(crate) project: String,
    /// The top as the model knows it.
    pub(crate) shown: String,
    /// Only files whose path below the top fits.
    pub(crate) pattern: Option<Pattern>,
    /// Whether the top may be a file by itself.
    pub(crate) file_is_fine: bool,
    /// When to stop.
    pub(crate) until: Instant,
    /// Files and folders to look at, at most; in earnest [`MAX_ENTRIES`].
    pub(crate) most: usize,
}

/// What a search could not see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Unseen {
    /// Files that would have fitted and that the policy does not show.
    pub(crate) withheld: u64,
    /// Files and folders that could not be opened, or whose names are no UTF-8.
    pub(crate) unreadable: u64,
    /// Why the walk ended early, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<String>,
}

impl Unseen {
    /// What there is to say, a line each.
    pub(crate) fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if self.withheld > 0 {
            facts.push(format!("{} withheld by the policy", count(self.withheld, "file", "files")));
        }
        if self.unreadable > 0 {
            facts.push(format!("{} could not be read", count(self.unreadable, "file or folder", "files or folders")));
        }
        if let Some(why) = &self.stopped {
            facts.push(format!("incomplete: {why}; give a smaller folder as `path`"));
        }
        facts
    }
}

/// The files that fit and may be read, as real paths, sorted part by part.
pub(crate) async fn files(
    search: Search,
    grant: &Grant,
    context: &RunContext<'_>,
) -> Result<(Vec<String>, Unseen), Failure> {
    let (found, mut unseen) = off_thread(context.cancel, move |stop| walk(&search, stop)).await?;
    let mut files = Vec::with_capacity(found.len());
    for batch in found.chunks(BATCH) {
        for real in batch {
            if grant.may_read(real) {
                files.push(real.clone());
            } else {
                unseen.withheld += 1;
            }
        }
        tokio::task::yield_now().await;
    }
    Ok((files, unseen))
}

fn walk(search: &Search, stop: &CancellationToken) -> Result<(Vec<String>, Unseen), Failure> {
    let root = Path::new(&search.root);
    let kind = root.symlink_metadata().map_err(|error| io_failure(error, &search.shown))?.file_type();
    if !kind.is_dir() {
        if !search.file_is_fine {
            return Err(Failure::new(Code::FsNotDirectory, format!("`{}` is no folder", search.shown)));
        }
        if !kind.is_file() {
            return Err(not_regular(&search.shown));
        }
    }
    let (mut files, mut unseen) = (Vec::new(), Unseen::default());
    let project = Path::new(&search.project);
    let rules = IgnoreRules::below(if root.starts_with(project) { project } else { root });
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !rules.ignore(entry.path(), is_dir)
        })
        .build();
    for (number, entry) in walk.enumerate() {
        go_on(stop)?;
        if number >= search.most {
            unseen.stopped = Some(format!("there are more than {} files and folders", search.most));
            break;
        }
        if Instant::now() >= search.until {
            unseen.stopped = Some("the time for a search was over".to_owned());
            break;
        }
        let Ok(entry) = entry else {
            unseen.unreadable += 1;
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(real) = entry.path().to_str() else {
            unseen.unreadable += 1;
            continue;
        };
        if search.pattern.as_ref().is_none_or(|pattern| pattern.matches(below(real, &search.root))) {
            files.push(real.to_owned());
        }
    }
    Ok((files, unseen))
}

/// The path below the top; of the top itself, its name.
pub(crate) fn below<'a>(real: &'a str, root: &str) -> &'a str {
    match real.strip_prefix(root) {
        Some("") | None => real.rsplit('/').next().unwrap_or(real),
        Some(inside) => inside.trim_start_matches('/'),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn search(root: &Path, until: Instant, most: usize) -> (Vec<String>, Unseen) {
        let root = root.to_str().unwrap().to_owned();
        let shown = ".".to_owned();
        let wanted = Search { project: root.clone(), root, shown, pattern: None, file_is_fine: false, until, most };
        walk(&wanted, &CancellationToken::new()).unwrap()
    }

    /// Shows R72: the walk ends at its limits, and says which it was.
    #[test]
    fn a_walk_ends_at_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["b", "a", "c"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let later = Instant::now() + Duration::from_secs(3_600);
        assert_eq!(search(&root, later, 100).0.len(), 3);
        let (found, unseen) = search(&root, later, 2);
        assert_eq!(found, [root.join("a").to_str().unwrap()], "the folder itself counts");
        assert_eq!(
            unseen.facts(),
            ["incomplete: there are more than 2 files and folders; give a smaller folder as `path`"]
        );
        let (found, unseen) = search(&root, Instant::now(), 100);
        assert!(found.is_empty());
        assert_eq!(unseen.facts(), ["incomplete: the time for a search was over; give a smaller folder as `path`"]);
    }

    #[test]
    fn below_a_folder_is_its_relative_path() {
        assert_eq!(below("/p/a/b", "/p"), "a/b");
        assert_eq!(below("/p/a", "/p/a"), "a");
        assert_eq!(below("/a", "/"), "a");
    }
}
