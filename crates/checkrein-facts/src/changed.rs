//! Whether something was changed since the session began, by the times that the file system keeps.
//!
//! What decides is the time of the last change of the inode (ctime): every write, rename and change of mode sets it, and
//! no program can set it back. The time of the content (mtime) can be set at will, so it only ever adds to that.
//!
//! Limits: a file system whose clock is another machine's is taken at its word. A folder that was moved and then filled
//! looks like one that was only filled, so an old file below it looks old.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files and folders that are looked at, at most.
const MAX_ENTRIES: usize = 100_000;
/// Folders that tools fill by themselves; nothing in them is looked at, unless it is asked about by name.
const LEFT_OUT: &[&str] = &[".git", "node_modules", "target"];
/// Times of files are those of the kernel's last tick, so they lag behind the clock that the session's beginning was read
/// from. The slowest tick is a hundredth of a second.
const TICK: Duration = Duration::from_millis(10);

/// `changed` or `unchanged`. A link counts together with what it leads to. What is not there runs nothing and steers
/// nothing, so it counts as unchanged: were it made later, it would be new then. `None` where it can not be looked at, or
/// is too much to look at.
pub(crate) fn changed(path: &str, began: SystemTime) -> Option<&'static str> {
    if !path.starts_with('/') {
        return None;
    }
    let since = Since(began.checked_sub(TICK)?.duration_since(SystemTime::UNIX_EPOCH).ok()?);
    let answer = if since.path(Path::new(path))? { "changed" } else { "unchanged" };
    Some(answer)
}

struct Since(Duration);

impl Since {
    fn path(&self, path: &Path) -> Option<bool> {
        let Some(found) = look(path, |path| fs::symlink_metadata(path))? else { return Some(false) };
        if self.touched(&found) && !found.is_dir() || path.ancestors().skip(1).any(|above| self.moved(above)) {
            return Some(true);
        }
        match look(path, |path| fs::metadata(path))? {
            Some(target) if target.is_dir() => self.below(path.to_owned()),
            Some(target) => Some(self.touched(&target)),
            // A link that dangles, untouched: what it leads to may have been taken away.
            None => None,
        }
    }

    /// Looks at everything in a folder, the folder itself included.
    fn below(&self, folder: PathBuf) -> Option<bool> {
        let mut left = MAX_ENTRIES;
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            // A folder's own time says that something came or went. One of those that tools make may have come.
            let mut counts_itself = true;
            for entry in fs::read_dir(&folder).ok()? {
                let entry = entry.ok()?;
                left = left.checked_sub(1)?;
                if entry.file_name().to_str().is_some_and(|name| LEFT_OUT.contains(&name)) {
                    counts_itself = false;
                    continue;
                }
                let Some(found) = look(&entry.path(), |path| fs::symlink_metadata(path))? else { return Some(true) };
                if found.is_dir() {
                    folders.push(entry.path());
                } else if self.touched(&found) {
                    return Some(true);
                }
            }
            if counts_itself && self.touched(&fs::metadata(&folder).ok()?) || self.moved(&folder) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn touched(&self, found: &Metadata) -> bool {
        let (inode, content) = times(found);
        inode.max(content) >= self.0
    }

    /// A folder that was renamed, while nothing came or went in it: all below it is elsewhere now.
    fn moved(&self, folder: &Path) -> bool {
        fs::symlink_metadata(folder).is_ok_and(|found| {
            let (inode, content) = times(&found);
            inode >= self.0 && content < self.0
        })
    }
}

/// When the inode and when the content was changed last. Times before 1970 are the beginning of time.
fn times(found: &Metadata) -> (Duration, Duration) {
    let time = |seconds: i64, nanos: i64| {
        Duration::new(u64::try_from(seconds).unwrap_or_default(), u32::try_from(nanos).unwrap_or_default())
    };
    (time(found.ctime(), found.ctime_nsec()), time(found.mtime(), found.mtime_nsec()))
}

/// What is there; the outer `None` where that can not be told.
#[expect(clippy::option_option, reason = "not there and not known are two things")]
fn look(path: &Path, with: impl Fn(&Path) -> std::io::Result<Metadata>) -> Option<Option<Metadata>> {
    match with(path) {
        Ok(found) => Some(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Some(None),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::scratch::{folder, write};

    /// The moment when a session begins: whatever is there by now is older, whatever comes is younger. It waits for the
    /// clock that files have to go on.
    fn begin() -> SystemTime {
        let (_held, at) = folder();
        let tick = || {
            write(&format!("{at}/tick"), "");
            times(&fs::metadata(format!("{at}/tick")).unwrap()).0
        };
        let before = tick();
        loop {
            let now = tick();
            if now > before + TICK {
                return SystemTime::UNIX_EPOCH + now;
            }
        }
    }

    fn project() -> (tempfile::TempDir, String) {
        let (held, at) = folder();
        for name in
            ["run.sh", "src/a.rs", "src/b.rs", "lib/c.rs", "other/d.rs", "target/debug/x", "tools/node_modules/y"]
        {
            write(&format!("{at}/{name}"), "old");
        }
        symlink("src/a.rs", format!("{at}/link")).unwrap();
        symlink("src", format!("{at}/entry")).unwrap();
        (held, at)
    }

    /// Does something to a project after the session began, and says which of these count as changed.
    fn after(what: impl Fn(&str), asked: &[&str]) -> Vec<String> {
        let (_held, at) = project();
        let began = begin();
        let answer = |path: &str| changed(&format!("{at}/{path}"), began).unwrap();
        assert!(asked.iter().all(|path| answer(path) == "unchanged"), "nothing happened yet");
        what(&at);
        asked.iter().filter(|path| answer(path) == "changed").map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn what_was_written_is_changed() {
        let asked = ["", "run.sh", "src", "src/a.rs", "src/b.rs", "lib", "link", "entry"];
        let write_a = |at: &str| fs::write(format!("{at}/src/a.rs"), "new").unwrap();
        assert_eq!(after(write_a, &asked), ["", "src", "src/a.rs", "link", "entry"]);
        assert_eq!(after(|_| {}, &asked), [""; 0]);
    }

    /// A time that was set back, a file that was moved in, a mode that was changed: the inode tells.
    #[test]
    fn what_was_written_and_dressed_up_is_changed() {
        let set_back = |at: &str| {
            fs::write(format!("{at}/run.sh"), "new").unwrap();
            File::options()
                .write(true)
                .open(format!("{at}/run.sh"))
                .unwrap()
                .set_modified(SystemTime::UNIX_EPOCH)
                .unwrap();
        };
        let move_in = |at: &str| fs::rename(format!("{at}/src/b.rs"), format!("{at}/run.sh")).unwrap();
        let mode = |at: &str| {
            fs::set_permissions(format!("{at}/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        };
        let link = |at: &str| {
            fs::remove_file(format!("{at}/run.sh")).unwrap();
            symlink("src/b.rs", format!("{at}/run.sh")).unwrap();
        };
        for what in [&set_back as &dyn Fn(&str), &move_in, &mode, &link] {
            assert_eq!(after(what, &["run.sh", "src/a.rs"]), ["run.sh"]);
        }
    }

    #[test]
    fn a_folder_that_was_moved_changes_what_is_below() {
        let swap = |at: &str| {
            fs::remove_dir_all(format!("{at}/lib")).unwrap();
            fs::rename(format!("{at}/other"), format!("{at}/lib")).unwrap();
        };
        assert_eq!(after(swap, &["lib", "lib/d.rs", "src", "src/a.rs"]), ["lib", "lib/d.rs"]);
    }

    /// What is gone, and what is not there yet.
    #[test]
    fn what_is_absent_is_not_changed() {
        let take = |at: &str| fs::remove_file(format!("{at}/src/b.rs")).unwrap();
        assert_eq!(after(take, &["src/b.rs", "src", "lib/none", "gone/deep/none", "src/a.rs"]), ["src"]);
        let dangle = |at: &str| fs::remove_file(format!("{at}/src/a.rs")).unwrap();
        let (_held, at) = project();
        let began = begin();
        dangle(&at);
        assert_eq!(changed(&format!("{at}/link"), began), None);
    }

    /// What tools fill by themselves is left out, unless it is asked about.
    #[test]
    fn folders_that_tools_fill_are_left_out() {
        let build = |at: &str| {
            write(&format!("{at}/target/debug/new"), "new");
            write(&format!("{at}/.git/index"), "new");
            write(&format!("{at}/tools/node_modules/y"), "new");
        };
        let asked = ["", "tools", "target", "target/debug/x", "target/debug", "tools/node_modules/y"];
        assert_eq!(after(build, &asked), ["target", "target/debug", "tools/node_modules/y"]);
    }

    #[test]
    fn without_a_way_to_tell_there_is_no_answer() {
        let (_held, at) = folder();
        symlink("round", format!("{at}/round")).unwrap();
        let later = SystemTime::now() + Duration::from_secs(3600);
        assert_eq!(changed("relative", later), None);
        assert_eq!(changed(&format!("{at}/round"), later), None);
        assert_eq!(changed(&at, SystemTime::UNIX_EPOCH), None, "there was no session then");
    }
}
