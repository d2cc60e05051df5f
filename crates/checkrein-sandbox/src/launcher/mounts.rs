//! The view: a new root that holds what the plan names and nothing else. Runs as the first process of new namespaces,
//! where what it mounts is seen by nobody outside.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::raw;
use crate::plan::{Node, NodeKind, Plan};

/// Where the host's file system is while the view is made.
const HOST: &str = "/host";
/// Where the view is made.
const NEW: &str = "/new";
/// Where private changes to the host's own are kept while a call lasts.
const CHANGES: &str = "/changes";
/// Devices that do nothing to anybody.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);
const SAFE: u64 = libc::MOUNT_ATTR_NOSUID;
const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

/// Makes the view and moves into it. Nothing else of the host is to be seen afterwards.
pub(super) fn enter(plan: &Plan) -> Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Any folder serves to put the new root on: it is moved to the top at once, and the folder is itself again.
    private("/tmp", 1 << 20)?;
    fs::create_dir("/tmp/host")?;
    pivot_root("/tmp", "/tmp/host")?;
    chdir("/")?;
    fs::create_dir(NEW)?;
    private(NEW, 1 << 20)?;
    // Made while the host's is in sight: the kernel wants to see one before it gives another.
    folder(&new("/proc"))?;
    mount("proc", new("/proc"), "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    devices(plan)?;
    for node in &plan.view {
        put(node, plan).map_err(|error| Error::new(error.kind(), format!("{}: {error}", node.at)))?;
    }
    // How many processes there may be at once: root is exempt from every other limit. Older kernels lack it.
    _ = fs::write(new("/proc/sys/kernel/pid_max"), plan.limits.processes.to_string());
    // Whoever is root may write what root may write below /proc/sys, namespaces or not.
    set(&new("/proc"), READ_ONLY, true)?;
    fs::create_dir(new("/.host"))?;
    pivot_root(NEW, new("/.host"))?;
    chdir("/")?;
    unmount("/.host", UnmountFlags::DETACH)?;
    fs::remove_dir("/.host")?;
    // The folders that hold the places of the view are nobody's to write.
    set(Path::new("/"), READ_ONLY, false)
}

fn new(at: &str) -> PathBuf {
    Path::new(NEW).join(at.trim_start_matches('/'))
}

fn host(at: &str) -> PathBuf {
    Path::new(HOST).join(at.trim_start_matches('/'))
}

fn private(at: impl AsRef<Path>, bytes: u64) -> Result<()> {
    let options = std::ffi::CString::new(format!("size={bytes},mode=0755"))?;
    mount("tmpfs", at.as_ref(), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(Error::from)
}

/// A folder of the new root, unless something of the host stands there already.
fn folder(at: &Path) -> Result<()> {
    fs::create_dir_all(at)
}

fn put(node: &Node, plan: &Plan) -> Result<()> {
    let at = new(&node.at);
    match &node.kind {
        NodeKind::Read | NodeKind::List => bind(&node.at, &at, SAFE | NO_DEVICES | READ_ONLY),
        NodeKind::Write | NodeKind::Opened | NodeKind::Mode => bind(&node.at, &at, SAFE | NO_DEVICES),
        // Where the kernel can not layer, the host's own is there to be read.
        NodeKind::Layered => layer(&node.at, &at, plan).or_else(|_| bind(&node.at, &at, SAFE | NO_DEVICES | READ_ONLY)),
        NodeKind::Private => {
            folder(&at)?;
            private(&at, plan.limits.private_bytes)?;
            // As the host has it: sticky and open to all for temporary files, else its owner's.
            let mode = host(&node.at)
                .metadata()
                .map_or(0o700, |there| std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o1777);
            fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(mode | 0o700))
        }
        NodeKind::Hidden => hide(&at),
        // There is nothing to put a mount on, or what has one can not be removed; notices hold it.
        NodeKind::Absent | NodeKind::Removed => Ok(()),
        NodeKind::Link(target) => {
            at.parent().map_or(Ok(()), folder)?;
            symlink(target, &at)
        }
    }
}

/// The host's own, with everything that is mounted below it.
fn bind(path: &str, at: &Path, attributes: u64) -> Result<()> {
    let from = match straight(&host(path)) {
        Ok(from) => from,
        // Gone since the view was made: then it is not there.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mount = open_tree(&from, "", CLONE | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE)?;
    raw::set_mount(mount.as_fd(), attributes, true)?;
    let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&from)?.st_mode) == FileType::Directory;
    if is_folder {
        folder(at)?;
    } else if fs::symlink_metadata(at).is_err() {
        at.parent().map_or(Ok(()), folder)?;
        fs::File::create(at)?;
    }
    place(&mount, at)
}

/// Opens a path without following any link on the way: the plan names real paths, and whatever became a link since it
/// was made is not what was decided on.
fn straight(path: &Path) -> Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty(), resolve).map_err(Error::from)
}

/// The host's own below, changes in a private folder above it.
fn layer(path: &str, at: &Path, plan: &Plan) -> Result<()> {
    let changes = Path::new(CHANGES);
    if !changes.exists() {
        fs::create_dir(changes)?;
        private(changes, plan.limits.private_bytes)?;
    }
    let number = fs::read_dir(changes)?.count();
    let (upper, work) = (changes.join(format!("{number}-upper")), changes.join(format!("{number}-work")));
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    folder(at)?;
    let (below, upper, work) = (host(path), upper.display().to_string(), work.display().to_string());
    let below = below.display().to_string();
    // Its options are one text, in which these characters mean something.
    if below.contains([',', ':', '\\']) {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    let options = format!("lowerdir={below},upperdir={upper},workdir={work},userxattr");
    let options = std::ffi::CString::new(options)?;
    mount("overlay", at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str()).map_err(Error::from)
}

/// Puts something empty over what is there.
fn hide(at: &Path) -> Result<()> {
    let there = match fs::symlink_metadata(at) {
        Ok(there) => there,
        // Gone since it was found: nothing to hide.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let empty = if there.is_dir() { "/empty-folder" } else { "/empty-file" };
    if there.is_dir() {
        folder(Path::new(empty))?;
    } else if !there.is_symlink() {
        fs::OpenOptions::new().create(true).append(true).open(empty)?;
    } else {
        // A link can not be covered. What it leads to is in the view only if it was granted there.
        return Ok(());
    }
    let mount = tree(empty)?;
    raw::set_mount(mount.as_fd(), SAFE | NO_DEVICES | READ_ONLY, true)?;
    place(&mount, at)
}

/// A mount of its own of what is there, and of nothing that is mounted below it.
fn tree(path: &str) -> Result<OwnedFd> {
    open_tree(CWD, path, CLONE | OpenTreeFlags::AT_SYMLINK_NOFOLLOW).map_err(Error::from)
}

fn place(mount: &OwnedFd, at: &Path) -> Result<()> {
    let at = straight(at)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", &at, "", flags).map_err(Error::from)
}

fn set(at: &Path, attributes: u64, below: bool) -> Result<()> {
    raw::set_mount(straight(at)?.as_fd(), attributes, below)
}

/// A small `/dev`: a few harmless devices, terminals of its own, shared memory of its own.
fn devices(plan: &Plan) -> Result<()> {
    let dev = new("/dev");
    folder(&dev)?;
    private(&dev, 1 << 20)?;
    for name in DEVICES {
        let (from, at) = (host(&format!("/dev/{name}")), dev.join(name));
        if !from.exists() {
            continue;
        }
        fs::File::create(&at)?;
        let mount = tree(&from.to_string_lossy())?;
        raw::set_mount(mount.as_fd(), SAFE, true)?;
        place(&mount, &at)?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(target, dev.join(name))?;
    }
    folder(&dev.join("pts"))?;
    let options = Some(c"newinstance,ptmxmode=0666,mode=0620");
    if mount("devpts", dev.join("pts"), "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options).is_ok() {
        symlink("pts/ptmx", dev.join("ptmx"))?;
    }
    folder(&dev.join("shm"))?;
    private(dev.join("shm"), plan.limits.private_bytes)?;
    fs::set_permissions(dev.join("shm"), std::os::unix::fs::PermissionsExt::from_mode(0o1777))
}
