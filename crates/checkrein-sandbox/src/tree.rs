//! What lies in a tree that is given: the files that rules speak of, and sockets. One walk finds both. What this user can
//! not look into, no program of this user can either.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What was found in a tree.
#[derive(Default)]
pub(crate) struct Found {
    /// Files and links that match a pattern of each set, by its number.
    pub(crate) matches: Vec<(usize, PathBuf)>,
    pub(crate) sockets: Vec<PathBuf>,
    /// Folders of git's.
    pub(crate) repositories: Vec<PathBuf>,
}

/// Patterns as rules have them; `None` for one that can not be read, which no loaded rule has.
pub(crate) fn patterns(patterns: &[String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().ok()?);
    }
    set.build().ok()
}

/// Looks at everything in a tree, folders before what lies in them, as long as it is told to go on. A link is not followed.
fn each(top: &Path, mut look: impl FnMut(PathBuf, FileType) -> bool) {
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            }
            if !look(entry.path(), kind) {
                return;
            }
        }
    }
}

/// Whether git takes this folder for one of its own.
pub(crate) fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// What rules speak of in a tree. A link counts by its own name, and by what it leads to.
pub(crate) fn walk(top: &Path, sets: &[GlobSet]) -> Found {
    let mut found = Found::default();
    each(top, |path, kind| {
        if kind.is_socket() {
            found.sockets.push(path);
            return true;
        }
        if path.file_name().is_some_and(|name| name == "HEAD")
            && let Some(folder) = path.parent().filter(|folder| is_git_folder(folder))
        {
            found.repositories.push(folder.to_owned());
        }
        // A folder may be spoken of by its name as well as what lies in it.
        let behind = if kind.is_symlink() { path.canonicalize().ok() } else { None };
        for (number, set) in sets.iter().enumerate() {
            let leads_there = behind.as_ref().is_some_and(|real| set.is_match(real) || set.is_match(real.join("-")));
            if set.is_match(&path) || leads_there {
                found.matches.push((number, path.clone()));
            }
        }
        true
    });
    found
}

/// A file by its device and number, where it has more names than one.
pub(crate) fn shared(path: &Path) -> Option<(u64, u64)> {
    let found = path.symlink_metadata().ok()?;
    (found.is_file() && found.nlink() > 1).then(|| (found.dev(), found.ino()))
}

/// Every name of these files in a tree, of which so much is looked at.
pub(crate) fn names(top: &Path, files: &BTreeSet<(u64, u64)>, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = 0;
    each(top, |path, kind| {
        if kind.is_file() && shared(&path).is_some_and(|file| files.contains(&file)) {
            found.push(path);
        }
        seen += 1;
        seen < most
    });
    found
}

/// So much of what lies in a tree.
pub(crate) fn paths(top: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    each(top, |path, _| {
        found.push(path);
        found.len() < most
    });
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_links_and_sockets_are_found_and_what_can_not_be_read_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/.env"), "").unwrap();
        symlink("b/.env", top.join("a/link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(top.join("a/socket")).unwrap();
        fs::create_dir(top.join("closed")).unwrap();
        fs::set_permissions(top.join("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        let mut found = walk(&top, &[patterns(&["**/.env".to_owned()]).unwrap()]);
        found.matches.sort();
        assert_eq!(found.matches, [(0, top.join("a/b/.env")), (0, top.join("a/link"))]);
        assert_eq!(found.sockets, [top.join("a/socket")]);
        fs::set_permissions(top.join("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[test]
    fn all_names_of_a_file_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir(top.join("a")).unwrap();
        fs::write(top.join(".env"), "").unwrap();
        assert_eq!(shared(&top.join(".env")), None, "it has one name");
        fs::hard_link(top.join(".env"), top.join("a/b")).unwrap();
        symlink(".env", top.join("link")).unwrap();
        let mut found = names(&top, &BTreeSet::from([shared(&top.join(".env")).unwrap()]), 9);
        found.sort();
        assert_eq!(found, [top.join(".env"), top.join("a/b")]);
    }
}
