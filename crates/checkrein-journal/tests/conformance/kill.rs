//! A process that is killed while it writes: whatever it was told is durable is there, and the chain is whole.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use checkrein_contract::{Digest, SessionId};
use checkrein_journal::{EventStore, Head, JournalError, StoreKind, verify_chain};

use super::samples::{big, meta, note, on_disk, open};

const FOLDER: &str = "CHECKREIN_JOURNAL_TEST_FOLDER";
const STORE: &str = "CHECKREIN_JOURNAL_TEST_STORE";
const APPENDS: &str = "CHECKREIN_JOURNAL_TEST_APPENDS";
const THREADS: &str = "CHECKREIN_JOURNAL_TEST_THREADS";
const SESSION: &str = "s-killed";

/// Kills of one run. Each is followed by opening, reading and verifying everything.
const KILLS: u64 = 24;

/// Threads of a writer that has several, each with a session of its own.
const TOGETHER: usize = 8;

/// The process that is killed: appends until then, and says after each append how far it is. Also what the flushes of an
/// append are counted on, by hand (see the crate's report): `strace -f -c -e trace=fdatasync,fsync`.
#[test]
#[ignore = "only as the process that the kill test starts"]
fn writer_process() {
    let folder = std::env::var(FOLDER).expect("the kill test says where to write");
    let name = std::env::var(STORE).expect("the kill test says with what");
    let appends: u64 = std::env::var(APPENDS).map_or(u64::MAX, |number| number.parse().expect("a number"));
    let kind = on_disk().find(|kind| kind.name == name).expect("the store is in the list");
    let threads: usize = std::env::var(THREADS).map_or(1, |number| number.parse().expect("a number"));
    let store = open(kind, Path::new(&folder));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let store = &*store;
            scope.spawn(move || write(store, &session(thread), appends));
        }
    });
}

/// The session of one thread.
fn session(thread: usize) -> SessionId {
    SessionId::new(if thread == 0 { SESSION.to_owned() } else { format!("{SESSION}-{thread}") })
}

fn write(store: &dyn EventStore, session: &SessionId, appends: u64) {
    match store.create(session, &meta(), &[]) {
        Ok(_) | Err(JournalError::Exists { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let mut head = store.head(session).unwrap();
    let mut out = std::io::stdout();
    for _ in 0..appends {
        let next = head.seq + 1;
        let events = match next % 3 {
            0 => vec![big(next, 5_000), note(next + 1, "two at once")],
            _ => vec![note(next, "one")],
        };
        head = store.append(session, &head, &events).unwrap();
        // Past the test harness, which would keep it until the end.
        writeln!(out, "\nacknowledged {session} {} {}", head.seq, head.hash).unwrap();
        out.flush().unwrap();
    }
}

fn start(kind: &StoreKind, folder: &Path, threads: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer_process", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(STORE, kind.name)
        .env(THREADS, threads.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<(SessionId, Head)> {
    let mut words = line.strip_prefix("acknowledged ")?.split(' ');
    let (session, seq, hash) = (words.next()?, words.next()?, words.next()?);
    Some((SessionId::new(session), Head { seq: seq.parse().ok()?, hash: Digest::parse(hash)? }))
}

/// Reads what the child says until it has acknowledged so many appends, kills it, and reads the rest of what it said. Gives
/// what it said last of each session.
fn kill_after(mut child: Child, appends: u64, spin: u64) -> BTreeMap<SessionId, Head> {
    let mut last = BTreeMap::new();
    let mut seen = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    while seen < appends {
        let Some(line) = lines.next() else { break };
        if let Some((session, head)) = acknowledged(&line) {
            last.insert(session, head);
            seen += 1;
        }
    }
    // Somewhere inside of the next appends, and not always right after an acknowledgement.
    let mut digest = Digest::of(b"");
    for _ in 0..spin {
        digest = Digest::of(digest.as_str().as_bytes());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    last.extend(lines.filter_map(|line| acknowledged(&line)));
    last
}

/// Shows R101, R167, R168, R201: 24 kills at different points lose no acknowledged event and break no chain.
#[test]
fn a_killed_writer_loses_nothing_that_it_acknowledged() {
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::new(SESSION);
        let mut before = 0;
        for round in 0..KILLS {
            // Before the first append, after a few, after enough for the log to be carried over.
            let appends = [0, 1, 2, 7, 30, 90][(round % 6) as usize];
            let told = kill_after(start(kind, folder.path(), 1), appends, round * 397 % 4_000).remove(&session);
            let store = open(kind, folder.path());
            let head = match store.head(&session) {
                Err(JournalError::NoSession { .. }) if told.is_none() && before == 0 => continue,
                found => found.unwrap(),
            };
            let anchor = told.unwrap_or_else(|| Head::genesis(&session));
            verify_chain(&*store, &session, Some(&anchor)).unwrap();
            store.check().unwrap();
            let events = store.read(&session, 1).unwrap();
            assert_eq!(events.len() as u64, head.seq);
            assert!(head.seq >= before + appends, "round {round}: {head:?}");
            before = head.seq;
        }
        assert!(before > KILLS, "the writers got to write");
    }
}

/// Shows R167, R201: threads that share a flush lose nothing either: what one of them was told is durable is there, signed.
#[test]
fn killed_threads_lose_nothing_that_they_acknowledged() {
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = BTreeMap::new();
        for round in 0..KILLS / 2 {
            let appends = [3, 20, 60, 200][(round % 4) as usize];
            known.extend(kill_after(start(kind, folder.path(), TOGETHER), appends, round * 397 % 4_000));
            let store = open(kind, folder.path());
            store.check().unwrap();
            for (session, anchor) in &known {
                let report = verify_chain(&*store, session, Some(anchor)).unwrap();
                assert_eq!(report.signed.unwrap().head(), report.head);
            }
        }
        assert_eq!(known.len(), TOGETHER, "each of them got to write");
    }
}

/// Shows R201: a process that is killed while it begins a journal leaves a whole one or none.
#[test]
fn a_killed_beginner_leaves_no_half_of_a_journal() {
    for kind in on_disk() {
        for round in 0..KILLS {
            let folder = tempfile::tempdir().unwrap();
            let told = kill_after(start(kind, folder.path(), 1), 0, round * 300);
            let store = open(kind, folder.path());
            store.check().unwrap();
            for (session, anchor) in &told {
                verify_chain(&*store, session, Some(anchor)).unwrap();
            }
        }
    }
}
