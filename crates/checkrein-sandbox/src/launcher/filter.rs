//! Which system calls a program can not make, and which are looked at first. Lists and nothing else; a library makes
//! filters of them. The filters stop a call that comes through the 32-bit entry or another numbering of calls.

use std::collections::BTreeMap;
use std::io::{Error, Result};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use crate::plan::Layers;

/// Calls that no program needs for its work, each a way to more rights or to somebody else: looking into processes,
/// mounts and namespaces, kernel code and keys, clocks and power, and interfaces with a history of holes.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    QUOTACTL_FD,
    PROCESS_MRELEASE,
    OPEN_TREE_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];
/// Calls that answer "there is no such call", since programs then do without: what they would pass lies in memory, where
/// no filter looks.
const ABSENT: &[i64] = &[libc::SYS_clone3, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR];
/// Calls that the library has no names for yet; their numbers are the same on every machine.
const QUOTACTL_FD: i64 = 443;
const PROCESS_MRELEASE: i64 = 448;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
/// The newest call that was looked at for these lists. What comes after it is "no such call" until it was.
const NEWEST: u32 = 470;
/// Flags of `clone` for new namespaces.
const NEW_SPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Kinds of socket that may be made: local ones, the internet's (which lead nowhere in a network namespace of one's
/// own), and those that ask the kernel about addresses.
const SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Kinds that lead out where there is no network namespace.
const INTERNET: &[i32] = &[libc::AF_INET, libc::AF_INET6];
/// Writing into somebody's terminal as if it were typed.
const TERMINAL: &[u64] = &[0x5412, 0x541c, 0x5437];
/// The bit of a mode by which a program runs with its owner's rights.
const SET_USER: u64 = 0o4000;
/// Calls that set a mode, and which argument it is; of those that may make a file, which argument says so.
const MODES: &[(i64, u8, Option<u8>)] = &[
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (libc::SYS_fchmodat2, 2, None),
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mknodat, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
];
/// Flags of `open` that make it one that changes something.
const CHANGING: &[i32] = &[libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];
/// Calls that change something by a path or by what is open, start a program, or connect.
const LOOKED_AT: &[i64] = &[
    libc::SYS_openat2,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// The filters that refuse, to be installed one after the other.
pub(super) fn refusals(layers: Layers) -> Result<Vec<BpfProgram>> {
    let mut refused: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let bits = NEW_SPACES.iter().map(|flag| rule(&[has(0, *flag)])).collect::<Result<_>>()?;
    refused.insert(libc::SYS_clone, bits);
    let typed = TERMINAL.iter().map(|request| rule(&[is(1, *request)])).collect::<Result<_>>()?;
    refused.insert(libc::SYS_ioctl, typed);
    let devices = [libc::S_IFBLK, libc::S_IFCHR];
    let device = |argument| devices.iter().map(|kind| rule(&[kind_is(argument, *kind)])).collect::<Result<_>>();
    refused.insert(libc::SYS_mknodat, device(2)?);
    #[cfg(target_arch = "x86_64")]
    refused.insert(libc::SYS_mknod, device(1)?);
    // A program that takes its owner's rights whoever starts it stays when the call is over.
    for (call, mode, flags) in MODES {
        let mut conditions = vec![masked(*mode, SET_USER, SET_USER)];
        conditions.extend(flags.map(|flags| has(flags, libc::O_CREAT)));
        refused.entry(*call).or_default().push(rule(&conditions)?);
    }
    let mut sockets = vec![rule(&SOCKETS.iter().map(|family| is_not(0, *family)).collect::<Vec<_>>())?];
    sockets.push(rule(&[is(0, family(libc::AF_NETLINK)), is_not(2, libc::NETLINK_ROUTE)])?);
    for kind in INTERNET {
        sockets.push(rule(&[is(0, family(*kind)), masked(1, 0xf, family(libc::SOCK_RAW))])?);
    }
    if !layers.network && !layers.open_network {
        for kind in INTERNET {
            sockets.push(rule(&[is(0, family(*kind))])?);
        }
    }
    refused.insert(libc::SYS_socket, sockets);
    let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs = vec![
        compile(refused, SeccompAction::Errno(libc::EPERM.cast_unsigned()))?,
        compile(absent, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()))?,
    ];
    programs.push(other_numbers());
    // The last one installed is asked first; all are asked, and the strictest answer counts.
    programs.reverse();
    Ok(programs)
}

/// The filter that has calls looked at: of those that open a file, what changes something, or with `readings` all.
pub(super) fn notices(readings: bool) -> Result<BpfProgram> {
    let mut rules: Rules = LOOKED_AT.iter().map(|call| (*call, Vec::new())).collect();
    let changing = |argument| match readings {
        true => Ok(Vec::new()),
        false => CHANGING.iter().map(|flag| rule(&[has(argument, *flag)])).collect::<Result<_>>(),
    };
    rules.insert(libc::SYS_openat, changing(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, changing(1)?);
    // Only what names its target.
    rules.insert(libc::SYS_sendto, vec![given(4)?]);
    // The library has no word for notices: "ask the tracer" stands in for it, in a program made of nothing else.
    let mut program = compile(rules, SeccompAction::Trace(0))?;
    for step in &mut program {
        if step.code == RETURN && step.k == SECCOMP_RET_TRACE {
            step.k = SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(program)
}

/// From `linux/bpf_common.h` and `linux/seccomp.h`.
const RETURN: u16 = 0x06;
const SECCOMP_RET_TRACE: u32 = 0x7ff0_0000;
const SECCOMP_RET_USER_NOTIF: u32 = 0x7fc0_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compile(rules: Rules, hit: SeccompAction) -> Result<BpfProgram> {
    let machine = std::env::consts::ARCH.try_into().map_err(Error::other)?;
    SeccompFilter::new(rules, SeccompAction::Allow, hit, machine).and_then(BpfProgram::try_from).map_err(Error::other)
}

/// Calls newer than these lists are not there. On x86-64 every call also has a second, high number, for programs with
/// short pointers: none of ours may come by it.
fn other_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const GREATER: u16 = 0x25;
    const SECCOMP_RET_ALLOW: u32 = 0x7fff_0000;
    const SECCOMP_RET_ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(GREATER, 0, 1, NEWEST),
        step(RETURN, 0, 0, SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ]
}

struct Condition(u8, SeccompCmpOp, u64);

fn family(number: i32) -> u64 {
    u64::from(number.cast_unsigned())
}

fn is(argument: u8, value: u64) -> Condition {
    Condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Condition {
    Condition(argument, SeccompCmpOp::Ne, family(value))
}

fn has(argument: u8, flag: i32) -> Condition {
    masked(argument, family(flag), family(flag))
}

fn kind_is(argument: u8, kind: u32) -> Condition {
    masked(argument, u64::from(libc::S_IFMT), u64::from(kind))
}

fn masked(argument: u8, mask: u64, value: u64) -> Condition {
    Condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// A rule that hits when a pointer is given.
fn given(argument: u8) -> Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(Error::other)
}

/// A rule that hits when all of it does. Arguments are 32 bits wide here: the kernel takes no more of them.
fn rule(conditions: &[Condition]) -> Result<SeccompRule> {
    let conditions = conditions.iter().map(|Condition(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    conditions.collect::<std::result::Result<Vec<_>, _>>().and_then(SeccompRule::new).map_err(Error::other)
}
