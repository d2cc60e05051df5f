//! Journals that earlier versions wrote: everything that is proved of a new one is proved of them. And what two sessions say
//! of each other, on a real pair of them.

use std::collections::BTreeMap;
use std::path::Path;

use checkrein::contract::{Body, CallId, Event, SessionChange, SessionId};
use checkrein::journal::{EventStore, SqliteStore};
use checkrein::verify::{Anchors, Fault, heads, verify, verify_among, verify_lines};

const PARENT: &str = "s-332d9cc3";
const CHILD: &str = "s-64ee3654";

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../checkrein-journal/tests/data").join(name)
}

fn journal(name: &str) -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    std::fs::copy(data(name), &path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    (folder, store)
}

/// Shows R168, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11: an approval, a sub-session, results in payloads, as an earlier
/// version wrote them.
#[test]
fn an_old_journal_keeps_every_invariant() {
    let (_folder, store) = journal("format-1.db");
    let sessions: Vec<SessionId> = store.sessions().unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(sessions.len(), 4);
    let kept = heads(&store, &sessions).unwrap();
    assert_eq!(kept.len(), 4);
    assert!(kept.iter().all(|line| !line.contains("signature")), "nobody signed them: {kept:?}");
    let anchors = Anchors::read(&kept.join("\n")).unwrap();
    for session in &sessions {
        let report = verify(&store, session, &anchors).unwrap().unwrap();
        assert_eq!(report.holds.join(" "), "chain I1 I2 I3 I4 I5 I6 I7 I8 I9 I10 I11");
        assert_eq!(report.signed, None);
    }
}

/// Shows R168: what was signed then is signed, and what was pruned then is known to be.
#[test]
fn a_signed_journal_keeps_every_invariant() {
    let (_folder, store) = journal("format-2.db");
    let sessions: Vec<SessionId> = store.sessions().unwrap().into_iter().map(|row| row.id).collect();
    let anchors = Anchors::read(&heads(&store, &sessions).unwrap().join("\n")).unwrap();
    let mut pruned = Vec::new();
    for session in &sessions {
        let report = verify(&store, session, &anchors).unwrap().unwrap();
        let holds = report.holds.join(" ");
        if report.pruned.is_empty() {
            assert_eq!(holds, "chain head I1 I2 I3 I4 I5 I6 I7 I8 I9 I10 I11");
        } else {
            assert_eq!(holds, "chain head");
            pruned.push((session.as_str(), report.pruned));
        }
    }
    assert_eq!(pruned, [("s-237b5316", vec![1, 16, 17])]);
}

/// Shows R168, I11: the same of exported lines, without the journal: of one session, and of two that know each other.
#[test]
fn old_lines_keep_every_invariant() {
    let read = |session: &str| std::fs::read_to_string(data(&format!("format-1-{session}.jsonl"))).unwrap();
    let both = format!("{}\n{}", read(PARENT), read(CHILD));
    let found = verify_lines(&both, &Anchors::default()).unwrap();
    let ids: Vec<String> = found.iter().map(|one| one.as_ref().unwrap().session.to_string()).collect();
    assert_eq!(ids, [PARENT, CHILD]);
    let other = verify_lines(&both.replace("\"steps\":2", "\"steps\":1"), &Anchors::default()).unwrap();
    assert!(other[0].is_err());
    assert!(verify_lines("", &Anchors::default()).unwrap().is_empty());
}

/// Events of two sessions.
type Pair = BTreeMap<SessionId, Vec<Event>>;

fn pair() -> Pair {
    let (_folder, store) = journal("format-1.db");
    [PARENT, CHILD].map(|id| (SessionId::new(id), store.read(&SessionId::new(id), 1).unwrap())).into()
}

/// What is found in one of the two after a change to either.
fn found(of: &str, change: impl FnOnce(&mut Pair)) -> Option<Fault> {
    let mut pair = pair();
    change(&mut pair);
    let of = SessionId::new(of);
    let events = pair[&of].clone();
    verify_among(&of, &events, &|other| pair.get(other).cloned()).err()
}

fn spend_of(pair: &mut Pair) -> &mut SessionChange {
    let bodies = pair.get_mut(&SessionId::new(PARENT)).unwrap().iter_mut().map(|event| &mut event.body);
    let mut changes = bodies.filter_map(|body| match body {
        Body::Finished(finished) => finished.change.as_mut(),
        _ => None,
    });
    changes.next().expect("a part was given away")
}

/// Shows I11: what each says of the other has to be what the other says, where it is at hand.
#[test]
fn sessions_that_disagree_are_found() {
    for of in [PARENT, CHILD] {
        assert_eq!(found(of, |_| {}), None, "as they were");
        assert_eq!(found(of, |pair| pair.retain(|id, _| id.as_str() == of)), None, "the other is not at hand");
    }
    let changed = |change: &dyn Fn(&mut Pair)| {
        let fault = found(PARENT, change).or_else(|| found(CHILD, change)).expect("it is found");
        assert_eq!(fault.invariant, "I11", "{fault:?}");
        fault.problem
    };
    let used = changed(&|pair| {
        if let SessionChange::Delegated { spend, .. } = spend_of(pair) {
            spend.usage.input += 1;
        }
    });
    assert!(used.contains("not what that session used"), "{used}");
    let opened = |pair: &mut Pair, change: &dyn Fn(&mut checkrein::contract::SessionOpened)| {
        let first = &mut pair.get_mut(&SessionId::new(CHILD)).unwrap()[0].body;
        if let Body::Session(opened) = first {
            change(opened);
        }
    };
    let parent = changed(&|pair| opened(pair, &|opened| opened.parent.as_mut().unwrap().call = CallId::new("c9-9")));
    assert!(parent.contains("does not say that c1-1"), "{parent}");
    let call = found(CHILD, |pair| opened(pair, &|opened| opened.parent.as_mut().unwrap().call = CallId::new("c9-9")));
    assert!(call.unwrap().problem.contains("no such call"));
    let owner = found(CHILD, |pair| {
        opened(pair, &|opened| {
            opened.identity.0.insert("person".to_owned(), "eve".to_owned());
        })
    });
    assert!(owner.unwrap().problem.contains("on behalf of somebody else"));
    let policy = found(PARENT, |_| {}).or_else(|| {
        found(CHILD, |pair| {
            let first = &mut pair.get_mut(&SessionId::new(PARENT)).unwrap()[0].body;
            if let Body::Session(opened) = first {
                opened.policy[0].text.push('\n');
            }
        })
    });
    assert!(policy.unwrap().problem.contains("does not run under the policy"));
}
