//! The last limit: what a call may take of the machine's memory and disks as a whole, however many processes it has and
//! whatever kind of memory it takes. It looks at what is left ten times a second, so it counts what others take meanwhile
//! as well: it is there so that no call takes a machine down, not to share one out.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::event::Timespec;
use rustix::process::Pid;

use crate::plan::{Limits, NodeKind, Plan};

/// Time between two looks.
pub(super) const EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// The part of what was left in the beginning that stays, in percent: of memory little, since the kernel ends somebody
/// else when there is none; of a disk half, since it stays full.
const MEMORY_STAYS: u64 = 10;
const DISK_STAYS: u64 = 50;

/// What has to stay.
pub(super) struct Room {
    memory: Option<(File, u64)>,
    disks: Vec<(PathBuf, u64)>,
    /// What its processes may have for themselves together.
    private: u64,
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
        for node in plan.view.iter().filter(|node| node.kind == NodeKind::Write) {
            let Ok(found) = rustix::fs::statvfs(&node.at) else { continue };
            if !seen.contains(&found.f_fsid) {
                seen.push(found.f_fsid);
                let left = found.f_bavail.saturating_mul(found.f_frsize);
                disks.push((PathBuf::from(&node.at), stays(left, disk_bytes, DISK_STAYS)));
            }
        }
        Self { memory, disks, private: all_bytes }
    }

    /// What has run out, in a word. `processes` are those of the call.
    pub(super) fn exhausted(&self, processes: &[Pid]) -> Option<&'static str> {
        let machine =
            self.memory.as_ref().is_some_and(|(file, stays)| available(file).is_some_and(|left| left < *stays));
        let memory = machine || private_bytes(processes) > self.private;
        let disk = self.disks.iter().any(|(path, stays)| free(path).is_some_and(|left| left < *stays));
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

fn free(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Bytes of memory that these processes have each for itself.
fn private_bytes(processes: &[Pid]) -> u64 {
    let pages = processes.iter().filter_map(|pid| {
        // Size, resident, shared, in pages.
        let text = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
        let mut numbers = text.split(' ').skip(1).map_while(|number| number.parse::<u64>().ok());
        Some(numbers.next()?.saturating_sub(numbers.next()?))
    });
    pages.sum::<u64>().saturating_mul(rustix::param::page_size() as u64)
}

/// Bytes of memory that are left, as the kernel estimates them.
fn available(file: &File) -> Option<u64> {
    let mut bytes = [0_u8; 256];
    let read = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(bytes.get(..read)?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
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
