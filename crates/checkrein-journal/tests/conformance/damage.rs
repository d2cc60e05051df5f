//! A damaged file: every part of it, overwritten or cut off. Whatever is read is either right or an error that names the
//! file or the event; the bytes of the file stay as they are.

use std::fs;
use std::path::{Path, PathBuf};

use checkrein_contract::{Event, SessionId};
use checkrein_journal::{ChainProblem, EventStore, JournalError, SqliteStore, verify_chain};

use super::samples::{WORLD, World, big, filled, meta, note, run};

const PAGE: usize = 4_096;
const BIG: &str = "s-big";

/// A closed journal, with what is in it.
struct Sound {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
    sessions: Vec<(SessionId, Vec<Event>)>,
}

impl Sound {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let store = SqliteStore::open(&path).unwrap();
        let many = (1..=40).map(|seq| if seq % 4 == 0 { big(seq, 6_000) } else { note(seq, "small") }).collect();
        let sessions = vec![
            (SessionId::new(WORLD.session), run(&WORLD)),
            (SessionId::new(BIG), many),
            (SessionId::new("s-3"), run(&World { session: "s-3", ..WORLD })),
        ];
        for (session, events) in &sessions {
            filled(&store, session, events);
        }
        drop(store);
        let bytes = fs::read(&path).unwrap();
        Self { folder, bytes, sessions }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    /// Puts a damaged file in place and reads everything. Gives the errors.
    fn read_damaged(&self, what: &str, bytes: &[u8]) -> Vec<JournalError> {
        fs::write(self.path(), bytes).unwrap();
        let errors = match SqliteStore::open(&self.path()) {
            Err(error) => vec![error],
            Ok(store) => {
                let errors = self.read_all(what, &store);
                if errors.iter().any(|error| matches!(error, JournalError::Corrupt { .. })) {
                    self.write_nothing(what, &store);
                }
                errors
            }
        };
        for error in &errors {
            let clear =
                matches!(error, JournalError::Corrupt { .. } | JournalError::Damaged(_) | JournalError::Foreign { .. })
                    || matches!(
                        error,
                        JournalError::MissingBlob { .. } | JournalError::NoSession { .. } | JournalError::Newer { .. }
                    );
            assert!(clear, "{what}: {error:?}");
        }
        assert!(fs::read(self.path()).unwrap() == bytes, "{what}: reading changed the file");
        let left: Vec<_> = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        for beside in left.iter().filter(|name| *name != "journal.db") {
            fs::remove_file(self.folder.path().join(beside)).unwrap();
        }
        errors
    }

    /// The sessions that are whole are not written to either: nobody knows where an append would go.
    fn write_nothing(&self, what: &str, store: &SqliteStore) {
        for (session, _) in &self.sessions {
            let Ok(head) = store.head(session) else { continue };
            let refused = store.append(session, &head, &[note(head.seq + 1, "more")]);
            assert!(matches!(refused, Err(JournalError::Corrupt { .. })), "{what}: {refused:?}");
        }
    }

    fn read_all(&self, what: &str, store: &SqliteStore) -> Vec<JournalError> {
        let mut errors = Vec::new();
        for (session, events) in &self.sessions {
            match store.read(session, 1) {
                // Events at the end can be lost with a page; what is given is never another event.
                Ok(read) => assert!(events.starts_with(&read), "{what}: something was made up"),
                Err(error) => errors.push(error),
            }
            let verified = verify_chain(store, session, None);
            // A signature that was damaged spoils none of what it signs.
            let by_head = verified.as_ref().is_err_and(|fault| {
                matches!(
                    fault.problem,
                    ChainProblem::Signature | ChainProblem::Signed { .. } | ChainProblem::Unsigned { .. }
                )
            });
            assert!(
                verified.is_ok() || by_head || store.read(session, 1).is_err() || store.check().is_err(),
                "{what}: {verified:?}"
            );
        }
        errors.extend(store.by_kind(&["ask", "approval", "stop"]).err());
        errors.extend(store.sessions().err());
        errors.extend(store.check().err());
        errors
    }
}

/// Repeatable noise.
fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    bytes.take(length).collect()
}

/// Shows R167, R201: noise or zeros over any page of the file are found, and nothing wrong is given.
#[test]
fn an_overwritten_page_is_found() {
    let sound = Sound::new();
    let pages = sound.bytes.len() / PAGE;
    assert!(pages > 20, "{pages} pages");
    for page in 0..pages {
        let here = page * PAGE..(page + 1) * PAGE;
        for (what, with) in [("noise", noise(page, PAGE)), ("zeros", vec![0; PAGE])] {
            let mut bytes = sound.bytes.clone();
            bytes[here.clone()].copy_from_slice(&with);
            let what = format!("{what} over page {page} of {pages}");
            assert!(!sound.read_damaged(&what, &bytes).is_empty(), "{what} was not noticed");
        }
    }
}

/// Shows R167, R201: a few bytes anywhere.
#[test]
fn overwritten_bytes_give_no_wrong_event() {
    let sound = Sound::new();
    let mut found = 0;
    for (round, at) in (0..sound.bytes.len() - 64).step_by(1_013).enumerate() {
        let mut bytes = sound.bytes.clone();
        bytes[at..at + 64].copy_from_slice(&noise(round, 64));
        found += usize::from(!sound.read_damaged(&format!("noise at {at}"), &bytes).is_empty());
    }
    assert!(found > 50, "{found} of the places were noticed; the others hold nothing");
}

/// Shows R167, R201: a file that was cut off is neither repaired nor begun anew.
#[test]
fn a_cut_file_is_found() {
    let sound = Sound::new();
    let whole = sound.bytes.len();
    for length in [whole - 1, whole - PAGE, whole / 2, PAGE, 100, 1, 0] {
        let what = format!("cut to {length} of {whole} bytes");
        let errors = sound.read_damaged(&what, &sound.bytes[..length]);
        assert!(!errors.is_empty(), "{what} was not noticed");
        let message = errors[0].to_string();
        assert!(message.contains("journal.db") || message.contains("event"), "{what}: {message}");
    }
}

/// Shows R167, R201: once a file turned out to be damaged, nothing is written to it, not even what waits in its log.
#[test]
fn a_damaged_file_is_not_written_to() {
    let sound = Sound::new();
    let store = SqliteStore::open(&sound.path()).unwrap();
    let session = SessionId::new(BIG);
    let head = store.head(&session).unwrap();
    store.append(&session, &head, &[note(41, "in the log")]).unwrap();
    // A copy, as a crash would leave it: the file, and its log beside it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let log = |path: &Path| path.with_file_name("journal.db-wal");
    fs::copy(log(&sound.path()), log(&path)).unwrap();
    let mut bytes = sound.bytes;
    for page in 1..bytes.len() / PAGE {
        bytes[page * PAGE..(page + 1) * PAGE].copy_from_slice(&noise(page, PAGE));
    }
    fs::write(&path, &bytes).unwrap();
    let logged = fs::read(log(&path)).unwrap();

    let damaged = SqliteStore::open(&path).unwrap();
    let other = SessionId::new("s-new");
    let found = damaged.read(&SessionId::new(WORLD.session), 1);
    assert!(matches!(found, Err(JournalError::Corrupt { .. })), "{found:?}");
    let refused = damaged.create(&other, &meta(), &[]).unwrap_err();
    assert!(matches!(refused, JournalError::Corrupt { .. }), "{refused:?}");
    assert!(refused.to_string().contains("Nothing was changed"), "{refused}");
    drop(damaged);
    assert!(fs::read(&path).unwrap() == bytes);
    assert!(fs::read(log(&path)).unwrap() == logged);
}
