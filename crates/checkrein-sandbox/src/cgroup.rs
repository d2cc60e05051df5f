//! A control group for all processes of one call together, where the machine lets this process make one: their memory
//! and their number. Where it does not, the limits of each process are all there is, and `checkrein doctor` says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::Limits;

/// How the groups of calls are called.
const PREFIX: &str = "checkrein-";
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where groups can be made: the folder, and the file and the limit to be written there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    folder: PathBuf,
    limits: Vec<(&'static str, Kind)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Memory,
    Processes,
}

/// What this machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cgroups {
    places: Vec<Place>,
}

/// The group of one call. It is removed when this goes; by then its processes are dead.
pub(crate) struct Cgroup {
    folders: Vec<PathBuf>,
}

impl Cgroups {
    /// Looks where groups can be made, and tries it.
    pub(crate) fn look() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mut places = Vec::new();
        for line in own.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let named = |name: &str| controllers.split(',').any(|controller| controller == name);
            let limits: &[(&'static str, Kind)] = match () {
                () if controllers.is_empty() => &[("memory.max", Kind::Memory), ("pids.max", Kind::Processes)],
                () if named("memory") => &[("memory.limit_in_bytes", Kind::Memory)],
                () if named("pids") => &[("pids.max", Kind::Processes)],
                () => continue,
            };
            if let Some(top) = mounted(&mounts, controllers) {
                let folder = top.join(path.trim_start_matches('/'));
                places.push(Place { folder, limits: limits.to_vec() });
            }
        }
        let mut found = Self::default();
        for mut place in places {
            sweep(&place.folder);
            let Ok(folder) = make(&place.folder) else { continue };
            place.limits.retain(|(file, _)| writable(&folder.join(file)));
            _ = fs::remove_dir(&folder);
            let known =
                |kind: Kind| found.places.iter().any(|place| place.limits.iter().any(|(_, other)| *other == kind));
            place.limits.retain(|(_, kind)| !known(*kind));
            if !place.limits.is_empty() {
                found.places.push(place);
            }
        }
        found
    }

    /// What is limited for a call as a whole.
    pub(crate) fn words(&self) -> Option<String> {
        let kinds = self.places.iter().flat_map(|place| &place.limits).map(|(_, kind)| match kind {
            Kind::Memory => "memory",
            Kind::Processes => "processes",
        });
        let kinds: Vec<&str> = kinds.collect();
        (!kinds.is_empty()).then(|| kinds.join(" and "))
    }

    /// Makes the group of one call.
    pub(crate) fn begin(&self, limits: &Limits) -> std::io::Result<Cgroup> {
        let mut group = Cgroup { folders: Vec::new() };
        for place in &self.places {
            let folder = make(&place.folder)?;
            group.folders.push(folder.clone());
            for (file, kind) in &place.limits {
                let most = match kind {
                    Kind::Memory => limits.all_bytes,
                    Kind::Processes => limits.processes,
                };
                fs::write(folder.join(file), most.to_string())?;
            }
        }
        Ok(group)
    }
}

impl Cgroup {
    /// Puts a process in, and so all that it will start.
    pub(crate) fn take(&self, pid: u32) -> std::io::Result<()> {
        self.folders.iter().try_for_each(|folder| fs::write(folder.join("cgroup.procs"), pid.to_string()))
    }

    /// Whether the kernel ended something in it for want of memory.
    pub(crate) fn out_of_memory(&self) -> bool {
        let counted = ["memory.events", "memory.oom_control"];
        let files = self.folders.iter().flat_map(|folder| counted.map(|name| folder.join(name)));
        let mut texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.any(|text| text.lines().any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count != "0")))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // One whose last process has not been buried yet stays, and is swept away by a later session.
            _ = fs::remove_dir(folder);
        }
    }
}

fn make(below: &Path) -> std::io::Result<PathBuf> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = below.join(format!("{PREFIX}{}-{number}", std::process::id()));
    fs::create_dir(&folder)?;
    Ok(folder)
}

/// Removes what calls of processes that are gone have left. One that still has processes can not be removed.
fn sweep(below: &Path) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next().map(str::to_owned));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            _ = fs::remove_dir(entry.path());
        }
    }
}

fn writable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Where a hierarchy is mounted: the one without controllers is version 2.
fn mounted(mounts: &str, controllers: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (at, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match kind {
            "cgroup2" => controllers.is_empty(),
            "cgroup" => {
                !controllers.is_empty()
                    && controllers.split(',').all(|name| options.split(',').any(|option| option == name))
            }
            _ => false,
        };
        is_it.then(|| PathBuf::from(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_by_their_controllers() {
        let mounts = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n";
        let at = |controllers| mounted(mounts, controllers).map(|path| path.display().to_string());
        assert_eq!(at("").as_deref(), Some("/sys/fs/cgroup/unified"));
        assert_eq!(at("memory").as_deref(), Some("/sys/fs/cgroup/memory"));
        assert_eq!(at("cpu,cpuacct").as_deref(), Some("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(at("pids"), None);
    }
}
