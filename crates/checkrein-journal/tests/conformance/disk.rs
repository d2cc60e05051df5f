//! The disk as it is: permissions, a full one, a read-only one, files that are something else. Every error says what to do,
//! and afterwards everything that was there is there.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkrein_contract::SessionId;
use checkrein_journal::{EventStore, JournalError, SqliteStore, verify_chain};
use rusqlite::Connection;

use super::samples::{WORLD, big, filled, meta, note, on_disk, open, run, skipped};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn refused(path: &Path) -> JournalError {
    SqliteStore::open(path).expect_err("it is no journal that can be opened")
}

/// Shows R165: nobody but the owner reads the journal, and none of the files beside it.
#[test]
fn files_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/journal.db");
    let store = SqliteStore::open(&path).unwrap();
    filled(&store, &SessionId::new("s-1"), &[note(1, "a")]);
    assert_eq!(mode(&folder.path().join("state")), 0o700);
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}");
    }
    drop(store);

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    filled(&store, &SessionId::new("s-2"), &[note(1, "a")]);
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}, after a copy was put back carelessly");
    }
}

/// A folder that was there is nobody's to change.
#[test]
fn a_folder_that_was_there_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    assert_eq!(mode(folder.path()), 0o755);
}

#[test]
fn errors_name_the_whole_path() {
    let error = refused(Path::new(".")).to_string();
    assert!(error.contains(std::env::current_dir().unwrap().to_str().unwrap()), "{error}");
}

/// Shows R167: what is something else is left as it is.
#[test]
fn what_is_no_journal_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    type Check = fn(&JournalError) -> bool;
    let cases: [(&str, Vec<u8>, Check); 4] = [
        ("an empty file", Vec::new(), |error| matches!(error, JournalError::Corrupt { .. })),
        ("a text", b"dear diary\n".repeat(1_000), |error| matches!(error, JournalError::Corrupt { .. })),
        ("zeros", vec![0; 40_960], |error| matches!(error, JournalError::Corrupt { .. })),
        ("another database", another_database(), |error| matches!(error, JournalError::Foreign { .. })),
    ];
    for (what, bytes, expected) in cases {
        fs::write(&path, &bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let error = refused(&path);
        assert_eq!(mode(&path), 0o644, "{what}");
        assert!(expected(&error), "{what}: {error:?}");
        assert!(error.to_string().contains("othing was changed"), "{what}: {error}");
        assert!(error.to_string().contains("journal.db"), "{what}: {error}");
        assert!(fs::read(&path).unwrap() == bytes, "{what} was changed");
    }
}

fn another_database() -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    Connection::open(file.path()).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    fs::read(file.path()).unwrap()
}

/// A journal whose file is gone is not begun anew over the log that still holds its last events.
#[test]
fn a_log_without_its_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let log = folder.path().join("journal.db-wal");
    fs::write(&log, b"events").unwrap();
    assert!(matches!(refused(&path), JournalError::Corrupt { .. }));
    assert_eq!(fs::read(&log).unwrap(), b"events");
    assert!(!path.exists());
}

/// Left alone means: not even what waits in its log is carried over.
#[test]
fn a_newer_journal_is_refused_and_left_alone() {
    let (newer, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(SqliteStore::open(&newer.path().join("journal.db")).unwrap());
    let writer = Connection::open(newer.path().join("journal.db")).unwrap();
    writer.pragma_update(None, "user_version", 99).unwrap();
    let files = ["journal.db", "journal.db-wal"];
    for file in files {
        fs::copy(newer.path().join(file), copy.path().join(file)).unwrap();
    }
    let read = || files.map(|file| fs::read(copy.path().join(file)).unwrap());
    let before = read();
    assert!(!before[1].is_empty(), "the log holds the newer format");
    let error = refused(&copy.path().join("journal.db"));
    assert!(matches!(error, JournalError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains("newer version"), "{error}");
    assert!(read() == before);
}

#[test]
fn a_folder_at_the_path_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, JournalError::NotWritable { .. }), "{error:?}");
    let error = refused(Path::new("/dev/null/journal.db"));
    assert!(matches!(error, JournalError::Io { .. }), "{error:?}");
}

/// A process that holds the journal does not make another one wait for ever.
#[test]
fn a_locked_journal_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let store = SqliteStore::open(&path).unwrap();
    let session = SessionId::new("s-1");
    let head = filled(&store, &session, &[note(1, "a")]);
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let late = store.append(&session, &head, &[note(2, "b")]);
    assert!(matches!(late, Err(JournalError::Busy { .. })), "{late:?}");
    assert_eq!(store.read(&session, 1).unwrap(), [note(1, "a")], "readers do not wait for writers");
    holder.execute_batch("ROLLBACK").unwrap();
    store.append(&session, &head, &[note(2, "b")]).unwrap();
}

/// A small file system of its own, gone with this value.
struct Mount(tempfile::TempDir);

impl Mount {
    /// `None`, with a word on the terminal, where mounting is not permitted.
    fn of_bytes(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder)),
            _ => {
                skipped("what needs a file system of its own: mounting one is not permitted here");
                None
            }
        }
    }

    fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        assert!(Command::new("mount").args(["-o", &options]).arg(self.0.path()).status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a handle that is still open after a failed assertion must not keep it.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Shows R167, R201: on a full disk an append fails as a whole and says why; what was acknowledged is there, and appends
/// work again when there is space.
#[test]
fn a_full_disk_loses_nothing_and_is_got_over() {
    let Some(mount) = Mount::of_bytes("384k") else { return };
    for kind in on_disk() {
        let folder = mount.0.path().join(kind.name);
        fs::create_dir(&folder).unwrap();
        let store = open(kind, &folder);
        let ballast = mount.0.path().join("ballast");
        fs::write(&ballast, vec![1; 96 * 1_024]).unwrap();
        let session = SessionId::new("s-1");
        let mut head = filled(&*store, &session, &[note(1, "a")]);
        let full = loop {
            match store.append(&session, &head, &[big(head.seq + 1, 4_000), note(head.seq + 2, "small")]) {
                Ok(next) => head = next,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, JournalError::Full { .. }), "{full:?}");
        assert!(full.to_string().contains("free some space"), "{full}");
        assert_eq!(store.head(&session).unwrap(), head, "a failed append leaves nothing behind");
        assert!(matches!(store.create(&SessionId::new("s-2"), &meta(), &[]), Ok(_) | Err(JournalError::Full { .. })));
        verify_chain(&*store, &session, Some(&head)).unwrap();

        fs::remove_file(&ballast).unwrap();
        head = store.append(&session, &head, &[big(head.seq + 1, 4_000)]).unwrap();
        drop(store);
        let store = open(kind, &folder);
        assert_eq!(store.read(&session, 1).unwrap().len() as u64, head.seq);
        verify_chain(&*store, &session, Some(&head)).unwrap();
        store.check().unwrap();
    }
}

/// Shows R201: a journal that can not even be begun leaves no half of one, and is begun when there is space.
#[test]
fn a_journal_is_not_half_begun_on_a_full_disk() {
    let Some(mount) = Mount::of_bytes("256k") else { return };
    let ballast = mount.0.path().join("ballast");
    let path = mount.0.path().join("journal.db");
    for free in [0, 4, 16, 36] {
        let _ = fs::remove_file(&ballast);
        fs::write(&ballast, vec![1; (256 - free) * 1_024]).unwrap_or_else(|_| skipped("a ballast of this size"));
        let error = refused(&path);
        assert!(matches!(error, JournalError::Full { .. }), "{free} KiB free: {error:?}");
        // Where there is room for the file and not for what stands beside it, a whole one is left; else nothing.
        let left = fs::read_dir(mount.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let drafts: Vec<_> =
            left.filter(|name| name != "ballast" && !name.to_str().unwrap().starts_with("journal.db")).collect();
        assert!(drafts.is_empty(), "{free} KiB free: {drafts:?}");
        fs::remove_file(&ballast).unwrap();
        if path.exists() {
            SqliteStore::open(&path).unwrap().check().unwrap();
            ["journal.db", "journal.db-wal", "journal.db-shm"]
                .iter()
                .for_each(|name| _ = fs::remove_file(mount.0.path().join(name)));
        }
    }
    filled(&SqliteStore::open(&path).unwrap(), &SessionId::new("s-1"), &[note(1, "a")]);
}

/// Shows R201.
#[test]
fn a_read_only_disk_is_named() {
    let Some(mount) = Mount::of_bytes("1m") else { return };
    let path = mount.0.path().join("journal.db");
    let session = SessionId::new(WORLD.session);
    let head = filled(&SqliteStore::open(&path).unwrap(), &session, &run(&WORLD));
    mount.remount("ro");
    let expected =
        |error: &JournalError| matches!(error, JournalError::ReadOnly { path } if path.ends_with("journal.db"));
    let error = refused(&path);
    assert!(expected(&error), "{error:?}");
    let error = refused(&mount.0.path().join("new/journal.db"));
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error:?}");
    mount.remount("rw");

    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.head(&session).unwrap(), head);
}

/// The number of this process's files that are open under a folder.
fn open_files(folder: &Path) -> Vec<PathBuf> {
    let open = fs::read_dir("/proc/self/fd").map(|entries| {
        let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.filter(|file| file.starts_with(folder)).collect()
    });
    open.unwrap_or_default()
}

#[test]
fn a_refused_or_closed_journal_keeps_no_file_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    File::create(&path).unwrap();
    refused(&path);
    fs::remove_file(&path).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(open_files(folder.path()), Vec::<PathBuf>::new());
}
