//! The laws of every store: what was appended is read back, a head is a fence, lists tell the truth.

use std::sync::Barrier;

use checkrein_contract::{Body, Digest, Event, SessionId, Status};
use checkrein_journal::{
    ChainReport, EventStore, Head, INLINE_BYTES_MAX, JournalError, STORES, SessionMeta, verify_chain,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::samples::{WORLD, big, filled, meta, note, on_disk, open, run};

/// Runs a law against a fresh store of each kind.
fn every_store(law: impl Fn(&dyn EventStore)) {
    for kind in STORES {
        let folder = tempfile::tempdir().unwrap();
        law(&*open(kind, folder.path()));
    }
}

/// Shows R161, R170, R171, R172: every kind of event is kept whole and in order, with who did it.
#[test]
fn what_was_appended_is_read_back() {
    every_store(|store| {
        let session = SessionId::new(WORLD.session);
        let events = run(&WORLD);
        let head = filled(store, &session, &events);
        assert_eq!(head.seq, events.len() as u64);
        assert_eq!(store.head(&session).unwrap(), head);
        assert_eq!(store.read(&session, 0).unwrap(), events);
        for from in 1..=events.len() {
            assert_eq!(store.read(&session, from as u64).unwrap(), events[from - 1..], "from {from}");
        }
        assert_eq!(store.read(&session, head.seq + 1).unwrap(), []);
        assert_eq!(store.read(&session, u64::MAX).unwrap(), []);
        let report = verify_chain(store, &session, Some(&head)).unwrap();
        assert_eq!((report.head, report.payloads, report.missing), (head, 2, vec![]));
    });
}

#[test]
fn one_append_of_many_is_the_chain_of_many_appends_of_one() {
    every_store(|store| {
        let (many, single) = (SessionId::new("s-1"), SessionId::new("s-1-again"));
        let events = run(&WORLD);
        let mut head = Head::genesis(&single);
        store.create(&single, &meta(), &[]).unwrap();
        for event in &events {
            head = store.append(&single, &head, std::slice::from_ref(event)).unwrap();
        }
        filled(store, &many, &events);
        let bodies = |session| store.rows(session, 1, usize::MAX).unwrap().into_iter().map(|row| row.body);
        assert!(bodies(&many).eq(bodies(&single)));
        assert_ne!(store.head(&many).unwrap().hash, head.hash, "a chain belongs to its session");
    });
}

#[test]
fn a_long_session_is_read_over_several_pages() {
    every_store(|store| {
        let session = SessionId::new("s-long");
        let events: Vec<Event> = (1..=1_025).map(|seq| note(seq, "x")).collect();
        let head = filled(store, &session, &events);
        assert_eq!(store.read(&session, 1).unwrap(), events);
        assert_eq!(verify_chain(store, &session, None).unwrap().head, head);
    });
}

/// Shows R142: of two workers on one session the second loses at once, and adds nothing.
#[test]
fn a_stale_head_is_refused() {
    every_store(|store| {
        let session = SessionId::new("s-1");
        let first = filled(store, &session, &[note(1, "a")]);
        let second = store.append(&session, &first, &[note(2, "b")]).unwrap();
        let late = store.append(&session, &first, &[note(2, "c")]);
        let Err(JournalError::Conflict { expected, found, .. }) = late else { panic!("{late:?}") };
        assert_eq!((expected, found), (first.clone(), second.clone()));

        let forged = Head { seq: second.seq, hash: Digest::of(b"another history") };
        assert!(matches!(store.append(&session, &forged, &[note(3, "d")]), Err(JournalError::Conflict { .. })));
        assert!(matches!(store.append(&session, &first, &[]), Err(JournalError::Conflict { .. })));
        assert_eq!(store.append(&session, &second, &[]).unwrap(), second);
        assert_eq!(store.read(&session, 1).unwrap(), [note(1, "a"), note(2, "b")]);
    });
}

#[test]
fn events_follow_one_by_one() {
    every_store(|store| {
        let session = SessionId::new("s-1");
        let head = filled(store, &session, &[note(1, "a")]);
        for wrong in
            [&[note(1, "b")][..], &[note(3, "b")], &[note(2, "b"), note(4, "c")], &[note(2, "b"), note(2, "c")]]
        {
            assert!(matches!(store.append(&session, &head, wrong), Err(JournalError::Gap { .. })));
        }
        assert_eq!(store.head(&session).unwrap(), head);
    });
}

#[test]
fn a_session_is_created_once_and_before_its_events() {
    every_store(|store| {
        let (session, other) = (SessionId::new("s-1"), SessionId::new("s-2"));
        store.create(&session, &meta(), &[]).unwrap();
        assert!(matches!(store.create(&session, &meta(), &[]), Err(JournalError::Exists { .. })));
        assert_eq!(store.head(&session).unwrap(), Head::genesis(&session));
        assert_eq!(store.read(&session, 1).unwrap(), []);
        let unknown = [
            store.head(&other).map(drop),
            store.read(&other, 1).map(drop),
            store.rows(&other, 1, 1).map(drop),
            store.append(&other, &Head::genesis(&other), &[note(1, "a")]).map(drop),
        ];
        assert!(unknown.iter().all(|found| matches!(found, Err(JournalError::NoSession { .. }))), "{unknown:?}");
    });
}

#[test]
fn a_session_and_its_first_events_come_together() {
    every_store(|store| {
        let session = SessionId::new("s-1");
        let gap = store.create(&session, &meta(), &[note(2, "a")]);
        assert!(matches!(gap, Err(JournalError::Gap { .. })), "{gap:?}");
        assert!(matches!(store.head(&session), Err(JournalError::NoSession { .. })), "nothing was added");
        let first = [note(1, "a"), big(2, 9_000)];
        let head = store.create(&session, &meta(), &first).unwrap();
        assert_eq!((head.seq, &store.head(&session).unwrap()), (2, &head));
        assert_eq!(store.read(&session, 1).unwrap(), first);
        assert_eq!(store.append(&session, &head, &[note(3, "b")]).unwrap().seq, 3);
    });
}

/// Shows R162: lists name the final status and count proposals, from the events themselves.
#[test]
fn lists_are_newest_first_and_tell_the_status() {
    every_store(|store| {
        let events = run(&WORLD);
        let (paused, resumed) = (8, 10);
        assert_eq!(events[paused - 1].body.kind(), "stop");
        assert_eq!(events[resumed - 1].body.kind(), "resumed");
        for (name, events) in
            [("s-0", 0), ("s-1", paused), ("s-2", paused + 1), ("s-3", resumed), ("s-4", events.len())]
        {
            // A clock that jumps back does not reorder the list.
            let meta = SessionMeta { created_at: 1_000 - events as u64, ..meta() };
            let session = SessionId::new(name);
            store.create(&session, &meta, &[]).unwrap();
            store.append(&session, &Head::genesis(&session), &run(&WORLD)[..events]).unwrap();
        }
        let listed = store.sessions().unwrap();
        let told: Vec<_> = listed.iter().map(|row| (row.id.as_str(), row.status_word(), row.steps)).collect();
        let expected = [
            ("s-4", "completed", 1),
            ("s-3", "running", 1),
            ("s-2", "needs_approval", 1),
            ("s-1", "needs_approval", 1),
            ("s-0", "running", 0),
        ];
        assert_eq!(told, expected);
        assert_eq!(listed[0].status, Some(Status::Completed));
        assert_eq!(listed[0].head, store.head(&listed[0].id).unwrap());
        assert_eq!(listed[4].head, Head::genesis(&listed[4].id));
        assert_eq!((listed[0].task.as_str(), listed[0].model.as_str()), ("refunds", "script:script.toml"));
    });
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    every_store(|store| {
        for name in ["s-1", "s-12", "s-13", "s-2%", "s-\u{e9}a"] {
            store.create(&SessionId::new(name), &meta(), &[]).unwrap();
        }
        for (prefix, expected) in [("s-1", "s-1"), ("s-12", "s-12"), ("s-2", "s-2%"), ("s-\u{e9}", "s-\u{e9}a")] {
            assert_eq!(store.find(prefix).unwrap().as_str(), expected);
        }
        for nothing in ["", "s-3", "s-1_", "%", "S-12", "s-123"] {
            assert!(matches!(store.find(nothing), Err(JournalError::NoSession { .. })), "{nothing}");
        }
        for number in 14..24 {
            store.create(&SessionId::new(format!("s-{number}")), &meta(), &[]).unwrap();
        }
        assert_eq!(store.find("s-1").unwrap().as_str(), "s-1", "however many newer ones begin like it");
        let several = store.find("s").unwrap_err();
        let JournalError::Ambiguous { found, .. } = &several else { panic!("{several:?}") };
        assert_eq!(found.len(), 5);
        assert!(several.to_string().contains("s-23"), "{several}");
    });
}

/// Shows R101: what waits for a person is found over all sessions, oldest first.
#[test]
fn events_are_found_by_kind_over_all_sessions() {
    every_store(|store| {
        let names = ["s-z", "s-a"];
        for name in names {
            filled(store, &SessionId::new(name), &run(&WORLD));
        }
        let found = store.by_kind(&["approval", "ask", "started", "no such kind"]).unwrap();
        let told: Vec<_> = found.iter().map(|(session, event)| (session.as_str(), event.body.kind())).collect();
        let expected = names.map(|name| ["ask", "approval", "started"].map(|kind| (name, kind)));
        assert_eq!(told, expected.concat());
        let Body::Ask(request) = &found[0].1.body else { panic!("{:?}", found[0]) };
        assert_eq!(request.arguments["amount"], 10.5);
        assert_eq!(store.by_kind(&[]).unwrap(), []);
    });
}

/// Equal payloads are stored once, whatever session they came in.
#[test]
fn payloads_are_kept_by_digest() {
    every_store(|store| {
        let text = "x".repeat(INLINE_BYTES_MAX);
        for name in ["s-1", "s-2"] {
            filled(store, &SessionId::new(name), &[note(1, &text), note(2, &text)]);
        }
        let payload = Value::String(text).to_string();
        let stored = store.blob(&Digest::of(payload.as_bytes())).unwrap();
        assert_eq!(stored.as_deref(), Some(payload.as_bytes()));
        assert_eq!(store.blob(&Digest::of(b"nothing")).unwrap(), None);
    });
}

/// Text that only looks like a reference stays the text it is.
#[test]
fn a_value_that_looks_like_a_reference_is_kept_as_it_is() {
    every_store(|store| {
        let secret = filled(store, &SessionId::new("s-0"), &[big(1, 4_000)]);
        let row = store.rows(&SessionId::new("s-0"), 1, 1).unwrap().remove(0);
        let reference: Value = serde_json::from_str(&row.body).unwrap();
        let events: Vec<_> = [reference["text"].clone(), json!({"$blob": null}), json!({"$blob": 1, "bytes": {}})]
            .into_iter()
            .zip(1..)
            .map(|(old, seq)| {
                let new = json!([old]);
                let call = checkrein_contract::CallId::new("c1-1");
                let body = Body::Hook(checkrein_contract::HookNote { call, old, new });
                Event { body, ..note(seq, "") }
            })
            .collect();
        let session = SessionId::new("s-1");
        filled(store, &session, &events);
        assert_eq!(store.read(&session, 1).unwrap(), events);
        assert_eq!(secret.seq, 1);
    });
}

#[test]
fn events_of_another_version_are_not_written() {
    every_store(|store| {
        let session = SessionId::new("s-1");
        store.create(&session, &meta(), &[]).unwrap();
        let newer = Event { v: 2, ..note(1, "a") };
        let refused = store.append(&session, &Head::genesis(&session), &[newer]);
        assert!(matches!(refused, Err(JournalError::Unwritable { seq: 1, .. })), "{refused:?}");
    });
}

/// Canonical JSON has one spelling of a number: a whole float comes back as an integer, and equal by digest.
#[test]
fn a_whole_float_comes_back_as_an_integer() {
    every_store(|store| {
        let call = checkrein_contract::CallId::new("c1-1");
        let body =
            Body::Hook(checkrein_contract::HookNote { call, old: json!(25.0), new: json!(9_007_199_254_740_993_u64) });
        let session = SessionId::new("s-1");
        filled(store, &session, &[Event { body, ..note(1, "") }]);
        let Body::Hook(read) = store.read(&session, 1).unwrap().remove(0).body else { panic!("a hook was written") };
        assert_eq!((read.old, read.new), (json!(25), json!(9_007_199_254_740_993_u64)));
    });
}

/// Shows R142: workers that race on one session lose no event and add none twice.
#[test]
fn racing_writers_lose_and_try_again() {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    every_store(|store| {
        let session = SessionId::new("s-1");
        store.create(&session, &meta(), &[]).unwrap();
        let start = Barrier::new(WRITERS);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (start, session) = (&start, &session);
                scope.spawn(move || {
                    start.wait();
                    for number in 0..EACH {
                        append_whatever_it_takes(store, session, &format!("{writer}-{number}"));
                    }
                });
            }
        });
        let mut texts: Vec<_> = store.read(&session, 1).unwrap().into_iter().map(|event| text_of(&event)).collect();
        texts.sort();
        let mut expected: Vec<_> =
            (0..WRITERS).flat_map(|writer| (0..EACH).map(move |number| format!("{writer}-{number}"))).collect();
        expected.sort();
        assert_eq!(texts, expected);
        verify_chain(store, &session, None).unwrap();
    });
}

fn append_whatever_it_takes(store: &dyn EventStore, session: &SessionId, text: &str) {
    loop {
        let head = store.head(session).unwrap();
        match store.append(session, &head, &[note(head.seq + 1, text)]) {
            Ok(_) => return,
            Err(JournalError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn text_of(event: &Event) -> String {
    match &event.body {
        Body::Input { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Shows R142, R167: two handles on one file see each other's events, and one of two equal appends loses.
#[test]
fn two_handles_on_one_file_share_the_fence() {
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (open(kind, folder.path()), open(kind, folder.path()));
        let session = SessionId::new("s-1");
        let first = filled(&*one, &session, &[note(1, "one")]);
        assert_eq!(two.head(&session).unwrap(), first);
        let second = two.append(&session, &first, &[note(2, "two")]).unwrap();
        assert!(matches!(one.append(&session, &first, &[note(2, "one")]), Err(JournalError::Conflict { .. })));
        assert_eq!(one.read(&session, 1).unwrap(), [note(1, "one"), note(2, "two")]);
        assert!(matches!(two.create(&session, &meta(), &[]), Err(JournalError::Exists { .. })));
        one.append(&session, &second, &[note(3, "one")]).unwrap();
    }
}

/// Shows R101, R167: a session outlives the handle that wrote it.
#[test]
fn what_was_appended_is_there_after_opening_again() {
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::new(WORLD.session);
        let events = run(&WORLD);
        let head = filled(&*open(kind, folder.path()), &session, &events);
        let store = open(kind, folder.path());
        assert_eq!(store.read(&session, 1).unwrap(), events);
        assert_eq!(verify_chain(&*store, &session, Some(&head)).unwrap().head, head);
        store.check().unwrap();
    }
}

#[test]
fn many_begin_the_same_journal_at_once() {
    const OPENERS: usize = 6;
    for kind in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/er");
        let start = Barrier::new(OPENERS);
        std::thread::scope(|scope| {
            for opener in 0..OPENERS {
                let (start, place) = (&start, &place);
                scope.spawn(move || {
                    start.wait();
                    filled(&*open(kind, place), &SessionId::new(format!("s-{opener}")), &[note(1, "a")]);
                });
            }
        });
        assert_eq!(open(kind, &place).sessions().unwrap().len(), OPENERS);
        let mut left: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["journal.db", "journal.key"], "no draft is left behind");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Halves: floats that are no whole numbers, which canonical JSON would spell as integers.
        (-1_000_000_i32..1_000_000).prop_map(|number| json!(f64::from(number) + 0.5)),
        ".{0,20}".prop_map(Value::from),
        "[a-z]{1000,1100}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof![Just("$blob".to_owned()), Just("bytes".to_owned()), ".{0,5}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Shows R161, R168: whatever values events hold, they come back equal, and the chain and the export verify.
    #[test]
    fn any_values_come_back(values in prop::collection::vec((json_value(), json_value(), ".{0,40}"), 1..6)) {
        let events: Vec<_> = values.into_iter().zip(1..).map(|((old, new, name), seq)| {
            let call = checkrein_contract::CallId::new(name);
            Event { body: Body::Hook(checkrein_contract::HookNote { call, old, new }), ..note(seq, "") }
        }).collect();
        for kind in STORES {
            let folder = tempfile::tempdir().unwrap();
            let store = open(kind, folder.path());
            let session = SessionId::new("s-\"1\"");
            let head = filled(&*store, &session, &events);
            prop_assert_eq!(&store.read(&session, 1).unwrap(), &events);
            let report = ChainReport { signed: None, ..verify_chain(&*store, &session, Some(&head)).unwrap() };
            let lines = checkrein_journal::export_lines(&*store, &session).unwrap();
            prop_assert_eq!(checkrein_journal::verify_export(&lines, Some(&head)).unwrap(), report);
        }
    }
}
