//! Files by their real path, opened part by part without following a link: what was judged is what is opened. Here the
//! operating system's errors become stable codes; messages name the path as the model knows it, never another.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use checkrein_contract::{Code, Digest};
use checkrein_gate::Failure;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::off_thread::go_on;

/// Largest file that is taken into memory as a whole, bytes. 10 MiB: above any source file, below what hurts.
pub(crate) const MAX_WHOLE_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes at the beginning of a file in which a NUL makes it binary; what `git` and `grep` look at as well.
pub(crate) const BINARY_PREFIX: usize = 8 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// A folder as a step on the way: it needs no right to be listed.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What to do about folders on the way that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folders {
    MustExist,
    MakeMissing,
}

/// Where a file is, or would be: its folder, held open, and its name there.
#[derive(Debug)]
pub(crate) struct Spot {
    folder: OwnedFd,
    name: String,
    shown: String,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

impl Spot {
    /// Walks to the folder of a real path.
    pub(crate) fn find(real: &str, shown: &str, folders: Folders) -> Result<Self, Failure> {
        let Some((parents, name)) = real.rsplit_once('/').filter(|(_, name)| !name.is_empty()) else {
            return Err(not_regular(shown));
        };
        let mut folder = open("/", STEP, Mode::empty()).map_err(|errno| failure(errno, shown))?;
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            folder = step(&folder, part, folders).map_err(|errno| {
                let linked = is_link(&folder, part);
                if linked { relinked(shown) } else { failure(errno, shown) }
            })?;
        }
        Ok(Self { folder, name: name.to_owned(), shown: shown.to_owned() })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// The name in the folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The path as the model knows it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// What stands there now, without following a link; `None` when nothing does.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, Failure> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failure(errno, &self.shown)),
        }
    }

    /// Opens the file, which must be there.
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        self.open_if_there()?.ok_or_else(|| failure(Errno::NOENT, &self.shown))
    }

    /// Opens the file if there is one.
    pub(crate) fn open_if_there(&self) -> Result<Option<Opened>, Failure> {
        // Without NONBLOCK, opening a named pipe would wait for somebody to write to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => return Err(relinked(&self.shown)),
            // What a socket answers.
            Err(Errno::NXIO) => return Err(not_regular(&self.shown)),
            Err(errno) => return Err(failure(errno, &self.shown)),
        };
        let stat = fstat(&file).map_err(|errno| failure(errno, &self.shown))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_regular(&self.shown));
        }
        Ok(Some(Opened { file, stat }))
    }
}

fn step(folder: &OwnedFd, part: &str, folders: Folders) -> Result<OwnedFd, Errno> {
    match openat(folder, part, STEP, Mode::empty()) {
        Err(Errno::NOENT) if folders == Folders::MakeMissing => {
            match mkdirat(folder, part, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                // Somebody else made it in between, which is as good.
                Ok(()) | Err(Errno::EXIST) => openat(folder, part, STEP, Mode::empty()),
                Err(errno) => Err(errno),
            }
        }
        done => done,
    }
}

fn is_link(folder: &OwnedFd, part: &str) -> bool {
    statat(folder, part, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Hands on a file piece by piece, with the offset of each piece, and returns the digest of the whole.
pub(crate) fn stream(
    opened: &mut Opened,
    shown: &str,
    stop: &CancellationToken,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
) -> Result<Digest, Failure> {
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0_u64;
    Digest::of_stream(|digest| {
        loop {
            go_on(stop)?;
            let count = match opened.file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(io_failure(error, shown)),
            };
            let piece = buffer.get(..count).unwrap_or_default();
            digest(piece);
            take(offset, piece)?;
            offset = offset.saturating_add(count as u64);
        }
    })
}

/// The whole content of a file with its digest, if it is no longer than [`MAX_WHOLE_BYTES`]; else only the digest.
pub(crate) fn whole(
    opened: &mut Opened,
    shown: &str,
    stop: &CancellationToken,
) -> Result<(Option<Vec<u8>>, Digest), Failure> {
    let mut content = Some(Vec::new());
    let digest = stream(opened, shown, stop, |offset, piece| {
        if offset + piece.len() as u64 > MAX_WHOLE_BYTES {
            content = None;
        }
        if let Some(content) = &mut content {
            content.extend_from_slice(piece);
        }
        Ok(())
    })?;
    Ok((content, digest))
}

/// The code and message for an error of the operating system.
pub(crate) fn failure(errno: Errno, shown: &str) -> Failure {
    io_failure(errno.into(), shown)
}

/// As [`failure`], of an error that came through the standard library.
pub(crate) fn io_failure(error: io::Error, shown: &str) -> Failure {
    let (code, what) = match error.kind() {
        io::ErrorKind::NotFound => (Code::FsNotFound, format!("there is no `{shown}`")),
        io::ErrorKind::NotADirectory => (Code::FsNotDirectory, format!("a part of `{shown}` is no folder")),
        io::ErrorKind::IsADirectory => (Code::FsNotRegularFile, format!("`{shown}` is a folder")),
        io::ErrorKind::PermissionDenied => (Code::FsPermissionDenied, format!("no right to use `{shown}`")),
        kind => (Code::FsIo, format!("`{shown}`: {kind}")),
    };
    Failure::new(code, what).because(error)
}

/// What is there is neither a file nor something to read like one.
pub(crate) fn not_regular(shown: &str) -> Failure {
    Failure::new(Code::FsNotRegularFile, format!("`{shown}` is a folder or a device, not a regular file"))
}

/// The file is not text.
pub(crate) fn not_text(shown: &str) -> Failure {
    Failure::new(Code::FsNotText, format!("`{shown}` is not text"))
}

/// A link was put into the path after the call was judged.
fn relinked(shown: &str) -> Failure {
    Failure::new(Code::FsIo, format!("`{shown}` became a link while the call was being decided; it was not followed"))
}
