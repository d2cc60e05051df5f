//! Folders of git's that came to be while a call ran. Git runs what such a folder says for whoever comes there later, so
//! what could make it run something is set aside under another name, unless the call was granted that very repository.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{RenameFlags, renameat_with};

use crate::after::{CHANGE, LOOK, held, open_up};
use crate::git_settings::are_harmless;
use crate::plan::{NodeKind, Plan, innermost};
use crate::tree;

/// Entries below a folder that was moved which are looked at.
const MOST_SEEN: usize = 500_000;
/// What is set aside gets this behind its name.
const ASIDE: &str = "refused";
/// Names that are tried for it.
const MOST_ASIDE: usize = 1_000;
/// Longest settings that are read, bytes.
const MOST_SETTINGS: u64 = 1 << 20;

/// Whether a repository was granted by name: its folder of git's, or what that lies in.
pub(crate) fn is_granted<P: AsRef<Path>>(named: &[P], folder: &Path) -> bool {
    let mut granted = named.iter().filter_map(|named| folder.strip_prefix(named.as_ref()).ok());
    granted.any(|rest| rest.as_os_str().is_empty() || rest.starts_with(".git"))
}

/// Looks where folders of git's may have come to be; with `true` anywhere below. Gives what was set aside.
pub(crate) fn set_aside(plan: &Plan, places: &BTreeSet<(PathBuf, bool)>) -> Vec<PathBuf> {
    let mut folders = BTreeSet::new();
    for (at, below) in places {
        folders.insert(at.clone());
        // What lets nobody in is opened: a later call could do that as well.
        let outwards: Vec<&Path> = at.ancestors().take_while(|above| is_writable(plan, above)).collect();
        let inwards = outwards.into_iter().rev();
        for folder in inwards.take_while(|folder| folder.symlink_metadata().is_ok_and(|found| found.is_dir())) {
            open_up(folder, LOOK, *below && folder == at);
        }
        if *below {
            let there = tree::paths(at, MOST_SEEN).into_iter();
            let there = there.filter_map(|path| match path.file_name()?.to_str()? {
                "HEAD" => path.parent().map(Path::to_owned),
                ".git" => Some(path),
                _ => None,
            });
            folders.extend(there);
        }
    }
    let mut aside = Aside { plan, looked: BTreeSet::new(), refused: Vec::new() };
    folders.iter().for_each(|folder| aside.look(folder));
    aside.refused
}

struct Aside<'a> {
    plan: &'a Plan,
    looked: BTreeSet<PathBuf>,
    refused: Vec<PathBuf>,
}

impl Aside<'_> {
    /// Looks at one folder of git's, or what stands for one: a link, or a file that names it.
    fn look(&mut self, at: &Path) {
        let Ok(kind) = at.symlink_metadata().map(|found| found.file_type()) else { return };
        if !self.looked.insert(at.to_owned()) || is_granted(&self.plan.named, at) {
            return;
        }
        if kind.is_symlink() {
            self.follow(at, at.canonicalize().ok());
        } else if kind.is_file() {
            let named =
                fs::read_to_string(at).ok().and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()));
            self.follow(at, named.and_then(|named| at.parent()?.join(named).canonicalize().ok()));
        } else if tree::is_git_folder(at) && !self.was_there(at) {
            self.inspect(at);
        }
    }

    /// What leads to a folder of git's leads to one that was there before or may be looked at here, or it is refused: what
    /// it would lead to later nobody has looked at.
    fn follow(&mut self, at: &Path, to: Option<PathBuf>) {
        match to {
            Some(to) if self.was_there(&to) => {}
            Some(to) if is_writable(self.plan, &to) && tree::is_git_folder(&to) => self.look(&to),
            _ => self.refuse(at),
        }
    }

    /// Whether it was there before, wherever it lay: then it was held.
    fn was_there(&self, at: &Path) -> bool {
        let is = at.metadata().map(|found| (found.dev(), found.ino())).ok();
        self.plan.repositories.iter().any(|known| Some(known.is) == is)
    }

    fn inspect(&mut self, folder: &Path) {
        for name in ["config", "config.worktree"] {
            let at = folder.join(name);
            let Ok(found) = at.symlink_metadata() else { continue };
            let text = (found.is_file() && found.len() <= MOST_SETTINGS).then(|| fs::read(&at).ok()).flatten();
            if !found.is_dir() && !text.is_some_and(|text| are_harmless(&text)) {
                self.refuse(&at);
            }
        }
        let attributes = folder.join("info/attributes");
        let says = |text: String| text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
        if attributes.exists() && fs::read_to_string(&attributes).map_or(true, says) {
            self.refuse(&attributes);
        }
        let common = folder.join("commondir");
        if common.symlink_metadata().is_ok() {
            let named = fs::read_to_string(&common).ok();
            let to = named.and_then(|named| folder.join(named.trim_end_matches('\n')).canonicalize().ok());
            self.follow(&common, to);
        }
        let hooks = folder.join("hooks");
        if hooks.is_symlink() {
            return self.refuse(&hooks);
        }
        for hook in fs::read_dir(&hooks).into_iter().flatten().flatten() {
            // Its examples, and what is no hook's name, git passes over.
            let named = !hook.file_name().to_string_lossy().contains('.');
            if named && !hook.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.refuse(&hook.path());
            }
        }
    }

    /// Gives it a name that means nothing, where it lies in what the call may change.
    fn refuse(&mut self, at: &Path) {
        let renamed = || {
            let (folder, here) = held(at).ok().filter(|_| is_writable(self.plan, at))?;
            open_up(at.parent()?, CHANGE, false);
            let name = here.file_name()?.to_string_lossy().into_owned();
            let mut free = (0..MOST_ASIDE).map(|number| format!("{name}.{ASIDE}.{number}"));
            free.find(|free| renameat_with(&folder, &*name, &folder, &**free, RenameFlags::NOREPLACE).is_ok())
        };
        if renamed().is_some() {
            self.refused.push(at.to_owned());
        }
    }
}

fn is_writable(plan: &Plan, path: &Path) -> bool {
    innermost(&plan.view, path).is_some_and(|node| matches!(node.kind, NodeKind::Write | NodeKind::Opened))
}
