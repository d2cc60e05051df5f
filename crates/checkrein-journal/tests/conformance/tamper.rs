//! Whoever can write to the file changes it with plain SQL; verification names the first event that is not what was
//! written, and nothing of the session is loaded any more.

use std::path::{Path, PathBuf};

use checkrein_contract::{Digest, Event, SessionId};
use checkrein_journal::{
    ChainFault, ChainProblem, EventStore, Head, JournalError, SqliteStore, export_lines, verify_chain, verify_export,
};
use rusqlite::Connection;

use super::samples::{WORLD, big, change_by_hand, filled, hash_by_hand, meta, note, run};

/// A journal with one whole run in it, closed.
struct Journal {
    folder: tempfile::TempDir,
    session: SessionId,
    events: Vec<Event>,
    head: Head,
}

impl Journal {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::new(WORLD.session);
        let events = run(&WORLD);
        let head = filled(&SqliteStore::open(&folder.path().join("journal.db")).unwrap(), &session, &events);
        Self { folder, session, events, head }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    fn sql(&self, change: &str) {
        change_by_hand(&self.path(), change);
    }

    fn verify(&self) -> Result<(), ChainFault> {
        let store = SqliteStore::open(&self.path()).unwrap();
        let found = verify_chain(&store, &self.session, None).map(drop);
        if found.is_err() {
            let read = store.read(&self.session, 1);
            assert!(matches!(read, Err(JournalError::Damaged(_))), "nothing of it may be used: {read:?}");
        }
        found
    }

    fn problem(&self, seq: u64) -> ChainProblem {
        let fault = self.verify().unwrap_err();
        assert_eq!((&fault.session, fault.seq), (&self.session, seq), "{fault}");
        fault.problem
    }
}

/// Shows R168: a byte that was flipped in any event is found, and named.
#[test]
fn a_flipped_byte_is_found() {
    let journal = Journal::new();
    for seq in 1..=journal.head.seq {
        let flip = |path: &Path| {
            let connection = Connection::open(path).unwrap();
            let mut body: String =
                connection.query_row("SELECT body FROM events WHERE seq = ?1", [seq as i64], |row| row.get(0)).unwrap();
            let at = (seq as usize * 31) % body.len();
            let at = (at..body.len()).find(|at| body.is_char_boundary(*at) && body.as_bytes()[*at].is_ascii()).unwrap();
            let flipped = char::from(body.as_bytes()[at] ^ 1).to_string();
            body.replace_range(at..=at, &flipped);
            drop(connection);
            change_by_hand(path, &format!("UPDATE events SET body = '{}' WHERE seq = {seq}", body.replace('\'', "''")));
        };
        flip(&journal.path());
        assert_eq!(journal.problem(seq), ChainProblem::Hash);
        flip(&journal.path());
        journal.verify().unwrap();
    }
}

/// Shows R168.
#[test]
fn a_changed_hash_is_found() {
    let journal = Journal::new();
    for seq in [1, 5, journal.head.seq] {
        journal.sql(&format!("UPDATE events SET hash = 'x' || substr(hash, 2) WHERE seq = {seq}"));
        assert_eq!(journal.problem(seq), ChainProblem::Hash);
        let store = SqliteStore::open(&journal.path()).unwrap();
        let head = store.head(&journal.session);
        assert_eq!(head.is_err(), seq == journal.head.seq, "a head that is no hash is no head: {head:?}");
        let good = store.rows(&journal.session, seq, 1).unwrap().remove(0);
        let before = if seq == 1 {
            Head::genesis(&journal.session).hash.to_string()
        } else {
            store.rows(&journal.session, seq - 1, 1).unwrap().remove(0).hash
        };
        journal.sql(&format!(
            "UPDATE events SET hash = '{}' WHERE seq = {seq}",
            hash_by_hand(&before, &good.body, WORLD.session)
        ));
        journal.verify().unwrap();
    }
}

/// Shows R168.
#[test]
fn a_dropped_event_is_found() {
    for seq in [1, 7] {
        let journal = Journal::new();
        journal.sql(&format!("DELETE FROM events WHERE seq = {seq}"));
        assert_eq!(journal.problem(seq), ChainProblem::Sequence { expected: seq, found: seq + 1 });
    }
}

/// Shows R168: closing the gap by renumbering does not help.
#[test]
fn a_dropped_event_is_found_though_the_rest_moved_up() {
    let journal = Journal::new();
    journal.sql("DELETE FROM events WHERE seq = 7; UPDATE events SET seq = seq - 1 WHERE seq > 7");
    assert_eq!(journal.problem(7), ChainProblem::Hash);
}

/// Shows R168.
#[test]
fn swapped_events_are_found() {
    let journal = Journal::new();
    journal.sql(
        "UPDATE events SET seq = -1 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6;
         UPDATE events SET seq = 6 WHERE seq = -1",
    );
    assert_eq!(journal.problem(5), ChainProblem::Hash);
}

/// Shows R168.
#[test]
fn a_duplicated_event_is_found() {
    let journal = Journal::new();
    let last = journal.head.seq;
    let copy = "INSERT INTO events SELECT session,";
    journal.sql(&format!("{copy} seq + 1, kind, hash, body FROM events WHERE seq = {last}"));
    assert_eq!(journal.problem(last + 1), ChainProblem::Hash);

    let journal = Journal::new();
    journal.sql(&format!("{copy} {last} + 5, kind, hash, body FROM events WHERE seq = {last}"));
    assert_eq!(journal.problem(last + 1), ChainProblem::Sequence { expected: last + 1, found: last + 5 });
}

/// Shows R168: an approval can not be carried into another session.
#[test]
fn events_moved_to_another_session_are_found() {
    let journal = Journal::new();
    journal.sql("UPDATE events SET session = 's-other'; UPDATE sessions SET session = 's-other'");
    let store = SqliteStore::open(&journal.path()).unwrap();
    let fault = verify_chain(&store, &SessionId::new("s-other"), None).unwrap_err();
    assert_eq!((fault.seq, fault.problem), (1, ChainProblem::Hash));
}

/// Shows R168: an approval can not be hidden from the lists by changing the column that finds it.
#[test]
fn a_changed_kind_is_found() {
    let journal = Journal::new();
    journal.sql("UPDATE events SET kind = 'request' WHERE kind = 'ask'");
    assert_eq!(journal.problem(7), ChainProblem::Column { column: "kind" });
}

/// Shows R168: lists do not show what was changed either.
#[test]
fn a_changed_ask_is_not_listed() {
    let journal = Journal::new();
    journal.sql("UPDATE events SET body = replace(body, '10.5', '99.5') WHERE kind = 'ask'");
    let store = SqliteStore::open(&journal.path()).unwrap();
    assert!(matches!(store.by_kind(&["ask"]), Err(JournalError::Damaged(_))));
    assert_eq!(store.by_kind(&["approval", "finished"]).unwrap().len(), 2);
    journal.sql("DELETE FROM events WHERE kind = 'stop'");
    assert!(matches!(store.by_kind(&["approval"]), Err(JournalError::Damaged(_))), "what was before it is gone");
}

/// Shows R168: bytes that are no text any more are a finding and not a crash.
#[test]
fn bytes_that_are_no_text_are_found() {
    let journal = Journal::new();
    journal.sql("UPDATE events SET body = CAST(x'ff' || body AS TEXT) WHERE seq = 3");
    assert_eq!(journal.problem(3), ChainProblem::Hash);
}

/// Shows R168: a chain alone can not show that its newest events are gone; a head that was kept elsewhere does.
#[test]
fn removed_newest_events_are_found_by_an_anchor() {
    let journal = Journal::new();
    journal.sql("DELETE FROM events WHERE seq > 10; DELETE FROM heads");
    journal.verify().unwrap();
    let store = SqliteStore::open(&journal.path()).unwrap();
    let fault = verify_chain(&store, &journal.session, Some(&journal.head)).unwrap_err();
    assert_eq!(fault.seq, 11);
    assert_eq!(fault.problem, ChainProblem::Anchor { expected: journal.head.clone(), reached: 10 });
    let shorter = store.head(&journal.session).unwrap();
    verify_chain(&store, &journal.session, Some(&shorter)).unwrap();
    let lines = export_lines(&store, &journal.session).unwrap();
    assert!(verify_export(&lines, Some(&journal.head)).is_err());
}

/// Shows R168: a history that was written anew is sound in itself; any head that was kept of the true one shows it.
#[test]
fn a_rewritten_history_is_found_by_an_anchor() {
    let journal = Journal::new();
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let rewritten: Vec<Event> =
        journal.events.iter().map(|event| Event { at: event.at + 1, ..event.clone() }).collect();
    filled(&store, &journal.session, &rewritten);
    verify_chain(&store, &journal.session, None).unwrap();
    let original = SqliteStore::open(&journal.path()).unwrap();
    for row in original.rows(&journal.session, 1, usize::MAX).unwrap() {
        let anchor = Head { seq: row.seq, hash: Digest::parse(&row.hash).unwrap() };
        verify_chain(&original, &journal.session, Some(&anchor)).unwrap();
        let fault = verify_chain(&store, &journal.session, Some(&anchor)).unwrap_err();
        assert_eq!(fault.seq, row.seq);
    }
    let genesis = Head { seq: 0, hash: Digest::of(b"of another session") };
    assert!(verify_chain(&original, &journal.session, Some(&genesis)).is_err());
}

/// Shows R168: a payload is as well protected as the event that refers to it.
#[test]
fn a_changed_payload_is_found() {
    for change in ["x'00' || substr(bytes, 2)", "bytes || x'20'", "x''"] {
        let journal = Journal::new();
        journal.sql(&format!("UPDATE blobs SET bytes = CAST({change} AS BLOB)"));
        let ChainProblem::Payload { digest } = journal.problem(1) else { panic!("the first event has a payload") };
        let store = SqliteStore::open(&journal.path()).unwrap();
        assert!(store.blob(&digest).unwrap().is_some());
        assert!(matches!(export_lines(&store, &journal.session), Err(JournalError::Damaged(_))));
    }
}

/// Shows R166, R168: a payload that somebody took away is a finding. Only the chain itself can say that it was pruned.
#[test]
fn a_payload_that_was_taken_away_is_found() {
    let journal = Journal::new();
    journal.sql("DELETE FROM blobs");
    let store = SqliteStore::open(&journal.path()).unwrap();
    let fault = verify_chain(&store, &journal.session, Some(&journal.head)).unwrap_err();
    assert!(matches!((fault.seq, &fault.problem), (1, ChainProblem::Gone { .. })), "{fault}");
    let read = store.read(&journal.session, 5);
    assert!(matches!(read, Err(JournalError::MissingBlob { seq: 12, .. })), "{read:?}");
    let lines = export_lines(&store, &journal.session).unwrap();
    assert_eq!(verify_export(&lines, None).unwrap_err(), fault);
    let next = note(journal.head.seq + 1, "later");
    store.append(&journal.session, &journal.head, &[next]).unwrap();
}

/// Shows R168: whoever spells an event in another way could have it read in two ways.
#[test]
fn another_spelling_is_found() {
    for (from, to) in [("\"text\":\"a\"", "\"text\": \"a\""), ("\"text\":\"a\"", "\"text\":\"b\",\"text\":\"a\"")] {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let session = SessionId::new("s-1");
        filled(&store, &session, &[note(1, "a")]);
        let body = store.rows(&session, 1, 1).unwrap().remove(0).body.replace(from, to);
        let before = Head::genesis(&session).hash;
        let hash = Digest::of(format!("{before}{{\"event\":{body},\"session\":\"s-1\"}}").as_bytes());
        change_by_hand(store.path(), &format!("UPDATE events SET hash = '{hash}', body = '{body}'; DELETE FROM heads"));
        let fault = verify_chain(&store, &session, None).unwrap_err();
        assert_eq!((fault.seq, fault.problem), (1, ChainProblem::Spelling));
    }
}

/// An event of a newer version stops whoever reads, and is named. It can still be verified and exported.
#[test]
fn an_unknown_event_is_named_and_not_guessed_at() {
    let cases = [
        (r#"{"at":1,"by":"code","seq":2,"type":"telepathy","v":1}"#, "type `telepathy`"),
        (r#"{"at":1,"by":"code","seq":2,"text":"a","type":"input","v":2}"#, "version 2"),
        (r#"{"at":1,"by":"ghost","seq":2,"text":"a","type":"input","v":1}"#, "`ghost` is no actor"),
    ];
    for (body, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let session = SessionId::new("s-1");
        let head = filled(&store, &session, &[note(1, "a")]);
        let hash = hash_by_hand(head.hash.as_str(), body, "s-1");
        let kind = if body.contains("telepathy") { "telepathy" } else { "input" };
        let added = format!("INSERT INTO events VALUES ('s-1', 2, '{kind}', '{hash}', '{body}'); DELETE FROM heads");
        change_by_hand(store.path(), &added);
        let Err(JournalError::Unknown { seq: 2, what, .. }) = store.read(&session, 1) else { panic!("{body}") };
        assert!(what.contains(expected), "{what}");
        assert_eq!(verify_chain(&store, &session, None).unwrap().head.seq, 2);
        assert_eq!(verify_export(export_lines(&store, &session).unwrap(), None).unwrap().head.seq, 2);
    }
}

/// Shows R168: a reference is as exact as what it stands for, so that a chain and its export are sound together or not at
/// all.
#[test]
fn a_reference_with_a_wrong_length_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let session = SessionId::new("s-1");
    filled(&store, &session, &[big(1, 2_000)]);
    let body = store.rows(&session, 1, 1).unwrap().remove(0).body.replace("\"bytes\":2002", "\"bytes\":2003");
    let hash = hash_by_hand(Head::genesis(&session).hash.as_str(), &body, "s-1");
    change_by_hand(store.path(), &format!("UPDATE events SET hash = '{hash}', body = '{body}'"));
    let problem = verify_chain(&store, &session, None).unwrap_err().problem;
    assert!(matches!(problem, ChainProblem::Payload { .. }), "{problem}");
}

/// Nobody changes events by accident: the tables themselves refuse.
#[test]
fn the_tables_are_append_only() {
    let journal = Journal::new();
    let connection = Connection::open(journal.path()).unwrap();
    let earlier = "UPDATE heads SET seq = seq - 1";
    let changes = ["UPDATE events SET kind = 'x'", "DELETE FROM events", "UPDATE blobs SET bytes = x'00'", earlier];
    for change in changes.into_iter().chain(["DELETE FROM heads"]) {
        let refused = connection.execute_batch(change).unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
    connection.execute_batch("DELETE FROM blobs").unwrap();
}

#[test]
fn an_unknown_session_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let fault = verify_chain(&store, &SessionId::new("s-9"), None).unwrap_err();
    assert!(matches!(fault.problem, ChainProblem::Store { .. }), "{fault}");
    store.create(&SessionId::new("s-9"), &meta(), &[]).unwrap();
    assert_eq!(verify_chain(&store, &SessionId::new("s-9"), None).unwrap().head.seq, 0);
    let head = store.head(&SessionId::new("s-9")).unwrap();
    store.append(&SessionId::new("s-9"), &head, &[big(1, 2_000)]).unwrap();
    assert_eq!(verify_chain(&store, &SessionId::new("s-9"), None).unwrap().payloads, 1);
}
