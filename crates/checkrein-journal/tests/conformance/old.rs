//! Files that earlier versions wrote: they load, verify and go on, for ever. `tests/data` holds them as they were written;
//! none is ever changed, and each new format adds one.

use std::collections::BTreeSet;
use std::fs;

use checkrein_contract::SessionId;
use checkrein_journal::{
    EventStore, JournalError, SqliteStore, export_lines, read_export, verify_chain, verify_export,
};
use rusqlite::Connection;

use super::samples::{WORLD, change_by_hand, filled, note, old_file, old_journal, run};

/// A file as it was written.
struct Written {
    name: &'static str,
    /// The number of events of each session, the newest session first.
    sessions: [(&'static str, u64); 4],
    /// Its sessions have signed heads.
    signed: bool,
    /// The one that was pruned, if one was, and which of its events lost something.
    pruned: Option<(&'static str, &'static [u64])>,
}

/// One of every format that there was.
const FILES: [Written; 2] = [
    Written {
        name: "format-1.db",
        sessions: [("s-64ee3654", 12), ("s-332d9cc3", 9), ("s-648de76e", 20), ("s-d840b68a", 24)],
        signed: false,
        pruned: None,
    },
    Written {
        name: "format-2.db",
        sessions: [("s-d83489cc", 12), ("s-75a936bc", 9), ("s-237b5316", 21), ("s-1fc17524", 24)],
        signed: true,
        pruned: Some(("s-237b5316", &[1, 1, 16, 17])),
    },
];

/// Shows R168: a journal of any format opens, is brought to the newest one, verifies as a whole, and goes on.
#[test]
fn an_old_journal_verifies_and_goes_on() {
    for Written { name, sessions, signed, pruned } in FILES {
        let (_folder, path) = old_journal(name);
        let store = SqliteStore::open(&path).unwrap();
        let listed: Vec<_> = store.sessions().unwrap().into_iter().map(|row| (row.id, row.head.seq)).collect();
        assert_eq!(listed, sessions.map(|(session, events)| (SessionId::new(session), events)), "{name}");
        for (session, head) in &listed {
            let report = verify_chain(&store, session, None).unwrap();
            assert_eq!((report.head.seq, report.signed.is_some()), (*head, signed), "{name}");
            let missing: Vec<u64> = report.missing.iter().map(|gone| gone.seq).collect();
            let lost = pruned.filter(|(pruned, _)| *pruned == session.as_str()).map_or(&[][..], |(_, events)| events);
            assert_eq!(missing, lost, "{name}");
            assert_eq!(store.read(session, 1).is_ok(), lost.is_empty());
            if let Some(signed) = &report.signed {
                store.accept(&signed.key).unwrap();
            }
            let next = store.append(session, &report.head, &[note(head + 1, "again")]).unwrap();
            let report = verify_chain(&store, session, Some(&report.head)).unwrap();
            assert_eq!(report.signed.unwrap().head(), next, "what is written now is signed");
        }
        store.check().unwrap();
        drop(store);
        SqliteStore::open(&path).unwrap();
    }
}

/// Shows R168: exported lines of any format verify without the journal, and are what the journal still exports.
#[test]
fn old_lines_verify() {
    let (_folder, path) = old_journal("format-1.db");
    let store = SqliteStore::open(&path).unwrap();
    for session in ["s-332d9cc3", "s-64ee3654", "s-d840b68a"].map(SessionId::new) {
        let text = fs::read_to_string(old_file(&format!("format-1-{session}.jsonl"))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let report = verify_export(&lines, Some(&store.head(&session).unwrap())).unwrap();
        assert_eq!(report.session, session);
        assert_eq!(read_export(&lines).unwrap(), store.read(&session, 1).unwrap());
        assert_eq!(export_lines(&store, &session).unwrap(), lines);
    }
}

/// A journal of a later format is refused, and left as it is.
#[test]
fn a_later_format_is_refused() {
    let (_folder, path) = old_journal("format-1.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(refused, JournalError::Newer { found: 99, .. }), "{refused:?}");
    assert!(fs::read(&path).unwrap() == before);
}

/// A note of a later version is passed over and kept, byte for byte; any other kind that is not known is refused.
#[test]
fn notes_of_later_versions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
    let session = SessionId::new("s-1");
    filled(&store, &session, &[note(1, "a")]);
    let later =
        r#"{"at":1,"by":"code","mood":{"of":"the day"},"name":"weather","seq":2,"sky":[1.5,null],"type":"note","v":1}"#;
    let event = serde_json::from_str(later).unwrap();
    let head = store.append(&session, &store.head(&session).unwrap(), &[event]).unwrap();
    assert_eq!(store.rows(&session, 2, 1).unwrap()[0].body, later);
    let read = store.read(&session, 1).unwrap();
    let lines = export_lines(&store, &session).unwrap();
    assert_eq!(read_export(&lines).unwrap(), read);
    assert_eq!(verify_export(&lines, Some(&head)).unwrap().head, head);
    let again = SqliteStore::open(&folder.path().join("again.db")).unwrap();
    assert_eq!(filled(&again, &session, &read), head, "written again it has the same hash");

    let required = later.replace("\"note\"", "\"weather\"");
    let refused = serde_json::from_str::<checkrein_contract::Event>(&required).unwrap_err().to_string();
    assert!(refused.contains("unknown variant `weather`"), "{refused}");
    let mark = format!(
        "UPDATE events SET kind = 'weather', body = replace(body, '\"note\"', '\"weather\"') WHERE seq = 2 AND {}",
        WORLD.at
    );
    change_by_hand(store.path(), &mark);
    assert!(store.read(&session, 1).is_err());
    let renamed: Vec<String> =
        lines.iter().map(|line| line.replace("\"type\":\"note\"", "\"type\":\"weather\"")).collect();
    assert!(matches!(read_export(&renamed), Err(JournalError::Unknown { seq: 2, .. })));
}

/// The page of the format names every kind that there is, and no other.
#[test]
fn the_page_names_every_kind() {
    let page = fs::read_to_string(old_file("../../../../docs/journal.md")).unwrap();
    let table = page.split("## Kinds").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let named: BTreeSet<&str> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let events = run(&WORLD);
    let kinds: BTreeSet<&str> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(named, kinds);
}
