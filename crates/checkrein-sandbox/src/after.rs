//! What is put right when a call is over and everybody inside has gone: names that came to be beside what was granted are
//! taken away, and what git would obey in a folder of its own that came to be is set aside. What was there before is never
//! removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Result;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use checkrein_gate::Denial;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::plan::{FileId, Plan, Report};
use crate::repositories;

/// How long those inside are waited for when they have been ended.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// The kernel dates files by a clock that is behind by up to a tick.
const TICK: Duration = Duration::from_millis(20);

/// What an owner needs of a folder to look at what lies in it, and to change that.
pub(crate) const LOOK: u32 = 0o500;
pub(crate) const CHANGE: u32 = 0o700;

/// What a run has told of it so far.
pub(crate) struct After<'a> {
    plan: &'a Plan,
    begun: SystemTime,
    first: Option<OwnedFd>,
    made: BTreeMap<PathBuf, Made>,
    repositories: BTreeSet<(PathBuf, bool)>,
}

/// A name that came to be.
#[derive(Default)]
struct Made {
    /// From where it was moved.
    from: Option<PathBuf>,
    /// What went again: another file of this name since then is somebody else's.
    left: Option<FileId>,
}

impl<'a> After<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let begun = SystemTime::now() - TICK;
        Self { plan, begun, first: None, made: BTreeMap::new(), repositories: BTreeSet::new() }
    }

    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Notes what a report says of it. Gives back what it is not for.
    pub(crate) fn note(&mut self, report: Report) -> Option<Report> {
        match report {
            // Its parent has not buried it yet, so the number is its own.
            Report::First(pid) => {
                self.first = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            }
            Report::Made { path, from } => {
                self.made.insert(path.into(), Made { from: from.map(PathBuf::from), left: None });
            }
            Report::Left { path, was } => self.made.entry(path.into()).or_default().left = Some(was),
            Report::Repository { path, below } => _ = self.repositories.insert((path.into(), below)),
            other => return Some(other),
        }
        None
    }

    /// Puts it right, once. What the program was not left is refused.
    pub(crate) fn finish(&mut self) -> Vec<Denial> {
        let (made, repositories) = (std::mem::take(&mut self.made), std::mem::take(&mut self.repositories));
        if made.is_empty() && repositories.is_empty() {
            return Vec::new();
        }
        if let Some(first) = self.first.take() {
            // The kernel buries the first process of a namespace behind everybody else in it.
            _ = poll(&mut [PollFd::new(&first, PollFlags::IN)], Some(&PATIENCE));
        }
        let mut refused = Vec::new();
        for (path, made) in made {
            // What could not be taken away is told all the more.
            if self.take_away(&path, &made).unwrap_or(true) {
                refused.push(path);
            }
        }
        refused.extend(repositories::set_aside(self.plan, &repositories));
        let denial = |path: PathBuf| Denial { kind: "write".to_owned(), target: path.to_string_lossy().into_owned() };
        refused.into_iter().map(denial).collect()
    }

    /// Takes one name away. Whether there was something to be taken.
    fn take_away(&self, path: &Path, made: &Made) -> Result<bool> {
        let Some(is) = FileId::of(path) else { return Ok(false) };
        if made.left.is_some_and(|left| left != is) {
            return Ok(false);
        }
        let (folder, at) = held(path)?;
        if let Some(from) = made.from.as_deref().filter(|_| self.is_older(is)) {
            // It was there before the call: it goes back to where it was, unless something else took its place.
            let (back, to) = held(from)?;
            let (Some(name), Some(there)) = (at.file_name(), to.file_name()) else { return Ok(false) };
            if renameat_with(&folder, name, &back, there, RenameFlags::NOREPLACE).is_ok() {
                return Ok(true);
            }
        }
        if !at.symlink_metadata()?.is_dir() {
            fs::remove_file(&at)?;
        } else if fs::remove_dir_all(&at).is_err() {
            open_up(&at, CHANGE, true);
            fs::remove_dir_all(&at)?;
        }
        Ok(true)
    }

    fn is_older(&self, file: FileId) -> bool {
        let begun = self.begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        file.born != 0 && file.born < begun.as_nanos()
    }
}

impl Drop for After<'_> {
    /// Also where nobody waited for the end.
    fn drop(&mut self) {
        self.finish();
    }
}

/// Gives the owner of a folder these rights to it, where they were taken away; with `below` also to all that lie in it.
pub(crate) fn open_up(folder: &Path, needed: u32, below: bool) {
    let Ok(found) = folder.symlink_metadata().map(|found| found.permissions()) else { return };
    if found.mode() & needed != needed {
        _ = fs::set_permissions(folder, fs::Permissions::from_mode(found.mode() | needed));
    }
    if below {
        let inside = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.for_each(|entry| open_up(&entry.path(), needed, true));
    }
}

/// A path by its folder, which was reached without any link: whatever became one meanwhile is not what was meant.
pub(crate) fn held(path: &Path) -> Result<(OwnedFd, PathBuf)> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let at = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, at))
}
