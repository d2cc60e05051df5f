//! A process that is killed while it writes: whatever it was told is durable is there, and the chain is whole.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use checkrein_contract::{Digest, SessionId};
use checkrein_journal::{Head, JournalError, StoreKind, verify_chain};

use super::samples::{big, meta, note, on_disk, open};

const FOLDER: &str = "CHECKREIN_JOURNAL_TEST_FOLDER";
const STORE: &str = "CHECKREIN_JOURNAL_TEST_STORE";
const APPENDS: &str = "CHECKREIN_JOURNAL_TEST_APPENDS";
const SESSION: &str = "s-killed";

/// Kills of one run. Each is followed by opening, reading and verifying everything.
const KILLS: u64 = 24;

/// The process that is killed: appends until then, and says after each append how far it is. Also what the flushes of an
/// append are counted on, by hand (see the crate's report): `strace -f -c -e trace=fdatasync,fsync`.
#[test]
#[ignore = "only as the process that the kill test starts"]
fn writer_process() {
    let folder = std::env::var(FOLDER).expect("the kill test says where to write");
    let name = std::env::var(STORE).expect("the kill test says with what");
    let appends: u64 = std::env::var(APPENDS).map_or(u64::MAX, |number| number.parse().expect("a number"));
    let kind = on_disk().find(|kind| kind.name == name).expect("the store is in the list");
    let store = open(kind, Path::new(&folder));
    let session = SessionId::new(SESSION);
    match store.create(&session, &meta(), &[]) {
        Ok(_) | Err(JournalError::Exists { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let mut head = store.head(&session).unwrap();
    let mut out = std::io::stdout();
    for _ in 0..appends {
        let next = head.seq + 1;
        let events = match next % 3 {
            0 => vec![big(next, 5_000), note(next + 1, "two at once")],
            _ => vec![note(next, "one")],
        };
        head = store.append(&session, &head, &events).unwrap();
        // Past the test harness, which would keep it until the end.
        writeln!(out, "\nacknowledged {} {}", head.seq, head.hash).unwrap();
        out.flush().unwrap();
    }
}

fn start(kind: &StoreKind, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer_process", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(STORE, kind.name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<Head> {
    let (seq, hash) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
    Some(Head { seq: seq.parse().ok()?, hash: Digest::parse(hash)? })
}

/// Reads what the child says until it has acknowledged so many appends, kills it, and reads the rest of what it said.
fn kill_after(mut child: Child, appends: u64, spin: u64) -> Option<Head> {
    let mut last = None;
    let mut seen = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    while seen < appends {
        let Some(line) = lines.next() else { break };
        if let Some(head) = acknowledged(&line) {
            last = Some(head);
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
    lines.filter_map(|line| acknowledged(&line)).last().or(last)
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
            let told = kill_after(start(kind, folder.path()), appends, round * 397 % 4_000);
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

/// Shows R201: a process that is killed while it begins a journal leaves a whole one or none.
#[test]
fn a_killed_beginner_leaves_no_half_of_a_journal() {
    for kind in on_disk() {
        for round in 0..KILLS {
            let folder = tempfile::tempdir().unwrap();
            let told = kill_after(start(kind, folder.path()), 0, round * 300);
            let store = open(kind, folder.path());
            store.check().unwrap();
            if let Some(anchor) = told {
                verify_chain(&*store, &SessionId::new(SESSION), Some(&anchor)).unwrap();
            }
        }
    }
}
