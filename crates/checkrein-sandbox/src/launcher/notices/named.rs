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
    Some(real(&whole, pid, follows))
}

/// What a text of its own names, from where it works.
pub(super) fn spelled(pid: i32, bytes: &[u8], follows: bool) -> Option<PathBuf> {
    let written = Path::new(OsStr::from_bytes(bytes)).to_owned();
    let whole = if written.is_absolute() { written } else { working_folder(pid)?.join(written) };
    Some(real(&whole, pid, follows))
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

/// Without links and dots, as far as it is there, as this process sees it. The last part is kept as it is where it is not
/// followed. Each link is read by itself: what leads to "self" below `/proc` leads to whoever asks.
fn real(path: &Path, pid: i32, follows: bool) -> PathBuf {
    let mut real = PathBuf::from("/");
    let mut left: Vec<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        if next == Path::new("/proc/self") || next == Path::new("/proc/thread-self") {
            real = PathBuf::from(format!("/proc/{pid}"));
            continue;
        }
        let target = if left.is_empty() && !follows { None } else { fs::read_link(&next).ok() };
        match target {
            // What is open and has no name is no path.
            Some(target) if links < MOST_LINKS && (target.is_absolute() || !next.starts_with("/proc")) => {
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                left.extend(parts(&target));
            }
            _ => real = next,
        }
    }
    real
}

/// The parts of a path, the last one first, without dots that lead nowhere.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).rev().collect()
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
