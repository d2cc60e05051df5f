//! Truth about refusals: each call that changes something by its path, starts a program or connects, is looked at here
//! before the kernel carries it out. What the view does not give is refused, and told with its true target; all else goes on, under every
//! other layer. What a call names lies in the caller's memory, where another thread may change it meanwhile: so this
//! layer tells and refuses, but nothing that the others give is held by it alone.

mod kept;
mod named;
mod opened;
mod repositories;
mod shared;
mod target;
mod would;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use self::kept::Kept;
use self::opened::{Fate, Opened};
use self::shared::Shared;
use self::target::{Target, is_loopback};
use self::would::{Act, Change, Would};
use super::{Reports, raw};
use crate::plan::{Node, NodeKind, Plan, Report, Repository, innermost};

/// Different refusals that are told of one run.
const MOST_TOLD: usize = 64;
/// Folders of git's that may come to be in one run.
const MOST_REPOSITORIES: usize = 4_096;

pub(super) struct Notices {
    listener: OwnedFd,
    view: Vec<Node>,
    sockets: Vec<(u64, u64)>,
    named: Vec<PathBuf>,
    repositories: Vec<Repository>,
    kept: Kept,
    opened: Opened,
    shared: Shared,
    network: bool,
    open: bool,
    told: Vec<Report>,
    /// Where folders of git's may have come to be, and whether anywhere below.
    come: BTreeSet<(PathBuf, bool)>,
}

/// Why not: the effect that a rule would have to allow, and the target.
type Refusal = (&'static str, String);

impl Notices {
    /// Takes what the program's process offers when its filter is in place; `None` when it could not be.
    pub(super) fn taken(mut from: &UnixStream, program: Pid, plan: &Plan) -> Option<Self> {
        let mut number = [0_u8; 4];
        from.read_exact(&mut number).ok()?;
        let process = pidfd_open(program, PidfdFlags::empty()).ok()?;
        let number = ForeignRawFd::from(i32::from_ne_bytes(number));
        let listener = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?;
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::CLOEXEC).ok()?;
        from.write_all(b"!").ok()?;
        let (network, open) = (plan.layers.network, plan.layers.open_network);
        Some(Self {
            listener,
            view: plan.view.clone(),
            sockets: plan.sockets.clone(),
            named: plan.named.iter().map(PathBuf::from).collect(),
            repositories: plan.repositories.clone(),
            kept: Kept::new(plan.kept.clone()),
            opened: Opened::default(),
            shared: Shared::default(),
            network,
            open,
            told: Vec::new(),
            come: BTreeSet::new(),
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Looks at one call and answers it.
    pub(super) fn answer_one(&mut self, reports: &Reports) {
        let Some(notice) = raw::take_notice(self.fd()) else { return };
        let would = would::read(&notice);
        // Its process may have gone, and another have its number: then what was read is somebody else's.
        if !raw::still_waits(self.fd(), notice.id) {
            return;
        }
        let refusal = match would {
            // What can not be read is refused by the kernel as well, or held by the other layers.
            None => None,
            Some(Would::Change(changes)) => changes.iter().find_map(|change| self.refused(change, reports)),
            Some(Would::Run(program)) => self.refused_program(&program, reports),
            Some(Would::Connect(target)) => self.refused_connection(target).map(|target| ("connect", target)),
            Some(Would::Otherwise) => return raw::answer(self.fd(), notice.id, Some(libc::ENOSYS)),
        };
        let error = refusal.map(|(kind, target)| {
            self.tell(reports, Report::Denied { kind: kind.to_owned(), target });
            libc::EACCES
        });
        raw::answer(self.fd(), notice.id, error);
    }

    /// Tells each thing once.
    fn tell(&mut self, reports: &Reports, report: Report) {
        if self.told.len() < MOST_TOLD && !self.told.contains(&report) {
            reports.tell(&report);
            self.told.push(report);
        }
    }

    /// Whether a change is not to be carried out: as the innermost place says that holds its path, and then by what is in
    /// that place.
    fn refused(&mut self, change: &Change, reports: &Reports) -> Option<Refusal> {
        let Change { path, act } = change;
        let refusal = || Some((act.kind(), path.to_string_lossy().into_owned()));
        if path.starts_with("/dev") || path.starts_with("/proc") {
            // Its own devices, and what the kernel shows of processes: the view decides there.
            return None;
        }
        if *act == Act::Folder && path.is_dir() {
            // It is not made: the kernel says that it is there.
            return None;
        }
        let place = innermost(&self.view, path);
        let kind = place.map(|node| &node.kind);
        if *act == Act::Read {
            // A folder's names may be learnt.
            return (kind == Some(&NodeKind::List) && !path.is_dir()).then(refusal).flatten();
        }
        let fine = match kind {
            Some(NodeKind::Private | NodeKind::Layered) => return self.moved_wrongly(change).then(refusal).flatten(),
            Some(NodeKind::Write | NodeKind::Opened) => !self.moved_wrongly(change),
            Some(NodeKind::Removed) => return (act.kind() != "delete").then(refusal).flatten(),
            Some(NodeKind::Mode) => return (act.kind() != "metadata").then(refusal).flatten(),
            _ => return refusal(),
        };
        if !fine {
            return refusal();
        }
        let opened = place.filter(|node| node.kind == NodeKind::Opened).map(|node| PathBuf::from(&node.at));
        // Granted to the letter: no rule keeps it, whatever other names it has.
        if !self.named.contains(path) {
            if let Some(kept) = self.kept.spoken_of(path, act).into_iter().find(|kept| !reports.may_write(kept)) {
                return Some(("write", kept.to_string_lossy().into_owned()));
            }
            let held = act.kind() != "delete" && repositories::is_held(&self.repositories, &self.named, path, act);
            let mut reaches_out =
                || matches!(act, Act::Write | Act::Open | Act::Mode) && self.shared.reaches_out(&self.view, path);
            if held || reaches_out() {
                return refusal();
            }
        }
        if let Some(folder) = opened {
            match self.opened.judge(&folder, path, act, &self.named) {
                Fate::Refused => return refusal(),
                Fate::Fine => {}
                Fate::Told(report) => reports.tell(&report),
            }
        }
        if self.tell_repositories(path, act, reports) { None } else { refusal() }
    }

    /// Tells where folders of git's may come to be. Whether that could be told.
    fn tell_repositories(&mut self, path: &Path, act: &Act, reports: &Reports) -> bool {
        repositories::may_come(path, act).into_iter().all(|(at, below)| {
            let Some(text) = at.to_str().map(str::to_owned) else { return false };
            if !self.come.contains(&(at.clone(), below)) {
                if self.come.len() >= MOST_REPOSITORIES {
                    return false;
                }
                self.come.insert((at, below));
                reports.tell(&Report::Repository { path: text, below });
            }
            true
        })
    }

    fn moved_wrongly(&self, change: &Change) -> bool {
        change.act.moves() && self.holds_something(&change.path)
    }

    /// Whether a program is not to be started. What is not in the view is not there, and the kernel says so; what it does
    /// not say is why.
    fn refused_program(&mut self, path: &Path, reports: &Reports) -> Option<Refusal> {
        let kind = innermost(&self.view, path).map(|node| &node.kind);
        match kind {
            Some(NodeKind::List) => return Some(("read", path.to_string_lossy().into_owned())),
            Some(NodeKind::Read | NodeKind::Write | NodeKind::Opened | NodeKind::Layered) => {}
            // What lies there outside is there inside, or something of its own is.
            _ if path.exists() => {}
            _ => self.tell(reports, Report::NotGiven { program: path.to_string_lossy().into_owned() }),
        }
        None
    }

    /// Whether the view gives this path to be changed.
    fn may_change(&self, path: &Path) -> bool {
        let kind = innermost(&self.view, path).map(|node| &node.kind);
        path.starts_with("/dev")
            || path.starts_with("/proc")
            || matches!(kind, Some(NodeKind::Write | NodeKind::Opened | NodeKind::Private | NodeKind::Layered))
    }

    /// Whether something below this path is held or hidden, or may not come to be: moving a tree away, or another to its
    /// place, would get around that.
    fn holds_something(&self, path: &Path) -> bool {
        let given = |kind: &NodeKind| {
            matches!(
                kind,
                NodeKind::Write | NodeKind::Opened | NodeKind::Private | NodeKind::Layered | NodeKind::Link(_)
            )
        };
        let mut below = self.view.iter().filter(|node| path != Path::new(&node.at));
        below.any(|node| Path::new(&node.at).starts_with(path) && !given(&node.kind))
    }

    /// What is not to be connected to.
    fn refused_connection(&self, target: Target) -> Option<String> {
        match target {
            // In a network namespace of its own, its own loopback is there for it.
            Target::Internet(to) => (!self.open && (!self.network || !is_loopback(to.ip()))).then(|| to.to_string()),
            // What is not there can not be connected to, and the kernel says so.
            Target::Socket(path) => {
                let there = path.metadata().ok()?;
                // By its number, which another name does not change.
                let others = self.sockets.contains(&(there.dev(), there.ino()));
                (others || !self.may_change(&path)).then(|| path.to_string_lossy().into_owned())
            }
            Target::Other => None,
        }
    }
}
