//! One output stream: its end in memory, and the whole in a file once it does not fit. Memory stays bounded whatever
//! comes.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions, remove_file};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use checkrein_gate::{Captured, RedactingStream, Redactor};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of one stream that a spill file takes. What comes after is counted and let go; the file is still named then,
/// and a total above this says that it holds only the beginning. 64 MiB: a large build log, a small part of a disk.
pub const MAX_SPILL_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes read at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;

/// A stream while it comes in.
pub(crate) struct Capture {
    keep: usize,
    tail: VecDeque<u8>,
    total: u64,
    spill: Spill,
    secrets: RedactingStream,
}

enum Spill {
    /// Nowhere to go, or it failed: a part of a stream must not pass for the whole.
    Off,
    /// Everything is still in memory.
    Waiting(PathBuf),
    /// It did not fit.
    Writing { file: File, path: PathBuf, room: u64 },
}

impl Capture {
    /// Keeps the last `keep` bytes, without what must not come out.
    pub(crate) fn new(keep: usize, spill: Option<PathBuf>, secrets: &Redactor) -> Self {
        let spill = spill.map_or(Spill::Off, Spill::Waiting);
        Self { keep, tail: VecDeque::new(), total: 0, spill, secrets: secrets.stream() }
    }

    /// Takes everything up to the end of the stream.
    pub(crate) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; CHUNK];
        // A stream that can not be read any more has ended.
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            let shown = self.secrets.push_bytes(buffer.get(..count).unwrap_or_default());
            self.take(&shown);
        }
        let rest = self.secrets.finish_bytes();
        self.take(&rest);
    }

    fn take(&mut self, chunk: &[u8]) {
        self.total = self.total.saturating_add(chunk.len() as u64);
        if self.tail.len() + chunk.len() > self.keep {
            self.begin_spill();
        }
        self.write_spill(chunk);
        let kept = chunk.get(chunk.len().saturating_sub(self.keep)..).unwrap_or_default();
        let too_many = (self.tail.len() + kept.len()).saturating_sub(self.keep);
        self.tail.drain(..too_many);
        self.tail.extend(kept);
    }

    /// The kept end would lose bytes now, so everything goes to a file from here on, beginning with what came before.
    fn begin_spill(&mut self) {
        let path = match std::mem::replace(&mut self.spill, Spill::Off) {
            Spill::Waiting(path) => path,
            other => {
                self.spill = other;
                return;
            }
        };
        if let Ok(file) = create(&path) {
            self.spill = Spill::Writing { file, path, room: MAX_SPILL_BYTES };
            let (front, back) = self.tail.as_slices();
            let before = [front, back].concat();
            self.write_spill(&before);
        }
    }

    fn write_spill(&mut self, bytes: &[u8]) {
        let Spill::Writing { file, path, room } = &mut self.spill else { return };
        let fits = usize::try_from(*room).unwrap_or(usize::MAX).min(bytes.len());
        if file.write_all(bytes.get(..fits).unwrap_or_default()).is_ok() {
            *room -= fits as u64;
        } else {
            // The disk is full, or worse. The half that was written helps nobody.
            let _ = remove_file(&*path);
            self.spill = Spill::Off;
        }
    }

    pub(crate) fn finish(self) -> Captured {
        let spilled = match self.spill {
            Spill::Writing { path, .. } => Some(path),
            Spill::Off | Spill::Waiting(_) => None,
        };
        Captured { tail: self.tail.into(), total: self.total, spilled }
    }
}

/// A new file for nobody else's eyes. A file of an earlier attempt is replaced; nothing is written through a link.
fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let open = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove_file(path)?;
            open()
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn captured(keep: usize, spill: Option<PathBuf>, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(keep, spill, &Redactor::default());
        chunks.iter().for_each(|chunk| capture.take(chunk));
        capture.finish()
    }

    #[test]
    fn what_fits_stays_in_memory_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let all = captured(6, Some(path.clone()), &[b"abc", b"def"]);
        assert_eq!(all, Captured { tail: b"abcdef".to_vec(), total: 6, spilled: None });
        assert!(!path.exists());
    }

    /// Shows R68, R71: the end is kept, the whole is in the file, and only its owner may read it.
    #[test]
    fn one_byte_too_many_puts_the_whole_into_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/out");
        let cut = captured(6, Some(path.clone()), &[b"abc", b"def", b"g", b"0123456789", b"z"]);
        assert_eq!(cut, Captured { tail: b"56789z".to_vec(), total: 18, spilled: Some(path.clone()) });
        assert_eq!(std::fs::read(&path).unwrap(), b"abcdefg0123456789z");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn a_spill_file_is_never_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("out"), folder.path().join("victim"));
        std::fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert_eq!(captured(1, Some(path.clone()), &[b"abc"]).spilled, Some(path.clone()));
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "abc");
    }

    #[test]
    fn where_nothing_can_be_saved_the_end_is_still_there() {
        let folder = tempfile::tempdir().unwrap();
        let below_a_file = folder.path().join("file/out");
        std::fs::write(folder.path().join("file"), "").unwrap();
        let cut = captured(2, Some(below_a_file), &[b"abc", b"d"]);
        assert_eq!(cut, Captured { tail: b"cd".to_vec(), total: 4, spilled: None });
        assert_eq!(captured(0, None, &[b"abc"]), Captured { tail: Vec::new(), total: 3, spilled: None });
    }

    #[test]
    fn a_spill_file_stops_growing_at_its_cap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut capture = Capture::new(4, Some(path.clone()), &Redactor::default());
        let chunk = vec![b'x'; 1024 * 1024];
        for _ in 0..65 {
            capture.take(&chunk);
        }
        capture.take(b"tail");
        let captured = capture.finish();
        assert_eq!((captured.tail.as_slice(), captured.total), (b"tail".as_slice(), 65 * 1024 * 1024 + 4));
        assert_eq!(captured.spilled.as_deref(), Some(path.as_path()));
        assert_eq!(std::fs::metadata(path).unwrap().len(), MAX_SPILL_BYTES);
    }
}
