//! Git runs what its folder says, whoever comes there later: the hooks and settings of every folder of git's that was there
//! before are held, and where a new one may come to be the harness is told, to look at it when the call is over.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use checkrein_gate::CONTROL_FILES;

use super::would::Act;
use crate::plan::Repository;
use crate::repositories::is_granted;

/// Names by which git knows its folder, besides `.git`.
const SIGNS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// Whether this changes hooks or settings of a folder of git's that was there before, wherever it lies by now.
pub(super) fn is_held(repositories: &[Repository], named: &[PathBuf], path: &Path, act: &Act) -> bool {
    path.ancestors().skip(1).any(|folder| {
        let Ok(inside) = path.strip_prefix(folder) else { return false };
        let mut control = CONTROL_FILES.iter().filter_map(|name| name.strip_prefix(".git/")).map(Path::new);
        let meant = control.any(|name| inside.starts_with(name) || act.moves() && name.starts_with(inside));
        // Only then is it looked at.
        let is = || folder.metadata().map(|found| (found.dev(), found.ino())).ok();
        meant && !is_granted(named, folder) && is().is_some_and(|is| repositories.iter().any(|known| known.is == is))
    })
}

/// Where folders of git's may come to be by this; whether anywhere below.
pub(super) fn may_come(path: &Path, act: &Act) -> Vec<(PathBuf, bool)> {
    let mut places = Vec::new();
    if !act.makes() && *act != Act::Write {
        return places;
    }
    let Some((name, folder)) = path.file_name().zip(path.parent()) else { return places };
    if SIGNS.iter().any(|sign| name == *sign) {
        places.push((folder.to_owned(), false));
    }
    let moved = matches!(act, Act::Arrive(from) if from.is_dir());
    if moved || name == ".git" {
        places.push((path.to_owned(), moved));
    }
    places
}
