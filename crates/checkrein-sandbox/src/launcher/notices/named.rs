//! The real path that a call names, from the memory of whoever makes it. What can not be read is no path: the kernel
//! refuses it as well, or the other layers hold it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::raw::Notice;

/// Longest path that the kernel takes, bytes.
const LONGEST_PATH: usize = 4096;
/// Links that the kernel follows for one path.
const MOST_LINKS: usize = 40;

/// The real path that a call names. Without a name the descriptor of the folder is meant itself. `None` where there is no
/// such path.
pub(super) fn named(notice: &Notice, folder: Option<u64>, address: u64, follows: bool) -> Option<PathBuf> {
    let bytes = if address == 0 { Vec::new() } else { text(notice.pid, address)? };
    let written = PathBuf::from(OsString::from_vec(bytes));
    let pid = notice.pid;
    let folder = folder.map(|folder| (folder & 0xffff_ffff) as u32).map(u32::cast_signed);
    if written.as_os_str().is_empty() {
        return match folder? {
            libc::AT_FDCWD => working_folder(pid),
            number => opened(pid, number),
        };
    }
    let folder = folder.filter(|number| *number != libc::AT_FDCWD);
    let start = || match folder {
        Some(number) => fs::read_link(format!("/proc/{pid}/fd/{number}")).ok(),
        None => working_folder(pid),
    };
    let whole = if written.is_absolute() { written } else { start()?.join(written) };
    Some(real(&own_links(&whole, pid), follows))
}

/// What a text of its own names, from where it works.
pub(super) fn spelled(pid: i32, bytes: &[u8], follows: bool) -> Option<PathBuf> {
    let written = Path::new(OsStr::from_bytes(bytes)).to_owned();
    let whole = if written.is_absolute() { written } else { working_folder(pid)?.join(written) };
    Some(real(&own_links(&whole, pid), follows))
}

fn working_folder(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The name of an open file, as long as it still has it. Pipes and what is in memory have none.
fn opened(pid: i32, number: i32) -> Option<PathBuf> {
    let at = format!("/proc/{pid}/fd/{number}");
    let path = fs::read_link(&at).ok().filter(|path| path.is_absolute())?;
    let (open, there) = (fs::metadata(&at).ok()?, path.symlink_metadata().ok()?);
    ((open.dev(), open.ino()) == (there.dev(), there.ino())).then_some(path)
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
    resolved(path, follows, MOST_LINKS)
}

fn resolved(path: &Path, follows: bool, links: usize) -> PathBuf {
    if follows && let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
        return path.canonicalize().unwrap_or_else(|_| path.to_owned());
    };
    let parent = parent.canonicalize().unwrap_or_else(|_| resolved(parent, true, links));
    let whole = parent.join(name);
    match fs::read_link(&whole) {
        // It leads to what is not there yet: that is what would be made.
        Ok(target) if follows && links > 0 => resolved(&parent.join(target), true, links - 1),
        _ => whole,
    }
}

fn text(pid: i32, address: u64) -> Option<Vec<u8>> {
    let mut bytes = memory(pid, address, LONGEST_PATH)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

/// What lies there, up to so many bytes; less where the mapping ends.
pub(super) fn memory(pid: i32, address: u64, most: usize) -> Option<Vec<u8>> {
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
