//! Replacing a file in one step: whoever looks sees the old content or the new, never half of either, also after a
//! crash.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use checkrein_contract::Code;
use checkrein_gate::Failure;
use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, accessat, fchmod, fchown, fsync, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::files::{Spot, failure, io_failure};
use crate::off_thread::go_on;

/// Names that are tried for the temporary file; left-overs of a crash may hold some.
const MAX_TRIES: usize = 100;
/// Counts temporary files of this process, so that their names differ.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Puts `content` where `before` stands; `None` means that nothing stands there.
///
/// Mode and, where allowed, owner are kept; a new file is 0644 less the umask. The content is durable before it is
/// visible. A file that changed since `before` was taken is left alone; between that look and the rename lies a moment
/// that no system call closes.
///
/// # Errors
/// `FS_STALE_VERSION` when what stands there is not `before`, `CANCELLED`, or the code of the operating system's error.
/// Nothing is changed then.
pub(crate) fn replace(
    spot: &Spot,
    content: &[u8],
    before: Option<&Stat>,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let fail = |errno| failure(errno, spot.shown());
    if before.is_some() {
        // Renaming over a file needs no right to write to it, so the right is asked for.
        accessat(spot.folder(), spot.name(), Access::WRITE_OK, AtFlags::empty()).map_err(fail)?;
    }
    let mut temporary = Temporary::create(spot, before.map_or(0o644, |_| 0o600))?;
    temporary.file.write_all(content).map_err(|error| io_failure(error, spot.shown()))?;
    if let Some(before) = before {
        keep_owner_and_mode(&temporary.file, before).map_err(fail)?;
    }
    fsync(&temporary.file).map_err(fail)?;
    go_on(stop)?;
    match before {
        Some(before) if spot.stat()?.is_some_and(|now| is_same(&now, before)) => {
            renameat(spot.folder(), &temporary.name, spot.folder(), spot.name()).map_err(fail)?;
        }
        Some(_) => return Err(changed(spot.shown())),
        None => place_new(spot, &temporary.name)?,
    }
    temporary.placed = true;
    // The rename itself is durable once its folder is; where a folder can not be opened, the file is at least whole.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = openat(spot.folder(), ".", flags, Mode::empty()) {
        let _ = fsync(folder);
    }
    Ok(())
}

/// Renames, unless something stands there by now.
fn place_new(spot: &Spot, temporary: &str) -> Result<(), Failure> {
    let (folder, name) = (spot.folder(), spot.name());
    match renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(changed(spot.shown())),
        // Not every file system can do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if spot.stat()?.is_none() => {
            renameat(folder, temporary, folder, name).map_err(|errno| failure(errno, spot.shown()))
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(changed(spot.shown())),
        Err(errno) => Err(failure(errno, spot.shown())),
    }
}

fn keep_owner_and_mode(file: &File, before: &Stat) -> Result<(), Errno> {
    // Only root can give a file away; for everybody else the file stays their own, as with any editor. It comes before
    // the mode, since a change of owner takes special bits away.
    let _ = fchown(file, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid)));
    fchmod(file, Mode::from_raw_mode(before.st_mode))
}

/// Whether this is still the file, untouched.
fn is_same(now: &Stat, before: &Stat) -> bool {
    let key = |stat: &Stat| {
        let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
        (stat.st_dev, stat.st_ino, stat.st_size, times)
    };
    key(now) == key(before)
}

fn changed(shown: &str) -> Failure {
    Failure::new(Code::FsStaleVersion, format!("`{shown}` changed just now; it was left as it is"))
}

/// A file beside the target; gone again unless it was placed.
struct Temporary<'a> {
    spot: &'a Spot,
    name: String,
    file: File,
    placed: bool,
}

impl<'a> Temporary<'a> {
    fn create(spot: &'a Spot, mode: u32) -> Result<Self, Failure> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..MAX_TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".checkrein-{}-{number}.tmp", std::process::id());
            match openat(spot.folder(), &name, flags, Mode::from_raw_mode(mode)) {
                Ok(fd) => return Ok(Self { spot, name, file: File::from(fd), placed: false }),
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(errno) => return Err(failure(errno, spot.shown())),
            }
        }
        Err(failure(last, spot.shown()))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            let _ = unlinkat(self.spot.folder(), &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::files::Folders;

    fn spot(folder: &Path, name: &str) -> Spot {
        let path = folder.canonicalize().unwrap().join(name);
        Spot::find(path.to_str().unwrap(), name, Folders::MustExist).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Shows R55: what changed after the last look is left alone, and nothing is left beside it.
    #[test]
    fn a_file_that_changed_at_the_last_moment_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, spot) = (folder.path().join("a"), spot(folder.path(), "a"));
        fs::write(&path, "old").unwrap();
        let before = spot.open().unwrap().stat;
        fs::write(&path, "new and longer").unwrap();
        let stop = CancellationToken::new();
        assert_eq!(replace(&spot, b"mine", Some(&before), &stop).unwrap_err().code, Code::FsStaleVersion);
        assert_eq!(replace(&spot, b"mine", None, &stop).unwrap_err().code, Code::FsStaleVersion);
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), names(folder.path())),
            ("new and longer", vec!["a".to_owned()])
        );
        let now = spot.open().unwrap().stat;
        replace(&spot, b"mine", Some(&now), &stop).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path())), ("mine", vec!["a".to_owned()]));
    }

    /// A left-over of a crash is in nobody's way.
    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let spot = spot(folder.path(), "a");
        let next = NEXT.load(Ordering::Relaxed);
        for number in next..next + 20 {
            fs::write(folder.path().join(format!(".checkrein-{}-{number}.tmp", std::process::id())), "left over")
                .unwrap();
        }
        replace(&spot, b"mine", None, &CancellationToken::new()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "mine");
    }
}
