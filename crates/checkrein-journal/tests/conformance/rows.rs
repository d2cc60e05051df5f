//! A real journal, whole: every row of it is flipped, dropped, swapped, doubled, cut off after, added to; every payload is
//! edited. Each change is found, and nothing of a changed session is read.

use checkrein_contract::SessionId;
use checkrein_journal::{
    ChainProblem, EventStore, Head, SqliteStore, StoredRow, export_lines, verify_chain, verify_export,
};

use super::samples::{change_by_hand, hash_by_hand, note, old_journal};

/// Sessions that a model was scripted for and everything else was real: an approval, a sub-session, results in payloads.
struct Real {
    _folder: tempfile::TempDir,
    store: SqliteStore,
    sessions: Vec<SessionId>,
}

impl Real {
    /// Each session is written to once, so that it has a signed head.
    fn signed() -> Self {
        let (folder, path) = old_journal("format-1.db");
        let store = SqliteStore::open(&path).unwrap();
        let sessions: Vec<SessionId> = store.sessions().unwrap().into_iter().map(|row| row.id).collect();
        for session in &sessions {
            let head = store.head(session).unwrap();
            store.append(session, &head, &[note(head.seq + 1, "seen")]).unwrap();
        }
        Self { _folder: folder, store, sessions }
    }

    fn sql(&self, change: &str) {
        change_by_hand(self.store.path(), change);
    }

    fn rows(&self, session: &SessionId) -> Vec<StoredRow> {
        self.store.rows(session, 1, usize::MAX).unwrap()
    }

    /// The rows as they were.
    fn put_back(&self, session: &SessionId, rows: &[StoredRow]) {
        let mut change = format!("DELETE FROM events WHERE session = '{session}';\n");
        for StoredRow { seq, kind, hash, body } in rows {
            let body = body.replace('\'', "''");
            change += &format!("INSERT INTO events VALUES ('{session}', {seq}, '{kind}', '{hash}', '{body}');\n");
        }
        self.sql(&change);
        verify_chain(&self.store, session, None).unwrap();
    }

    /// What is found where the change was made; nothing from there on is read.
    fn found(&self, session: &SessionId, what: &str) -> (u64, ChainProblem) {
        let fault = verify_chain(&self.store, session, None).expect_err(what);
        let lost = matches!(fault.problem, ChainProblem::Signed { .. } | ChainProblem::Unsigned { .. });
        assert!(lost || self.store.read(session, 1).is_err(), "{what} was read");
        (fault.seq, fault.problem)
    }
}

/// Shows R168: whatever is done to any row, it is found, and at the row.
#[test]
fn every_row_is_guarded() {
    let real = Real::signed();
    let mut tried = 0;
    for session in &real.sessions {
        let rows = real.rows(session);
        let last = rows.len() as u64;
        for row in &rows {
            let (seq, here) = (row.seq, format!("WHERE session = '{session}' AND seq = {}", row.seq));
            real.sql(&format!("UPDATE events SET body = replace(body, '\"at\":1', '\"at\":2') {here}"));
            assert_eq!(real.found(session, "flipped"), (seq, ChainProblem::Hash));
            real.put_back(session, &rows);

            real.sql(&format!("DELETE FROM events {here}"));
            let (at, problem) = real.found(session, "dropped");
            let sequence = ChainProblem::Sequence { expected: seq, found: seq + 1 };
            assert!(at == seq && (problem == sequence || seq == last), "dropped {seq}: {problem}");
            real.put_back(session, &rows);

            if seq < last {
                real.sql(&format!(
                    "UPDATE events SET seq = -1 {here};
                     UPDATE events SET seq = {seq} WHERE session = '{session}' AND seq = {seq} + 1;
                     UPDATE events SET seq = {seq} + 1 WHERE session = '{session}' AND seq = -1"
                ));
                assert_eq!(real.found(session, "swapped"), (seq, ChainProblem::Hash));
                real.put_back(session, &rows);
            }

            real.sql(&format!(
                "UPDATE events SET seq = -seq WHERE session = '{session}' AND seq > {seq};
                 UPDATE events SET seq = 1 - seq WHERE session = '{session}' AND seq < 0;
                 INSERT INTO events SELECT session, seq + 1, kind, hash, body FROM events {here}"
            ));
            assert_eq!(real.found(session, "doubled"), (seq + 1, ChainProblem::Hash));
            real.put_back(session, &rows);

            real.sql(&format!("DELETE FROM events WHERE session = '{session}' AND seq >= {seq}"));
            let signed = real.store.signed_head(session).unwrap().unwrap().head();
            assert_eq!(real.found(session, "cut off"), (seq, ChainProblem::Signed { signed, reached: seq - 1 }));
            real.put_back(session, &rows);
            tried += 5;
        }
        let hash = hash_by_hand(&rows.last().unwrap().hash, r#"{"at":1,"by":"code","seq":0,"type":"x","v":1}"#, "s");
        real.sql(&format!("INSERT INTO events VALUES ('{session}', {last} + 1, 'x', '{hash}', '{{}}')"));
        assert_eq!(real.found(session, "added"), (last + 1, ChainProblem::Hash));
        real.put_back(session, &rows);
    }
    assert!(tried > 300, "{tried}");
}

/// Shows R168: a history computed anew from any row on is found by the signed head, in every session.
#[test]
fn every_forgery_is_found() {
    let real = Real::signed();
    for session in &real.sessions {
        let rows = real.rows(session);
        for forged in 1..=rows.len() as u64 {
            let mut before = Head::genesis(session).hash.to_string();
            let anew: Vec<StoredRow> = rows
                .iter()
                .map(|row| {
                    let body =
                        if row.seq == forged { row.body.replacen("\"at\":1", "\"at\":2", 1) } else { row.body.clone() };
                    before = hash_by_hand(&before, &body, session.as_str());
                    StoredRow { hash: before.clone(), body, ..row.clone() }
                })
                .collect();
            let mut change = String::new();
            for StoredRow { seq, hash, body, .. } in &anew {
                let body = body.replace('\'', "''");
                change += &format!(
                    "UPDATE events SET hash = '{hash}', body = '{body}' WHERE session = '{session}' AND seq = {seq};\n"
                );
            }
            real.sql(&change);
            let (seq, problem) = real.found(session, "forged");
            assert_eq!(seq, rows.len() as u64);
            assert!(matches!(problem, ChainProblem::Signed { .. }), "{problem}");
        }
        real.put_back(session, &rows);
    }
}

/// Shows R168: every payload is as well guarded as the event that refers to it, in the journal and in exported lines.
#[test]
fn every_payload_is_guarded() {
    let real = Real::signed();
    let connection = rusqlite::Connection::open(real.store.path()).unwrap();
    let mut statement = connection.prepare("SELECT digest FROM blobs").unwrap();
    let digests: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(digests.len() > 8);
    for digest in digests {
        let found = |what: &str| {
            let found =
                real.sessions.iter().filter(|session| verify_chain(&real.store, session, None).is_err()).count();
            assert!(found > 0, "{what} of {digest}");
        };
        let here = format!("WHERE digest = '{digest}'");
        real.sql(&format!("CREATE TABLE kept AS SELECT * FROM blobs {here}"));
        for change in ["bytes || x'20'", "x'22' || substr(bytes, 2, length(bytes) - 2) || x'00'", "x''"] {
            real.sql(&format!("UPDATE blobs SET bytes = CAST({change} AS BLOB) {here}"));
            found(change);
            real.sql(&format!("UPDATE blobs SET bytes = (SELECT bytes FROM kept) {here}"));
        }
        real.sql(&format!("DELETE FROM blobs {here}"));
        found("the loss");
        real.sql("INSERT INTO blobs SELECT * FROM kept; DROP TABLE kept");
    }
    for session in &real.sessions {
        verify_chain(&real.store, session, None).unwrap();
        verify_export(export_lines(&real.store, session).unwrap(), None).unwrap();
    }
}
