//! The last limit: what a call may take of the machine's memory and disks as a whole, however many processes it has and
//! whatever kind of memory it takes. It looks at what is left ten times a second, so it counts what others take meanwhile
//! as well: it is there so that no call takes a machine down, not to share one out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::fs::{StatVfs, statvfs};
use rustix::process::Pid;

use crate::plan::{Limits, NodeKind, Plan, told_bytes};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(90);
/// How often somebody asks whether it is time.
pub(super) const EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// The part of what was left in the beginning that stays, in percent: of memory little, since the kernel ends somebody
/// else when there is none; of a disk half, since it stays full.
const MEMORY_STAYS: u64 = 10;
const DISK_STAYS: u64 = 50;

/// What has to stay.
pub(super) struct Room {
    memory: Option<(File, u64)>,
    disks: Vec<(PathBuf, u64)>,
    /// What its processes may have together.
    held: u64,
    /// When to look again.
    next: Instant,
}

impl Room {
    /// Looks at what is left now. `meminfo` was opened before the view was entered.
    pub(super) fn begin(meminfo: Option<File>, plan: &Plan) -> Self {
        let Limits { all_bytes, disk_bytes, .. } = plan.limits;
        let memory = meminfo.and_then(|file| {
            let left = available(&file)?;
            Some((file, stays(left, all_bytes, MEMORY_STAYS)))
        });
        let mut disks: Vec<(PathBuf, u64)> = Vec::new();
        let mut seen = Vec::new();
        for node in plan.view.iter().filter(|node| matches!(node.kind, NodeKind::Write | NodeKind::Opened)) {
            let Ok(found) = statvfs(&node.at) else { continue };
            if !seen.contains(&found.f_fsid) {
                seen.push(found.f_fsid);
                disks.push((PathBuf::from(&node.at), stays(free(&found), disk_bytes, DISK_STAYS)));
            }
        }
        Self { memory, disks, held: all_bytes, next: Instant::now() }
    }

    /// What has run out, in a word, where it is time to look. `processes` are those of the call.
    pub(super) fn exhausted(&mut self, processes: impl FnOnce() -> Vec<Pid>) -> Option<&'static str> {
        let begun = Instant::now();
        if begun < self.next {
            return None;
        }
        let machine =
            self.memory.as_ref().is_some_and(|(file, stays)| available(file).is_some_and(|left| left < *stays));
        let memory = machine || held_bytes(&processes()) > self.held;
        let disk = self.disks.iter().any(|(path, stays)| statvfs(path).is_ok_and(|found| free(&found) < *stays));
        // Where there is much to look at, it is looked at less often.
        let took = begun.elapsed();
        self.next = begun + took + PAUSE.max(took * 20);
        match (memory, disk) {
            (true, _) => Some("memory"),
            (false, true) => Some("disk"),
            (false, false) => None,
        }
    }
}

fn stays(left: u64, most: u64, percent: u64) -> u64 {
    left.saturating_sub(most).max(left / 100 * percent)
}

/// Bytes that a user may still write.
fn free(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

/// Bytes of memory that these processes have: each for itself, what they share without a file, and files in memory that
/// they hold open. What several of them share counts for each, so a call seems to have rather more than it has.
fn held_bytes(processes: &[Pid]) -> u64 {
    let mut files = BTreeMap::new();
    let mut total = 0_u64;
    for pid in processes {
        let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        for kind in ["RssAnon:", "RssShmem:"] {
            total = total.saturating_add(told_bytes(&status, kind).unwrap_or(0));
        }
        for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let in_memory = fs::read_link(entry.path())
                .is_ok_and(|name| name.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"));
            if in_memory && let Ok(found) = fs::metadata(entry.path()) {
                files.insert((found.dev(), found.ino()), found.blocks().saturating_mul(512));
            }
        }
    }
    total.saturating_add(files.values().sum())
}

/// Bytes of memory that are left, as the kernel estimates them.
fn available(file: &File) -> Option<u64> {
    let mut bytes = [0_u8; 256];
    let read = file.read_at(&mut bytes, 0).ok()?;
    told_bytes(std::str::from_utf8(bytes.get(..read)?).ok()?, "MemAvailable:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_what_was_left_less_the_limit() {
        assert_eq!(stays(1_000, 100, 10), 900);
        assert_eq!(stays(1_000, 2_000, 10), 100, "never all of it");
        assert_eq!(stays(1_000, u64::MAX, 50), 500);
        assert!(available(&File::open("/proc/meminfo").unwrap()).unwrap() > 1 << 20);
    }
}
