//! Figures, by hand: `cargo test --release -p checkrein-journal -- --ignored speed --nocapture`.

use std::io::Write;
use std::time::Instant;

use checkrein_contract::{Event, SessionId};
use checkrein_journal::{EventStore, Head, export_lines, verify_chain, verify_export};

use super::samples::{meta, on_disk, open, usual};

const EVENTS: u64 = 100_000;
const BATCH: u64 = 1_000;
const SINGLE: u64 = 2_000;

fn say(what: &str, count: u64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    let mut err = std::io::stderr();
    let _ = writeln!(err, "{what}: {count} in {seconds:.3} s, {:.0}/s", count as f64 / seconds);
}

fn fill(store: &dyn EventStore, session: &SessionId, events: u64, batch: u64) {
    store.create(session, &meta(), &[]).unwrap();
    let sample = usual(1);
    let mut head = Head::genesis(session);
    while head.seq < events {
        let batch: Vec<Event> = (head.seq + 1..=head.seq + batch).map(|seq| Event { seq, ..sample.clone() }).collect();
        head = store.append(session, &head, &batch).unwrap();
    }
}

#[test]
#[ignore = "figures, by hand and in a release build"]
fn speed() {
    for kind in on_disk() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let store = open(kind, folder.path());
        let session = SessionId::new("s-batch");
        let start = Instant::now();
        fill(&*store, &session, EVENTS, BATCH);
        say("append, 1,000 events at once", EVENTS, start);

        let single = SessionId::new("s-single");
        let start = Instant::now();
        fill(&*store, &single, SINGLE / 2, 1);
        say("append, one event at once, short session", SINGLE / 2, start);
        let mut head = store.head(&session).unwrap();
        let start = Instant::now();
        for _ in 0..SINGLE / 2 {
            head = store.append(&session, &head, &[usual(head.seq + 1)]).unwrap();
        }
        say("append, one event at once, long session", SINGLE / 2, start);

        let start = Instant::now();
        say("verify", verify_chain(&*store, &session, None).unwrap().head.seq, start);
        let start = Instant::now();
        say("read", store.read(&session, 1).unwrap().len() as u64, start);
        let start = Instant::now();
        say("by_kind, one session in two", store.by_kind(&["decision"]).unwrap().len() as u64, start);
        let start = Instant::now();
        let lines = export_lines(&*store, &session).unwrap();
        say("export", lines.len() as u64, start);
        let start = Instant::now();
        say("verify export", verify_export(&lines, None).unwrap().head.seq, start);
        drop(store);
        let size = std::fs::metadata(folder.path().join("journal.db")).unwrap().len();
        say("bytes on disk for each event", size / (EVENTS + SINGLE), Instant::now());
        let start = Instant::now();
        let store = open(kind, folder.path());
        say("open", 1, start);
        let start = Instant::now();
        say("sessions", store.sessions().unwrap().len() as u64, start);
    }
}
