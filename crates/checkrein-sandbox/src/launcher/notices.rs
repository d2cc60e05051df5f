//! Truth about refusals: each call that changes something by its path, starts a program or connects, is looked at here
//! before the kernel carries it out. What the view does not give is refused, and told with its true target; all else goes on, under every
//! other layer. What a call names lies in the caller's memory, where another thread may change it meanwhile: so this
//! layer tells and refuses, but nothing that the others give is held by it alone.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};

use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::Reports;
use super::raw::{self, Notice};
use crate::plan::{Node, NodeKind, Plan, Report, innermost};

/// Different refusals that are told of one run.
const MOST_TOLD: usize = 64;
/// Messages of one call that are looked at.
const MOST_MESSAGES: u64 = 64;
/// Longest path that the kernel takes, bytes.
const LONGEST_PATH: usize = 4096;

pub(super) struct Notices {
    listener: OwnedFd,
    view: Vec<Node>,
    sockets: Vec<(u64, u64)>,
    network: bool,
    open: bool,
    told: Vec<Report>,
}

/// What a call would do.
enum Would {
    Change(Vec<Change>),
    /// Starts a program.
    Run(PathBuf),
    Connect(Target),
}

/// One change by a path.
struct Change {
    kind: &'static str,
    path: PathBuf,
    /// A whole tree goes from there, or comes to be there, by its name alone.
    moved: bool,
}

impl Change {
    fn new(kind: &'static str, path: PathBuf) -> Self {
        Self { kind, path, moved: false }
    }

    fn moved(kind: &'static str, path: PathBuf) -> Self {
        Self { kind, path, moved: true }
    }
}

enum Target {
    Internet(SocketAddr),
    Socket(PathBuf),
    Other,
}

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
        Some(Self { listener, view: plan.view.clone(), sockets: plan.sockets.clone(), network, open, told: Vec::new() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Looks at one call and answers it.
    pub(super) fn answer_one(&mut self, reports: &Reports) {
        let Some(notice) = raw::take_notice(self.fd()) else { return };
        let would = read(&notice);
        // Its process may have gone, and another have its number: then what was read is somebody else's.
        if !raw::still_waits(self.fd(), notice.id) {
            return;
        }
        let error = match would {
            // What can not be read is refused by the kernel as well, or held by the other layers.
            None => None,
            Some(Would::Change(paths)) => {
                let refused = paths.into_iter().find(|change| {
                    !self.may_change(&change.path) || change.moved && self.holds_something(&change.path)
                });
                refused.map(|change| {
                    self.deny(reports, change.kind, change.path.to_string_lossy().into_owned());
                    libc::EACCES
                })
            }
            Some(Would::Run(program)) => {
                // What is not in the view is not there, and the kernel says so; what it does not say is why.
                if !self.may_run(&program) {
                    let program = program.to_string_lossy().into_owned();
                    self.tell(reports, Report::NotGiven { program });
                }
                None
            }
            Some(Would::Connect(target)) => self.refused_connection(target).map(|target| {
                self.deny(reports, "connect", target);
                libc::EACCES
            }),
        };
        raw::answer(self.fd(), notice.id, error);
    }

    /// Tells each thing once.
    fn tell(&mut self, reports: &Reports, report: Report) {
        if self.told.len() < MOST_TOLD && !self.told.contains(&report) {
            reports.tell(&report);
            self.told.push(report);
        }
    }

    fn deny(&mut self, reports: &Reports, kind: &str, target: String) {
        self.tell(reports, Report::Denied { kind: kind.to_owned(), target });
    }

    /// Whether the view gives this path to be changed: as the innermost place that holds it says.
    fn may_change(&self, path: &Path) -> bool {
        if path.starts_with("/dev") || path.starts_with("/proc") {
            // Its own devices, and what the kernel shows of processes: the view decides there.
            return true;
        }
        let kind = innermost(&self.view, path);
        matches!(kind, Some(NodeKind::Write | NodeKind::Private | NodeKind::Layered))
    }

    /// Whether the view gives this program to be run: what lies there outside is there inside, or something of its own is.
    fn may_run(&self, path: &Path) -> bool {
        let given = matches!(innermost(&self.view, path), Some(NodeKind::Read | NodeKind::Write | NodeKind::Layered));
        given || path.exists()
    }

    /// Whether something below this path is held or hidden, or may not come to be: moving a tree away, or another to its
    /// place, would get around that.
    fn holds_something(&self, path: &Path) -> bool {
        let given = |kind: &NodeKind| {
            matches!(kind, NodeKind::Write | NodeKind::Private | NodeKind::Layered | NodeKind::Link(_))
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

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || address.is_unspecified()
}

/// What a call would do, read from its caller's memory.
fn read(notice: &Notice) -> Option<Would> {
    let at = |folder: usize, path: usize, follows: bool| {
        let folder = notice.arguments.get(folder).copied().unwrap_or(0);
        named(notice, Some(folder), *notice.arguments.get(path)?, follows)
    };
    let plain = |path: usize, follows: bool| named(notice, None, *notice.arguments.get(path)?, follows);
    let flag = |argument: usize, flag: i32| {
        notice.arguments.get(argument).is_some_and(|flags| flags & u64::from(flag.cast_unsigned()) != 0)
    };
    let follows_at = |argument: usize| !flag(argument, libc::AT_SYMLINK_NOFOLLOW);
    let changes = match notice.call {
        libc::SYS_openat => vec![Change::new("write", at(0, 1, !flag(2, libc::O_NOFOLLOW))?)],
        libc::SYS_openat2 => {
            let how = memory(notice.pid, *notice.arguments.get(2)?, 8)?;
            let flags = u64::from_ne_bytes(how.try_into().ok()?);
            let changing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();
            if flags & u64::from(changing) == 0 {
                return None;
            }
            vec![Change::new("write", at(0, 1, flags & u64::from(libc::O_NOFOLLOW.cast_unsigned()) == 0)?)]
        }
        libc::SYS_truncate => vec![Change::new("write", plain(0, true)?)],
        libc::SYS_mkdirat | libc::SYS_mknodat => vec![Change::new("write", at(0, 1, false)?)],
        libc::SYS_unlinkat => vec![Change::new("delete", at(0, 1, false)?)],
        libc::SYS_renameat | libc::SYS_renameat2 => {
            vec![Change::moved("delete", at(0, 1, false)?), Change::moved("write", at(2, 3, false)?)]
        }
        libc::SYS_linkat => vec![Change::new("write", at(0, 1, false)?), Change::new("write", at(2, 3, false)?)],
        libc::SYS_symlinkat => vec![Change::moved("write", at(1, 2, false)?)],
        libc::SYS_fchmodat => vec![Change::new("metadata", at(0, 1, true)?)],
        libc::SYS_fchmodat2 | libc::SYS_utimensat => vec![Change::new("metadata", at(0, 1, follows_at(3))?)],
        libc::SYS_fchownat => vec![Change::new("metadata", at(0, 1, follows_at(4))?)],
        libc::SYS_setxattr | libc::SYS_removexattr => vec![Change::new("metadata", plain(0, true)?)],
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => vec![Change::new("metadata", plain(0, false)?)],
        libc::SYS_execve => return Some(Would::Run(plain(0, true)?)),
        libc::SYS_execveat => return Some(Would::Run(at(0, 1, !flag(4, libc::AT_SYMLINK_NOFOLLOW))?)),
        libc::SYS_connect => return target(notice.pid, *notice.arguments.get(1)?, *notice.arguments.get(2)?),
        libc::SYS_sendto => return target(notice.pid, *notice.arguments.get(4)?, *notice.arguments.get(5)?),
        libc::SYS_sendmsg | libc::SYS_sendmmsg => return messages(notice),
        #[cfg(target_arch = "x86_64")]
        call => old_call(call, &plain, flag(1, libc::O_NOFOLLOW))?,
        #[cfg(not(target_arch = "x86_64"))]
        _ => return None,
    };
    Some(Would::Change(changes))
}

/// The calls of old, without a folder to start from.
#[cfg(target_arch = "x86_64")]
fn old_call(call: i64, plain: &dyn Fn(usize, bool) -> Option<PathBuf>, no_follow: bool) -> Option<Vec<Change>> {
    Some(match call {
        libc::SYS_open => vec![Change::new("write", plain(0, !no_follow)?)],
        libc::SYS_creat => vec![Change::new("write", plain(0, true)?)],
        libc::SYS_mkdir | libc::SYS_mknod => vec![Change::new("write", plain(0, false)?)],
        libc::SYS_rmdir | libc::SYS_unlink => vec![Change::new("delete", plain(0, false)?)],
        libc::SYS_rename => vec![Change::moved("delete", plain(0, false)?), Change::moved("write", plain(1, false)?)],
        libc::SYS_link => vec![Change::new("write", plain(0, false)?), Change::new("write", plain(1, false)?)],
        libc::SYS_symlink => vec![Change::moved("write", plain(1, false)?)],
        libc::SYS_lchown => vec![Change::new("metadata", plain(0, false)?)],
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
            vec![Change::new("metadata", plain(0, true)?)]
        }
        libc::SYS_futimesat => vec![Change::new("metadata", plain(1, true)?)],
        _ => return None,
    })
}

/// The real path that a call names. `None` for none at all (an open file is meant), and for one that can not be.
fn named(notice: &Notice, folder: Option<u64>, address: u64, follows: bool) -> Option<PathBuf> {
    let bytes = text(notice.pid, address)?;
    let written = PathBuf::from(String::from_utf8(bytes).ok()?);
    if written.as_os_str().is_empty() {
        return None;
    }
    let pid = notice.pid;
    let start = || match folder.map(|folder| (folder & 0xffff_ffff) as u32).map(u32::cast_signed) {
        Some(number) if number != libc::AT_FDCWD => fs::read_link(format!("/proc/{pid}/fd/{number}")).ok(),
        _ => fs::read_link(format!("/proc/{pid}/cwd")).ok(),
    };
    let whole = if written.is_absolute() { written } else { start()?.join(written) };
    Some(real(&own_links(&whole, pid), follows))
}

/// "Self" below `/proc` is whoever asks: here the caller.
fn own_links(path: &Path, pid: i32) -> PathBuf {
    match path.strip_prefix("/proc/self").or_else(|_| path.strip_prefix("/proc/thread-self")) {
        Ok(rest) => Path::new(&format!("/proc/{pid}")).join(rest),
        Err(_) => path.to_owned(),
    }
}

/// Without links and dots, as far as it is there. The last part is kept as it is where it is not followed.
fn real(path: &Path, follows: bool) -> PathBuf {
    if follows && let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
        return path.canonicalize().unwrap_or_else(|_| path.to_owned());
    };
    let parent = parent.canonicalize().unwrap_or_else(|_| real(parent, true));
    let whole = parent.join(name);
    match fs::read_link(&whole) {
        // It leads to what is not there yet: that is what would be made.
        Ok(target) if follows => real(&parent.join(target), false),
        _ => whole,
    }
}

/// Where messages go that name their target themselves; the first that is not to be reached counts, or the first.
fn messages(notice: &Notice) -> Option<Would> {
    const HEAD: u64 = size_of::<libc::msghdr>() as u64;
    const EACH: u64 = size_of::<libc::mmsghdr>() as u64;
    let count = if notice.call == libc::SYS_sendmmsg { (*notice.arguments.get(2)?).min(MOST_MESSAGES) } else { 1 };
    let mut first = None;
    for number in 0..count {
        let at = notice.arguments.get(1)?.checked_add(number * EACH)?;
        let head = memory(notice.pid, at, usize::try_from(HEAD).ok()?)?;
        let field = |from: usize| Some(u64::from_ne_bytes(head.get(from..from + 8)?.try_into().ok()?));
        let (address, length) = (field(0)?, field(8)? & 0xffff_ffff);
        let would = if address == 0 { None } else { target(notice.pid, address, length) };
        if matches!(would, Some(Would::Connect(Target::Socket(_)))) {
            return would;
        }
        first = first.or(would);
    }
    first
}

fn target(pid: i32, address: u64, length: u64) -> Option<Would> {
    let length = usize::try_from(length).ok()?.min(128);
    let bytes = memory(pid, address, length)?;
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    let target = match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Target::Internet(SocketAddr::new(Ipv4Addr::from(address).into(), port()?))
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Target::Internet(SocketAddr::new(Ipv6Addr::from(address).into(), port()?))
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            // A name without a file is held by the network namespace and by Landlock.
            if name.is_empty() {
                return Some(Would::Connect(Target::Other));
            }
            let written = PathBuf::from(String::from_utf8(name.to_vec()).ok()?);
            let whole = match written.is_absolute() {
                true => written,
                false => fs::read_link(format!("/proc/{pid}/cwd")).ok()?.join(written),
            };
            Target::Socket(real(&own_links(&whole, pid), true))
        }
        _ => Target::Other,
    };
    Some(Would::Connect(target))
}

fn text(pid: i32, address: u64) -> Option<Vec<u8>> {
    let mut bytes = memory(pid, address, LONGEST_PATH)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

/// What lies there, up to so many bytes; less where the mapping ends.
fn memory(pid: i32, address: u64, most: usize) -> Option<Vec<u8>> {
    let mut file = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    file.seek(SeekFrom::Start(address)).ok()?;
    let mut bytes = vec![0_u8; most];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) | Err(_) => break,
            Ok(read) => filled += read,
        }
    }
    bytes.truncate(filled);
    (filled > 0).then_some(bytes)
}
