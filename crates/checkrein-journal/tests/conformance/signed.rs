//! Signed heads: made with every append, by a key that is made once, and worth what the key is worth.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

use checkrein_contract::{Digest, SessionId};
use checkrein_journal::{ChainFault, ChainProblem, EventStore, Head, JournalError, SqliteStore, verify_chain};
use rusqlite::Connection;

use super::samples::{WORLD, change_by_hand, filled, hash_by_hand, meta, note, on_disk, open, run};

/// A journal with one whole run in it.
struct Journal {
    folder: tempfile::TempDir,
    store: SqliteStore,
    session: SessionId,
    head: Head,
}

impl Journal {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let session = SessionId::new(WORLD.session);
        let head = filled(&store, &session, &run(&WORLD));
        Self { folder, store, session, head }
    }

    fn fault(&self, anchor: Option<&Head>) -> ChainFault {
        verify_chain(&self.store, &self.session, anchor).unwrap_err()
    }

    fn sql(&self, change: &str) {
        change_by_hand(self.store.path(), change);
    }

    /// Changes one event and computes every hash from there on anew, as somebody would who has the file and not the key.
    fn write_anew(&self, seq: u64, change: impl Fn(&str) -> String) {
        let rows = self.store.rows(&self.session, 1, usize::MAX).unwrap();
        let mut before = Head::genesis(&self.session).hash.to_string();
        let mut updates = String::new();
        for row in rows {
            let body = if row.seq == seq { change(&row.body) } else { row.body };
            before = hash_by_hand(&before, &body, self.session.as_str());
            let text = body.replace('\'', "''");
            updates += &format!("UPDATE events SET body = '{text}', hash = '{before}' WHERE seq = {};\n", row.seq);
        }
        self.sql(&updates);
    }
}

/// Shows R168: each append leaves the head signed, by the one key of the journal, whoever appended.
#[test]
fn every_append_signs() {
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path());
        let session = SessionId::new("s-1");
        store.create(&session, &meta(), &[]).unwrap();
        assert_eq!(
            (store.signed_head(&session).unwrap(), store.keys().unwrap().pop()),
            (None, None),
            "nothing to sign"
        );
        let mut head = Head::genesis(&session);
        for seq in 1..=5 {
            let another = open(kind, folder.path());
            head = another.append(&session, &head, &[note(seq, "a")]).unwrap();
            let signed = store.signed_head(&session).unwrap().expect("it is signed");
            assert!(signed.holds());
            assert_eq!((signed.head(), signed.at, &signed.session), (head.clone(), WORLD.at + seq, &session));
            assert_eq!(store.keys().unwrap(), std::slice::from_ref(&signed.key));
            let report = verify_chain(&*store, &session, None).unwrap();
            assert_eq!(report.signed, Some(signed));
        }
        assert!(matches!(store.signed_head(&SessionId::new("s-2")), Err(JournalError::NoSession { .. })));
    }
}

/// Shows R165: the key is for its owner alone, whole or not there, and one, however many begin at the same time.
#[test]
fn the_key_is_made_once_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let together = Barrier::new(8);
    let keys: Vec<_> = std::thread::scope(|scope| {
        let begin = |number: usize| {
            let store = SqliteStore::open(&path).unwrap();
            together.wait();
            let session = SessionId::new(format!("s-{number}"));
            filled(&store, &session, &[note(1, "a")]);
            store.signed_head(&session).unwrap().unwrap().key
        };
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || begin(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    let key = folder.path().join("journal.key");
    let mode = || fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert!(
        left.iter().all(|name| name.to_string_lossy().starts_with("journal.db") || *name == "journal.key"),
        "{left:?}"
    );

    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.keys().unwrap().first(), keys.first());
    assert_eq!(mode(), 0o600, "after a copy was put back carelessly");
}

/// A key that is none stops whoever would write, loses nothing, and is left as it is.
#[test]
fn a_broken_key_stops_writing_and_not_reading() {
    for broken in ["", "checkrein-key 1 00ff\n", "-----BEGIN PRIVATE KEY-----\n"] {
        let journal = Journal::new();
        let key = journal.folder.path().join("journal.key");
        fs::write(&key, broken).unwrap();
        let again = SqliteStore::open(journal.store.path()).unwrap();
        let refused = again.append(&journal.session, &journal.head, &[note(journal.head.seq + 1, "more")]);
        assert!(matches!(refused, Err(JournalError::Key { .. })), "{refused:?}");
        assert_eq!(again.head(&journal.session).unwrap(), journal.head);
        assert_eq!(again.read(&journal.session, 1).unwrap(), run(&WORLD));
        assert_eq!(fs::read_to_string(&key).unwrap(), broken);
    }
}

/// Shows R168: newest events that are gone are found by the signed head, wherever the rest ends.
#[test]
fn a_chain_that_ends_before_its_signed_head_is_found() {
    let journal = Journal::new();
    for last in (0..journal.head.seq).rev() {
        journal.sql(&format!("DELETE FROM events WHERE seq > {last}"));
        let fault = journal.fault(None);
        assert_eq!(
            (fault.seq, fault.problem),
            (last + 1, ChainProblem::Signed { signed: journal.head.clone(), reached: last })
        );
    }
}

/// Shows R168: a history that was computed anew from any event on is sound in itself, and not what was signed.
#[test]
fn a_forgery_without_the_key_is_found() {
    for seq in 1..=Journal::new().head.seq {
        let journal = Journal::new();
        journal.write_anew(seq, |body| body.replacen("\"at\":1700", "\"at\":1701", 1));
        let fault = journal.fault(None);
        assert_eq!(fault.seq, journal.head.seq);
        let signed = journal.head.clone();
        assert_eq!(fault.problem, ChainProblem::Signed { signed, reached: journal.head.seq }, "{seq}");

        // Naming the new hash as the signed one needs a new signature.
        let hash = journal.store.head(&journal.session).unwrap().hash;
        journal.sql(&format!("UPDATE heads SET hash = '{hash}'"));
        assert_eq!(journal.fault(None).problem, ChainProblem::Signature);

        // Without any signed head it is sound again: that nobody signed it is for the reader to see.
        journal.sql("DELETE FROM heads");
        assert_eq!(verify_chain(&journal.store, &journal.session, None).unwrap().signed, None);
        assert!(matches!(journal.fault(Some(&journal.head)).problem, ChainProblem::Anchor { .. }));
    }
}

/// Shows R168: nothing is added to a history that was written anew, or its next signature would make it true.
#[test]
fn a_forgery_is_not_signed_by_whoever_goes_on() {
    let journal = Journal::new();
    journal.write_anew(5, |body| body.replacen("\"at\":1700", "\"at\":1701", 1));
    let forged = journal.store.head(&journal.session).unwrap();
    for change in ["UPDATE heads SET at = at", &format!("UPDATE heads SET hash = '{}'", forged.hash)] {
        journal.sql(change);
        let again = SqliteStore::open(journal.store.path()).unwrap();
        for events in [&[note(forged.seq + 1, "more")][..], &[]] {
            let refused = again.append(&journal.session, &forged, events);
            assert!(matches!(refused, Err(JournalError::Damaged(_))), "{refused:?}");
        }
    }
}

/// Shows R168: a session that another key signed is gone on with when a person has accepted that key, and not before.
#[test]
fn what_another_key_signed_is_accepted_by_a_person() {
    let journal = Journal::new();
    let foreign = journal.store.keys().unwrap().remove(0);
    fs::remove_file(journal.folder.path().join("journal.key")).unwrap();
    let here = SqliteStore::open(journal.store.path()).unwrap();
    assert_eq!(here.keys().unwrap(), []);
    let next = || here.append(&journal.session, &journal.head, &[note(journal.head.seq + 1, "more")]);
    let refused = next().unwrap_err();
    assert!(refused.to_string().contains(&format!("signed with the key {foreign}")), "{refused}");
    for _ in 0..2 {
        here.accept(&foreign).unwrap();
    }
    let head = next().unwrap();
    let keys = here.keys().unwrap();
    assert_eq!((keys.len(), &keys[1]), (2, &foreign));
    assert_eq!(
        here.signed_head(&journal.session).unwrap().map(|signed| (signed.head(), signed.key)),
        Some((head, keys[0].clone()))
    );
    fs::write(journal.folder.path().join("journal.keys"), "no key\n").unwrap();
    assert!(matches!(here.keys(), Err(JournalError::Key { .. })));
}

/// Shows R168: a fitting event that was added without the key is found.
#[test]
fn an_event_that_nobody_signed_is_found() {
    let journal = Journal::new();
    let seq = journal.head.seq + 1;
    let body = format!(r#"{{"at":1,"by":"person:sam","seq":{seq},"text":"yes","type":"input","v":1}}"#);
    let hash = hash_by_hand(journal.head.hash.as_str(), &body, WORLD.session);
    journal.sql(&format!("INSERT INTO events VALUES ('{}', {seq}, 'input', '{hash}', '{body}')", WORLD.session));
    let fault = journal.fault(None);
    assert_eq!((fault.seq, fault.problem), (seq, ChainProblem::Unsigned { signed: journal.head.seq }));
}

/// Shows R168: no word of a signed head can be changed.
#[test]
fn a_changed_signed_head_is_found() {
    let changes = [
        "at = at + 1",
        "key = '00' || substr(key, 3)",
        "key = 'no key'",
        "signature = '00' || substr(signature, 3)",
        "signature = ''",
        "signature = substr(signature, 1, 126)",
    ];
    for change in changes {
        let journal = Journal::new();
        journal.sql(&format!("UPDATE heads SET {change}"));
        assert_eq!(journal.fault(None).problem, ChainProblem::Signature, "{change}");
    }
    let journal = Journal::new();
    journal.sql("UPDATE heads SET hash = 'x'");
    assert_eq!(journal.fault(None).seq, 0, "a head that is no hash is no head");
}

/// Shows R168: the whole journal, put back to an earlier day with everything in it, is sound. Only a head that was kept
/// elsewhere shows what came after.
#[test]
fn a_journal_that_was_put_back_is_found_by_an_anchor() {
    let journal = Journal::new();
    let connection = Connection::open(journal.store.path()).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let earlier = fs::read(journal.store.path()).unwrap();
    let later = journal.store.append(&journal.session, &journal.head, &[note(journal.head.seq + 1, "more")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    fs::write(&path, earlier).unwrap();
    let back = SqliteStore::open(&path).unwrap();
    verify_chain(&back, &journal.session, None).unwrap();
    let fault = verify_chain(&back, &journal.session, Some(&later)).unwrap_err();
    assert_eq!(
        (fault.seq, fault.problem),
        (later.seq, ChainProblem::Anchor { expected: later, reached: journal.head.seq })
    );
}

/// Two anchors: each is held against its own event.
#[test]
fn every_anchor_counts() {
    let journal = Journal::new();
    let row = journal.store.rows(&journal.session, 3, 1).unwrap().remove(0);
    let early = Head { seq: 3, hash: Digest::parse(&row.hash).unwrap() };
    verify_chain(&journal.store, &journal.session, [&early, &journal.head]).unwrap();
    let wrong = Head { seq: 3, hash: Digest::of(b"another") };
    let fault = verify_chain(&journal.store, &journal.session, [&journal.head, &wrong]).unwrap_err();
    assert_eq!(fault.seq, 3);
}

/// Whoever verifies while others append sees a sound journal, at every moment.
#[test]
fn a_session_that_goes_on_is_verified_meanwhile() {
    let journal = Journal::new();
    let (store, session) = (&journal.store, &journal.session);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut head = journal.head.clone();
            for _ in 0..300 {
                head = store.append(session, &head, &[note(head.seq + 1, "more")]).unwrap();
            }
            head
        });
        while !writing.is_finished() {
            let report = verify_chain(store, session, None).unwrap();
            assert_eq!(report.signed.unwrap().head(), report.head);
        }
        assert_eq!(store.head(session).unwrap(), writing.join().unwrap());
    });
}
