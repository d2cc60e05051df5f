//! What a call would do, read from its number, its arguments and the memory of its caller. Nothing is judged here.

use std::path::PathBuf;

use super::named::{memory, named, spelled};
use super::raw::Notice;
use super::target::{self, Target};

/// What a call would do.
pub(super) enum Would {
    Change(Vec<Change>),
    /// Starts a program.
    Run(PathBuf),
    Connect(Target),
    /// It reads names in another way than the kernel usually does, so they are not looked at: there is no such call.
    Otherwise,
}

/// One thing done to a path.
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) act: Act,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Opens it to be read.
    Read,
    /// Writes what is there.
    Write,
    /// Writes what is there, or makes it.
    Open,
    /// Makes something of this name that was not there.
    Make,
    /// Makes a link: a whole tree may come to be there by its name alone.
    Link,
    /// Makes a folder.
    Folder,
    /// Gives what is there another name.
    Source,
    Remove,
    /// Moves what is there away, with all below.
    Leave,
    /// Moves something there, with all below, from this path.
    Arrive(PathBuf),
    /// Changes mode, owner, times or attributes.
    Mode,
}

impl Act {
    /// The effect that a rule would have to allow.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write | Self::Open | Self::Make | Self::Link | Self::Folder | Self::Source | Self::Arrive(_) => {
                "write"
            }
            Self::Remove | Self::Leave => "delete",
            Self::Mode => "metadata",
        }
    }

    /// Whether a whole tree goes from there, or comes to be there, by its name alone.
    pub(super) fn moves(&self) -> bool {
        matches!(self, Self::Leave | Self::Arrive(_) | Self::Link)
    }

    /// Whether a name may come to be that was not there.
    pub(super) fn makes(&self) -> bool {
        matches!(self, Self::Open | Self::Make | Self::Link | Self::Folder | Self::Arrive(_))
    }
}

fn one(path: PathBuf, act: Act) -> Vec<Change> {
    vec![Change { path, act }]
}

fn moved(from: PathBuf, to: PathBuf, exchanged: bool) -> Vec<Change> {
    let mut changes = one(from.clone(), Act::Leave);
    changes.extend(one(to.clone(), Act::Arrive(from.clone())));
    if exchanged {
        changes.extend(one(from, Act::Arrive(to)));
    }
    changes
}

/// Another name; what is open and has no name yet has no path to be looked at.
fn linked(source: Option<PathBuf>, to: PathBuf) -> Vec<Change> {
    let source = source.into_iter().flat_map(|source| one(source, Act::Source));
    source.chain(one(to, Act::Make)).collect()
}

/// What opening with these flags does.
fn opening(flags: u64) -> Option<Act> {
    let has = |flag: i32| flags & u64::from(flag.cast_unsigned()) != 0;
    match () {
        // Nothing of it can be read or written by that.
        () if has(libc::O_PATH) => None,
        () if has(libc::O_CREAT) => Some(Act::Open),
        () if has(libc::O_WRONLY) || has(libc::O_RDWR) || has(libc::O_TRUNC) => Some(Act::Write),
        () => Some(Act::Read),
    }
}

/// What a call would do. `None` for nothing that is looked at.
pub(super) fn read(notice: &Notice) -> Option<Would> {
    let argument = |number: usize| notice.arguments.get(number).copied();
    let at = |folder: usize, path: usize, follows: bool| named(notice, argument(folder), argument(path)?, follows);
    let plain = |path: usize, follows: bool| named(notice, None, argument(path)?, follows);
    let flag =
        |number: usize, flag: i32| argument(number).is_some_and(|flags| flags & u64::from(flag.cast_unsigned()) != 0);
    let follows_at = |number: usize| !flag(number, libc::AT_SYMLINK_NOFOLLOW);
    let opened = |at: &dyn Fn(bool) -> Option<PathBuf>, flags: u64| {
        let act = opening(flags)?;
        Some(one(at(flags & u64::from(libc::O_NOFOLLOW.cast_unsigned()) == 0)?, act))
    };
    let changes = match notice.call {
        libc::SYS_openat => opened(&|follows| at(0, 1, follows), argument(2)?)?,
        libc::SYS_openat2 => {
            let how = memory(notice.pid, argument(2)?, 24)?;
            let field = |from: usize| Some(u64::from_ne_bytes(how.get(from..from + 8)?.try_into().ok()?));
            if field(16)? & libc::RESOLVE_IN_ROOT != 0 {
                return Some(Would::Otherwise);
            }
            opened(&|follows| at(0, 1, follows), field(0)?)?
        }
        libc::SYS_truncate => one(plain(0, true)?, Act::Write),
        libc::SYS_mkdirat => one(at(0, 1, false)?, Act::Folder),
        libc::SYS_mknodat => one(at(0, 1, false)?, Act::Make),
        libc::SYS_unlinkat => one(at(0, 1, false)?, Act::Remove),
        libc::SYS_renameat => moved(at(0, 1, false)?, at(2, 3, false)?, false),
        libc::SYS_renameat2 => moved(at(0, 1, false)?, at(2, 3, false)?, flag(4, EXCHANGE)),
        libc::SYS_linkat => linked(at(0, 1, flag(4, libc::AT_SYMLINK_FOLLOW)), at(2, 3, false)?),
        libc::SYS_symlinkat => one(at(1, 2, false)?, Act::Link),
        libc::SYS_fchmodat => one(at(0, 1, true)?, Act::Mode),
        libc::SYS_fchmodat2 | libc::SYS_utimensat => one(at(0, 1, follows_at(3))?, Act::Mode),
        libc::SYS_fchownat => one(at(0, 1, follows_at(4))?, Act::Mode),
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            one(named(notice, argument(0), 0, true)?, Act::Mode)
        }
        libc::SYS_setxattr | libc::SYS_removexattr => one(plain(0, true)?, Act::Mode),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => one(plain(0, false)?, Act::Mode),
        libc::SYS_execve => return Some(Would::Run(plain(0, true)?)),
        libc::SYS_execveat => return Some(Would::Run(at(0, 1, follows_at(4))?)),
        libc::SYS_bind => one(socket(notice)?, Act::Make),
        libc::SYS_connect => return target::target(notice.pid, argument(1)?, argument(2)?),
        libc::SYS_sendto => return target::target(notice.pid, argument(4)?, argument(5)?),
        libc::SYS_sendmsg | libc::SYS_sendmmsg => return target::messages(notice),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => opened(&|follows| plain(0, follows), argument(1)?)?,
        #[cfg(target_arch = "x86_64")]
        call => old_call(call, &plain)?,
        #[cfg(not(target_arch = "x86_64"))]
        _ => return None,
    };
    Some(Would::Change(changes))
}

/// `RENAME_EXCHANGE` of `linux/fs.h`.
const EXCHANGE: i32 = 2;

/// The calls of old, without a folder to start from.
#[cfg(target_arch = "x86_64")]
fn old_call(call: i64, plain: &dyn Fn(usize, bool) -> Option<PathBuf>) -> Option<Vec<Change>> {
    Some(match call {
        libc::SYS_creat => one(plain(0, true)?, Act::Open),
        libc::SYS_mkdir => one(plain(0, false)?, Act::Folder),
        libc::SYS_mknod => one(plain(0, false)?, Act::Make),
        libc::SYS_rmdir | libc::SYS_unlink => one(plain(0, false)?, Act::Remove),
        libc::SYS_rename => moved(plain(0, false)?, plain(1, false)?, false),
        libc::SYS_link => linked(plain(0, false), plain(1, false)?),
        libc::SYS_symlink => one(plain(1, false)?, Act::Link),
        libc::SYS_lchown => one(plain(0, false)?, Act::Mode),
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => one(plain(0, true)?, Act::Mode),
        libc::SYS_futimesat => one(plain(1, true)?, Act::Mode),
        _ => return None,
    })
}

/// The path at which a local socket is to listen.
fn socket(notice: &Notice) -> Option<PathBuf> {
    let bytes = memory(notice.pid, *notice.arguments.get(1)?, target::LONGEST_ADDRESS)?;
    let length = usize::try_from(*notice.arguments.get(2)?).ok()?;
    let (family, name) = bytes.get(..length.min(bytes.len()))?.split_at_checked(2)?;
    let local = i32::from(u16::from_ne_bytes(family.try_into().ok()?)) == libc::AF_UNIX;
    let name = name.split(|byte| *byte == 0).next().filter(|name| local && !name.is_empty())?;
    spelled(notice.pid, name, false)
}
