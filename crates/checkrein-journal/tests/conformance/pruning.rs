//! Pruning: payloads go, links stay, the chain says so, and nobody else loses anything.

use checkrein_contract::{Actor, Event, SessionId};
use checkrein_journal::{
    EventStore, Head, JournalError, MissingPayload, Pruned, Pruning, STORES, SqliteStore, export_lines, read_export,
    verify_chain, verify_export,
};
use rusqlite::Connection;

use super::samples::{WORLD, World, big, change_by_hand, filled, meta, note, open, run};

fn order() -> Pruning {
    Pruning { by: Actor::Person("dana".to_owned()), at: WORLD.at + 1_000 }
}

/// Three sessions: the first two share a payload, and the third has the first one's policy.
fn sessions(store: &dyn EventStore) -> [SessionId; 3] {
    let ids = ["s-1", "s-2", "s-3"].map(SessionId::new);
    filled(store, &ids[0], &[big(1, 4_000), big(2, 5_000), note(3, "small")]);
    filled(store, &ids[1], &[big(1, 4_000), note(2, "small")]);
    filled(store, &ids[2], &run(&WORLD));
    ids
}

fn events(missing: &[MissingPayload]) -> Vec<u64> {
    missing.iter().map(|gone| gone.seq).collect()
}

/// Shows R166: what only the pruned session refers to goes, its chain verifies and says what went, who said so and when.
#[test]
fn payloads_go_and_the_chain_says_so() {
    for kind in STORES {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path());
        let [first, second, third] = sessions(&*store);
        let before = store.head(&first).unwrap();
        let expected = vec![Pruned { session: first.clone(), payloads: 1, bytes: 5_002 }];
        let chosen = std::slice::from_ref(&first);
        assert_eq!(store.prune(chosen, None).unwrap(), expected, "counted, and nothing removed");
        assert_eq!(store.head(&first).unwrap(), before);
        assert_eq!(store.read(&first, 1).unwrap().len(), 3);

        assert_eq!(store.prune(chosen, Some(&order())).unwrap(), expected);
        let report = verify_chain(&*store, &first, Some(&before)).unwrap();
        assert_eq!((report.head.seq, report.payloads, events(&report.missing)), (4, 1, vec![2]));
        assert_eq!(report.signed.map(|signed| signed.seq), (kind.name != "memory").then_some(4));
        let said = store.rows(&first, 4, 1).unwrap().remove(0).body;
        let at = WORLD.at + 1_000;
        assert_eq!(
            said,
            format!(
                r#"{{"at":{at},"by":"person:dana","bytes":5002,"name":"pruned","payloads":1,"seq":4,"type":"note","upto":3,"v":1}}"#
            )
        );
        let read = store.read(&first, 1);
        assert!(matches!(read, Err(JournalError::MissingBlob { seq: 2, .. })), "{read:?}");
        for other in [&second, &third] {
            assert!(store.read(other, 1).is_ok(), "{other} lost something");
        }
        assert_eq!(store.prune(chosen, Some(&order())).unwrap(), [], "nothing is left to remove");
        assert_eq!(store.head(&first).unwrap().seq, 4);
    }
}

/// Shows R166, R168: pruned lines verify elsewhere, and only what the chain says may be missing.
#[test]
fn a_pruned_export_verifies() {
    for kind in STORES {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path());
        let [first, ..] = sessions(&*store);
        store.prune(std::slice::from_ref(&first), Some(&order())).unwrap();
        let head = store.head(&first).unwrap();
        store.append(&first, &head, &[big(5, 2_000)]).unwrap();
        let lines = export_lines(&*store, &first).unwrap();
        let report = verify_export(&lines, None).unwrap();
        assert_eq!((report.head.seq, events(&report.missing)), (5, vec![2]));
        assert!(matches!(read_export(&lines), Err(JournalError::MissingBlob { seq: 2, .. })));
        assert!(verify_export(&lines[..3], None).is_err(), "without the line that says so");
    }
}

/// All sessions at once: a payload that only they share goes too.
#[test]
fn what_pruned_sessions_share_goes_with_them() {
    for kind in STORES {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path());
        let [first, second, _] = sessions(&*store);
        let lost = store.prune(&[first.clone(), second.clone()], Some(&order())).unwrap();
        let lost: Vec<_> = lost.iter().map(|lost| (lost.session.as_str(), lost.payloads, lost.bytes)).collect();
        assert_eq!(lost, [("s-1", 2, 9_004), ("s-2", 1, 4_002)]);
        for session in [&first, &second] {
            verify_chain(&*store, session, None).unwrap();
        }
    }
}

/// A note speaks of what came before it: what goes missing later is a finding, also when the note claims more.
#[test]
fn a_note_covers_nothing_that_comes_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let [first, ..] = sessions(&store);
    store.prune(std::slice::from_ref(&first), Some(&order())).unwrap();
    let head = store.head(&first).unwrap();
    let claims: Event = serde_json::from_value(serde_json::json!({
        "v": 1, "seq": 5, "at": 1, "by": "person:eve", "type": "note", "name": "pruned", "upto": 99
    }))
    .unwrap();
    store.append(&first, &head, &[claims, big(6, 7_000)]).unwrap();
    let (_, before) = (verify_chain(&store, &first, None).unwrap(), store.rows(&first, 6, 1).unwrap());
    change_by_hand(store.path(), "DELETE FROM blobs WHERE length(bytes) > 6000");
    let fault = verify_chain(&store, &first, None).unwrap_err();
    assert_eq!(fault.seq, 6, "{fault}, {before:?}");
}

/// Shows R164, R166: what was removed is not in the files any more.
#[test]
fn what_is_removed_is_gone_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let store = SqliteStore::open(&path).unwrap();
    let session = SessionId::new("s-1");
    filled(&store, &session, &[note(1, &"peculiar-words ".repeat(20_000)), note(2, "small")]);
    let found = || {
        let files =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        files.map(|bytes| (bytes.len(), bytes.windows(14).any(|part| part == b"peculiar-words"))).collect::<Vec<_>>()
    };
    assert!(found().iter().any(|(_, there)| *there));
    store.prune(std::slice::from_ref(&session), Some(&order())).unwrap();
    assert!(!found().iter().any(|(_, there)| *there), "{:?}", found());
    let bytes: usize = found().iter().map(|(bytes, _)| bytes).sum();
    assert!(bytes < 200_000, "the room is given back: {bytes}");
    store.check().unwrap();
    verify_chain(&store, &session, None).unwrap();
}

/// An event that can not be read may refer to anything: then nothing is removed.
#[test]
fn a_damaged_journal_is_not_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let [first, second, _] = sessions(&store);
    change_by_hand(store.path(), "UPDATE events SET body = 'x' || body WHERE session = 's-2' AND seq = 1");
    let refused = store.prune(std::slice::from_ref(&first), Some(&order()));
    assert!(matches!(refused, Err(JournalError::Damaged(_))), "{refused:?}");
    assert_eq!(store.read(&first, 1).unwrap().len(), 3);
    assert!(store.read(&second, 1).is_err());
}

/// Shows R166: what many sessions begin with is kept once.
#[test]
fn instructions_and_tools_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("s-{number}")).collect();
    for name in &names {
        let session = SessionId::new(name.clone());
        store.create(&session, &meta(), &[]).unwrap();
        let first = run(&World { session: Box::leak(name.clone().into_boxed_str()), ..WORLD }).remove(0);
        store.append(&session, &Head::genesis(&session), &[first]).unwrap();
    }
    let connection = Connection::open(store.path()).unwrap();
    let payloads: i64 = connection.query_row("SELECT count(*) FROM blobs", [], |row| row.get(0)).unwrap();
    assert_eq!(payloads, 1, "one policy of twenty sessions");
}
