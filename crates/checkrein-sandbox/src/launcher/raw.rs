//! The few system calls that no library wraps safely: fork, namespaces, and what belongs to them. Nothing here decides
//! anything. Every function is called from a process with one thread.

#![expect(unsafe_code, reason = "fork, clone3, mount_setattr and seccomp have no safe wrapper")]

use std::ffi::CString;
use std::fs;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::process::Pid;

/// Which side of a fork this is.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Which namespaces of its own a process gets.
#[derive(Clone, Copy)]
pub(super) struct Spaces {
    /// User, mount, process, IPC, host name and cgroup.
    pub(super) own: bool,
    pub(super) network: bool,
}

/// Starts a copy of this process in namespaces of its own, so that it is the first one there.
pub(super) fn fork_into(spaces: Spaces) -> Result<Forked> {
    if !spaces.own {
        return fork();
    }
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if spaces.network {
        flags |= libc::CLONE_NEWNET;
    }
    // SAFETY: all zero is a valid `clone_args`: no stack, so the child goes on with a copy of this one, as after a fork.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(flags.cast_unsigned());
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: the struct lives through the call and its size is its own; there is one thread, so the copy is whole.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    side(i32::try_from(pid).unwrap_or(-1))
}

/// Starts a copy of this process.
pub(super) fn fork() -> Result<Forked> {
    // SAFETY: there is one thread, so nothing is left half done in the child.
    side(unsafe { libc::fork() })
}

fn side(pid: i32) -> Result<Forked> {
    match pid {
        0 => Ok(Forked::Child),
        ..0 => Err(Error::last_os_error()),
        pid => Pid::from_raw(pid).map(Forked::Parent).ok_or_else(Error::last_os_error),
    }
}

/// Ends this process at once.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: it does not come back, and runs nothing that a forked copy must not run.
    unsafe { libc::_exit(code) }
}

/// Tells who the users of a new user namespace are: an ordinary user only itself, root everybody that it knows.
pub(super) fn map_users(child: Pid) -> Result<()> {
    let child = format!("/proc/{}", child.as_raw_nonzero());
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    if user == 0 {
        for map in ["uid_map", "gid_map"] {
            let own = fs::read_to_string(format!("/proc/self/{map}"))?;
            let lines = own.lines().filter_map(|line| {
                let mut fields = line.split_whitespace();
                let (inside, _, count) = (fields.next()?, fields.next()?, fields.next()?);
                Some(format!("{inside} {inside} {count}\n"))
            });
            fs::write(format!("{child}/{map}"), lines.collect::<String>())?;
        }
        return Ok(());
    }
    fs::write(format!("{child}/setgroups"), "deny")?;
    fs::write(format!("{child}/uid_map"), format!("{user} {user} 1"))?;
    fs::write(format!("{child}/gid_map"), format!("{group} {group} 1"))
}

/// A request to end is for those inside; the launcher goes when they have gone.
pub(super) fn ignore_termination() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: ignoring a signal runs nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// What a program expects: no signal ignored or blocked.
pub(super) fn default_signals() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: restoring the default runs nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is filled in by `sigemptyset` before it is read.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Blocks the ends of children and requests to end, and gives them as something to read.
pub(super) fn signals() -> Result<OwnedFd> {
    // SAFETY: the set is filled in before it is used; the descriptor is new and owned by nobody else.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        owned(i64::from(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)))
    }
}

/// Reads one signal, if there is one.
pub(super) fn next_signal(signals: &OwnedFd) -> Option<i32> {
    let mut bytes = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let read = rustix::io::read(signals, &mut bytes).ok()?;
    // The number of the signal is its first field.
    let number = bytes.get(..4).filter(|_| read == bytes.len())?;
    Some(i32::from_ne_bytes(number.try_into().ok()?))
}

/// Sets attributes of a mount, and of all below it as well if asked to.
pub(super) fn set_mount(mount: BorrowedFd<'_>, attributes: u64, below: bool) -> Result<()> {
    let set = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, the struct lives through the call and its size is its own.
    let done = unsafe {
        let size = size_of::<libc::mount_attr>();
        libc::syscall(libc::SYS_mount_setattr, mount.as_raw_fd(), c"".as_ptr(), flags, &raw const set, size)
    };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Switches the loopback of this network namespace on.
pub(super) fn loopback_up() -> Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: all zero is a valid `ifreq`; name and flags are then filled in, and it lives through the call.
    let done = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes_with_nul()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Every descriptor from this one on closes when the program starts.
pub(super) fn close_from(first: u32) -> Result<()> {
    // SAFETY: descriptors are only marked, none is closed under anybody's hands.
    let done = unsafe { libc::close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed()) };
    if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Installs a filter of system calls for good; with notices, gives what they are read from.
pub(super) fn install(filter: &[seccompiler::sock_filter], notices: bool) -> Result<Option<OwnedFd>> {
    let length = u16::try_from(filter.len()).map_err(|_| Error::other("the filter is too long"))?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut().cast() };
    let flags = if notices { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
    // SAFETY: both filter types have the kernel's layout, and the kernel copies the program before it returns.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if !notices {
        return if done == 0 { Ok(None) } else { Err(Error::last_os_error()) };
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    unsafe { owned(done) }.map(Some)
}

/// One call that waits for an answer.
pub(super) struct Notice {
    pub(super) id: u64,
    pub(super) pid: i32,
    pub(super) call: i64,
    pub(super) arguments: [u64; 6],
}

/// Takes the next notice; `None` when whoever made the call is gone already.
pub(super) fn take_notice(notices: BorrowedFd<'_>) -> Option<Notice> {
    // SAFETY: the kernel wants the struct zeroed, and fills it in.
    let notice = unsafe {
        let mut notice: libc::seccomp_notif = std::mem::zeroed();
        let done = libc::ioctl(notices.as_raw_fd(), SECCOMP_IOCTL_NOTIF_RECV, &raw mut notice);
        (done == 0).then_some(notice)?
    };
    let pid = i32::try_from(notice.pid).ok()?;
    Some(Notice { id: notice.id, pid, call: i64::from(notice.data.nr), arguments: notice.data.args })
}

/// Whether the call still waits: only then is what was read of its process that of the caller.
pub(super) fn still_waits(notices: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the number lives through the call.
    unsafe { libc::ioctl(notices.as_raw_fd(), SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Answers: an error, or `None` to let the kernel carry the call out (under every other layer).
pub(super) fn answer(notices: BorrowedFd<'_>, id: u64, error: Option<i32>) {
    let flags = if error.is_none() { SECCOMP_USER_NOTIF_FLAG_CONTINUE } else { 0 };
    let response = libc::seccomp_notif_resp { id, val: 0, error: error.map_or(0, |error| -error), flags };
    // SAFETY: the struct lives through the call. A caller that is gone needs no answer.
    _ = unsafe { libc::ioctl(notices.as_raw_fd(), SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
}

/// From `linux/seccomp.h`: `SECCOMP_IOWR(0, struct seccomp_notif)`, `SECCOMP_IOWR(1, struct seccomp_notif_resp)` and
/// `SECCOMP_IOW(2, __u64)`.
const SECCOMP_IOCTL_NOTIF_RECV: libc::Ioctl = 0xc050_2100;
const SECCOMP_IOCTL_NOTIF_SEND: libc::Ioctl = 0xc018_2101;
const SECCOMP_IOCTL_NOTIF_ID_VALID: libc::Ioctl = 0x4008_2102;
const SECCOMP_USER_NOTIF_FLAG_CONTINUE: u32 = 1;

/// Replaces this process by the program; comes back only with what went wrong.
pub(super) fn execute(program: &str, argv: &[String], env: &[(String, String)]) -> Error {
    let c = |text: &str| CString::new(text);
    let (program, argv, env) = match (
        c(program),
        argv.iter().map(|word| c(word)).collect::<std::result::Result<Vec<_>, _>>(),
        env.iter().map(|(name, value)| c(&format!("{name}={value}"))).collect::<std::result::Result<Vec<_>, _>>(),
    ) {
        (Ok(program), Ok(argv), Ok(env)) => (program, argv, env),
        _ => return Error::from(std::io::ErrorKind::InvalidInput),
    };
    let pointers =
        |list: &[CString]| list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
    // SAFETY: program and both lists are C strings that live through the call, and the lists end with a null.
    unsafe { libc::execve(program.as_ptr(), pointers(&argv).as_ptr(), pointers(&env).as_ptr()) };
    Error::last_os_error()
}

/// # Safety
/// The number is an error, or a descriptor that nobody else owns.
unsafe fn owned(descriptor: i64) -> Result<OwnedFd> {
    match i32::try_from(descriptor) {
        // SAFETY: as the caller says.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(Error::last_os_error()),
    }
}

/// The version of Landlock that the kernel has; 0 for none.
pub(super) fn landlock_version() -> i32 {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel wants no attributes and only gives a number.
    let version = unsafe {
        let none = std::ptr::null::<libc::c_void>();
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, LANDLOCK_CREATE_RULESET_VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}
