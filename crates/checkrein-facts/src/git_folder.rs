//! Which repository holds a folder, found as git finds it (`setup.c`), without git.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::real_path::real_path;

/// Longest file that is read to find a repository or its settings, bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The folders of a repository.
pub(crate) struct Repository {
    /// Where git goes: the top of the working tree, or the repository itself where it has none.
    pub(crate) top: PathBuf,
    /// Of this working tree.
    pub(crate) own: PathBuf,
    /// Of all its working trees: settings, hooks and data. The same one, but for an added working tree.
    pub(crate) common: PathBuf,
}

/// Where the data of the repository is that holds this folder: a real path. `None` where there is none, or it can not be
/// told.
pub(crate) fn git_folder(folder: &str) -> Option<String> {
    real_path(repository(folder)?.common.to_str()?)
}

/// The repository that git takes for this folder.
pub(crate) fn repository(folder: &str) -> Option<Repository> {
    repositories(folder)?.pop().filter(is_sound)
}

/// What git could take for the repository of this folder: the one that it would take last, and before it those that it
/// would pass over because something in them is missing. Empty where there is none; `None` where it can not be told.
pub(crate) fn repositories(folder: &str) -> Option<Vec<Repository>> {
    let real = real_path(folder)?;
    let mut found = Vec::new();
    for above in Path::new(&real).ancestors() {
        let own = above.join(".git");
        let own = match fs::metadata(&own) {
            Ok(at) if at.is_dir() => Some(own),
            Ok(_) => Some(above.join(first_line(&own)?.strip_prefix("gitdir:")?.trim())),
            Err(error) if is_absence(&error) => None,
            Err(_) => return None,
        };
        // A folder may be a repository itself: one without a working tree.
        for own in own.into_iter().chain([above.to_owned()]) {
            let repository = Repository { top: above.to_owned(), common: common(&own)?, own };
            let sound = is_sound(&repository);
            if sound || repository.own != above {
                found.push(repository);
            }
            if sound {
                return Some(found);
            }
        }
    }
    Some(found)
}

fn common(own: &Path) -> Option<PathBuf> {
    let file = own.join("commondir");
    match fs::symlink_metadata(&file) {
        Ok(_) => Some(own.join(first_line(&file)?)),
        Err(error) if is_absence(&error) => Some(own.to_owned()),
        Err(_) => None,
    }
}

/// Whether git takes it for a repository.
fn is_sound(repository: &Repository) -> bool {
    let head = repository.own.join("HEAD");
    let is_head = match fs::read_link(&head) {
        Ok(target) => target.starts_with("refs"),
        Err(_) => first_line(&head).is_some_and(|line| {
            line.starts_with("ref:") || line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit())
        }),
    };
    is_head && ["objects", "refs"].iter().all(|name| repository.common.join(name).is_dir())
}

fn first_line(path: &Path) -> Option<String> {
    let text = read(path).ok()??;
    Some(text.lines().next().unwrap_or_default().trim_end().to_owned())
}

/// A file's text, or that it is not there.
///
/// # Errors
/// What can not be read: no file, too long, no UTF-8.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    // Looked at before it is opened: to open a pipe is to wait for whoever writes into it.
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= MAX_BYTES => {}
        Ok(_) => return Err(ErrorKind::InvalidData.into()),
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{folder, git, write};

    /// Git itself is the oracle.
    #[test]
    fn the_repository_is_the_one_that_git_finds() {
        let (_held, at) = folder();
        git(&at, &["init", "-q", "main"]);
        let main = format!("{at}/main");
        write(&format!("{main}/src/deep/a"), "a");
        git(&main, &["add", "."]);
        git(&main, &["commit", "-q", "-m", "one"]);
        git(&main, &["worktree", "add", "-q", "../tree"]);
        git(&at, &["init", "-q", "--bare", "bare"]);
        git(&main, &["init", "-q", "--separate-git-dir", &format!("{at}/apart"), "inner"]);
        // What looks like a repository and is none is passed over.
        fs::create_dir(format!("{main}/src/.git")).unwrap();
        write(&format!("{main}/src/.git/config"), "[core]\n");
        std::os::unix::fs::symlink(format!("{main}/src"), format!("{at}/link")).unwrap();
        for path in ["main", "main/src/deep", "main/.git", "tree", "bare", "bare/refs", "main/inner", "link/deep"] {
            let path = format!("{at}/{path}");
            let expected = git(&path, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
            assert_eq!(git_folder(&path).as_deref(), Some(expected.trim()), "{path}");
        }
        assert_eq!(git_folder(&format!("{main}/gone/deep")), Some(format!("{main}/.git")), "not there yet");
        assert_eq!(git_folder(&at), None);
        write(&format!("{at}/none/.git"), "no pointer\n");
        assert_eq!(git_folder(&format!("{at}/none")), None);
    }
}
