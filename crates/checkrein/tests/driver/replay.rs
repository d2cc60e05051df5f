//! Replay: real sessions come out the same, and each kind of change in a journal is named where it is.

use checkrein::contract::{Answer, Body, Code, Event, OnAsk, StopOn, Verdict};
use checkrein::gate::Redactor;
use checkrein::past::Past;
use checkrein::replay::{Divergence, Replayed, replay};
use checkrein::{Front, RunOptions, Unobserved};
use serde_json::json;

use crate::support::{Rig, calls, text};

/// A session with an unknown tool, arguments that do not fit, two calls that run, one that a person refuses, and an answer.
async fn events() -> Vec<Event> {
    let rig = Rig::new(vec![
        calls(&[("nonsense", json!({})), ("probe", json!({ "what": 1 })), ("probe", json!("not json"))]),
        calls(&[("probe", json!({ "what": "note", "word": "a" })), ("probe", json!({ "what": "note", "word": "b" }))]),
        calls(&[("bash", json!({ "command": "true" }))]),
        text("done"),
    ]);
    let outcome = rig.drive().await;
    let id = outcome.approvals.first().expect("bash is asked about").clone();
    let word = checkrein::approvals::Word::Deny { reason: "not today".to_owned() };
    let now = rig.events(&outcome.session).last().unwrap().at;
    checkrein::approvals::answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &word, now)
        .unwrap();
    rig.resume(&outcome.session).drive().await.unwrap();
    rig.events(&outcome.session)
}

async fn diverges(tamper: impl Fn(&mut Vec<Event>)) -> Divergence {
    let mut events = events().await;
    tamper(&mut events);
    for (index, event) in events.iter_mut().enumerate() {
        event.seq = index as u64 + 1;
    }
    *replay(&events).expect_err("it is not the same")
}

/// Changes a body of one kind; whether it was one.
type ChangeBody = fn(&mut Body) -> bool;

fn find(events: &[Event], mut wanted: impl FnMut(&Body) -> bool) -> usize {
    events.iter().position(|event| wanted(&event.body)).expect("such an event")
}

/// Shows R173: requests, proposals, decisions and refusals are made again from the journal, and are what they were.
#[tokio::test]
async fn a_real_session_is_the_same_again() {
    let events = events().await;
    let replayed = replay(&events).expect("the same");
    let Replayed { requests, proposals, results, taken, .. } = replayed;
    assert_eq!((requests, proposals, results, taken), (4, 4, 4, 2), "{replayed:?}");
    // Arguments that did not fit were refused by their tool's schema, which is more than the state knows.
    assert_eq!(replayed.decisions, 5, "{replayed:?}");
    for upto in 1..events.len() {
        assert!(replay(&events[..upto]).is_ok(), "also what a crash left of it: {upto}");
    }
}

/// A changed result is found where the model was told it: in the request after it, and the note says where to look.
#[tokio::test]
async fn a_changed_result_is_found_in_the_request_that_shows_it() {
    let divergence = diverges(|events| {
        let at = find(events, |body| matches!(body, Body::Finished(finished) if finished.code.is_none()));
        if let Body::Finished(finished) = &mut events[at].body {
            finished.text = "something else".to_owned();
        }
    })
    .await;
    assert_eq!((divergence.kind, divergence.pointer.as_str()), ("request", "/digest"), "{divergence:?}");
    assert!(divergence.note.unwrap().contains("words and results that came since"));
}

/// A decision that the policy does not give, by verdict and by the rule that is named.
#[tokio::test]
async fn a_changed_decision_is_found_at_its_place() {
    let divergence = diverges(|events| {
        let at = find(events, |body| matches!(body, Body::Decision { decision, .. } if !decision.trace.is_empty()));
        if let Body::Decision { decision, .. } = &mut events[at].body {
            decision.reason = "another reason".to_owned();
        }
    })
    .await;
    assert_eq!((divergence.kind, divergence.pointer.as_str()), ("decision", "/reason"), "{divergence:?}");
    assert_eq!((divergence.expected.as_str(), divergence.found.as_str()), ("\"a test\"", "\"another reason\""));

    let divergence = diverges(|events| {
        let Body::Session(opened) = &mut events[0].body else { panic!("it begins with a session") };
        let own = opened.policy.iter_mut().find(|source| source.file == "policy.toml").unwrap();
        own.text = own.text.replace("id = \"probe\"", "id = \"other\"");
    })
    .await;
    assert_eq!((divergence.seq, divergence.pointer.as_str()), (1, "/policy_digest"), "{divergence:?}");

    let divergence = diverges(|events| {
        let at =
            find(events, |body| matches!(body, Body::Decision { decision, .. } if decision.code == Code::UnknownTool));
        if let Body::Decision { decision, .. } = &mut events[at].body {
            decision.code = Code::InvalidArgs;
        }
    })
    .await;
    assert_eq!((divergence.kind, divergence.pointer.as_str()), ("decision", "/code"), "{divergence:?}");
}

/// What a refused call was told, who is asked what, and why it stopped: all of it follows from the log.
#[tokio::test]
async fn changed_words_of_the_harness_are_found() {
    let kinds: &[(&str, &str, ChangeBody)] = &[
        ("finished", "/text", |body| match body {
            Body::Finished(finished) if finished.code == Some(Code::DeniedByPerson) => {
                finished.text = finished.text.replace("not today", "never");
                true
            }
            _ => false,
        }),
        ("finished", "/text", |body| match body {
            Body::Finished(finished) if finished.code == Some(Code::InvalidArgs) => {
                finished.text = finished.text.replace("Correct every listed field", "Do not care");
                true
            }
            _ => false,
        }),
        ("ask", "/reason", |body| match body {
            Body::Ask(request) => {
                request.reason = "harmless".to_owned();
                true
            }
            _ => false,
        }),
        ("stop", "/reason", |body| match body {
            Body::Stop(stop) => {
                stop.reason = "tired".to_owned();
                true
            }
            _ => false,
        }),
        ("proposal", "/kind", |body| match body {
            Body::Proposal { kind, .. } => {
                *kind = checkrein::contract::ProposalKind::Answer;
                true
            }
            _ => false,
        }),
        ("proposal", "/calls/0/id", |body| match body {
            Body::Proposal { calls, .. } => {
                calls[0].id = checkrein::contract::CallId::new("c9-9");
                true
            }
            _ => false,
        }),
    ];
    for (kind, pointer, change) in kinds {
        let divergence = diverges(|events| {
            assert!(events.iter_mut().any(|event| change(&mut event.body)), "{kind} {pointer}");
        })
        .await;
        assert_eq!((divergence.kind, divergence.pointer.as_str()), (*kind, *pointer), "{divergence:?}");
    }
}

/// Events that do not follow from the state, one too many or one too few.
#[tokio::test]
async fn events_out_of_place_are_found() {
    let divergence = diverges(|events| {
        let at = find(events, |body| matches!(body, Body::Stop(_)));
        events.truncate(at + 1);
        if let Body::Stop(stop) = &mut events[at].body {
            stop.status = checkrein::contract::Status::Completed;
        }
    })
    .await;
    assert_eq!((divergence.kind, divergence.found.as_str()), ("stop", "stop as completed"), "{divergence:?}");
    let divergence = diverges(|events| {
        let at = find(events, |body| matches!(body, Body::Proposal { .. }));
        let proposal = events[at].clone();
        events.insert(at, proposal);
    })
    .await;
    assert_eq!(divergence.kind, "proposal", "{divergence:?}");
    let divergence = diverges(|events| {
        events.remove(0);
    })
    .await;
    assert_eq!((divergence.seq, divergence.expected.as_str()), (1, "the beginning of a session"), "{divergence:?}");
}

/// A spent budget, an unattended refusal and a task that stops on one: the same again as well.
#[tokio::test]
async fn every_way_to_stop_is_the_same_again() {
    let probe = |word: &str| calls(&[("probe", json!({ "what": "note", "word": word }))]);
    let bash = calls(&[("bash", json!({ "command": "true" }))]);
    type Change = fn(&mut checkrein::Task);
    let ways: Vec<(Vec<_>, Change, &str)> = vec![
        (vec![probe("a"), probe("b"), text("so far")], |task| task.budget.steps = 2, "budget_exhausted"),
        (vec![bash.clone(), text("done")], |task| task.on_ask = Some(OnAsk::Deny), "completed"),
        (vec![bash.clone()], |task| (task.on_ask, task.stop_on) = (Some(OnAsk::Deny), vec![StopOn::Deny]), "blocked"),
        (vec![bash], |_| {}, "needs_approval"),
        (vec![text(""), text(""), text("")], |_| {}, "failed"),
        (vec![], |_| {}, "failed"),
        (vec![calls(&[("ask_user", json!({ "question": "Which?" }))])], |_| {}, "needs_input"),
    ];
    for (replies, change, status) in ways {
        let rig = Rig::new(replies);
        let mut task = rig.task();
        change(&mut task);
        let front = Front { observer: Box::new(Unobserved), asker: None };
        let mut session = rig.harness.begin(&task, &RunOptions::default(), front).unwrap();
        let outcome = session.drive().await.unwrap();
        assert_eq!(outcome.status.as_str(), status, "{outcome:?}");
        replay(&rig.events(&outcome.session)).unwrap_or_else(|divergence| panic!("{status}: {divergence:?}"));
    }
}

/// Shows R4: the same call, judged again by another policy from what the journal holds.
#[tokio::test]
async fn another_policy_judges_what_is_recorded() {
    let events = events().await;
    let Body::Session(opened) = &events[0].body else { panic!("it begins with a session") };
    let mut own = opened.policy.iter().find(|source| source.file == "policy.toml").unwrap().clone();
    own.text = own.text.replacen("\"allow\"", "\"deny\"", 1);
    let past = Past::of(&opened.session, events.clone());
    let (before, after) = (past.judged(None).unwrap(), past.judged(Some(&own)).unwrap());
    let verdicts: Vec<_> = before.iter().zip(&after).map(|(a, b)| (a.verdict, b.verdict)).collect();
    assert_eq!(
        verdicts,
        [(Verdict::Allow, Verdict::Deny), (Verdict::Allow, Verdict::Deny), (Verdict::Ask, Verdict::Ask)]
    );
    let seq = past.calls()[0].seq;
    assert!(matches!(&events[seq as usize - 1].body, Body::Decision { call, .. } if *call == past.calls()[0].call));
    assert!(matches!(
        events.iter().find_map(|event| match &event.body {
            Body::Approval { answer, .. } => Some(answer),
            _ => None,
        }),
        Some(Answer::Denied { .. })
    ));
}

/// What earlier versions wrote comes out the same as well.
#[test]
fn old_journals_are_the_same_again() {
    use checkrein::journal::EventStore as _;
    for name in ["format-1.db", "format-2.db"] {
        let folder = tempfile::tempdir().unwrap();
        let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../checkrein-journal/tests/data").join(name);
        std::fs::copy(data, folder.path().join("journal.db")).unwrap();
        let store = checkrein::journal::SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let sessions = store.sessions().unwrap();
        let whole: Vec<_> = sessions.iter().filter_map(|row| store.read(&row.id, 1).ok()).collect();
        assert!(whole.len() >= 3, "all but the one that was pruned");
        for events in whole {
            replay(&events).unwrap_or_else(|divergence| panic!("{name}: {divergence:?}"));
        }
    }
}
