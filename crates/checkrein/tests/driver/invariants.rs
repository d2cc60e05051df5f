//! The invariants: each holds for real sessions, and each is found broken in a journal that was tampered with.

use checkrein::contract::{
    Actor, Answer, Body, Event, Note, Remembered, RuleId, SessionId, Settlement, Status, Verdict,
};
use checkrein::gate::Redactor;
use checkrein::verify::{Fault, verify_events};
use checkrein::{Front, RunOptions, Unobserved};
use serde_json::json;

use crate::support::{Rig, calls, text};

/// Events of a session with two turns of calls and a paused, approved one.
async fn events() -> (SessionId, Vec<Event>) {
    let rig = Rig::new(vec![
        calls(&[("probe", json!({ "what": "note", "word": "a" })), ("probe", json!({ "what": "note", "word": "b" }))]),
        calls(&[("bash", json!({ "command": "true" }))]),
        text("done"),
    ]);
    let outcome = rig.drive().await;
    let id = outcome.approvals.first().expect("bash is asked about").clone();
    let word = checkrein::approvals::Word::Approve { for_ms: None };
    let now = rig.events(&outcome.session).last().unwrap().at;
    checkrein::approvals::answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &word, now)
        .unwrap();
    rig.resume(&outcome.session).drive().await.unwrap();
    let events = rig.events(&outcome.session);
    (outcome.session, events)
}

async fn broken(tamper: impl Fn(&mut Vec<Event>)) -> Fault {
    let (session, mut events) = events().await;
    tamper(&mut events);
    for (index, event) in events.iter_mut().enumerate() {
        event.seq = index as u64 + 1;
    }
    verify_events(&session, &events).expect_err("the fault is found")
}

fn find(events: &[Event], mut wanted: impl FnMut(&Body) -> bool) -> usize {
    events.iter().position(|event| wanted(&event.body)).expect("such an event")
}

/// Shows I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11: a real session keeps them all.
#[tokio::test]
async fn a_real_session_keeps_them_all() {
    let (session, events) = events().await;
    let all = vec!["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11"];
    assert_eq!(verify_events(&session, &events), Ok(all));
}

/// Shows I1: a start without a decision.
#[tokio::test]
async fn a_start_without_a_decision_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Decision { .. }));
        events.remove(at);
    })
    .await;
    assert_eq!(fault.invariant, "I1", "{fault:?}");
}

/// Shows I1: a call that may not be repeated was started again, and no person said so.
#[tokio::test]
async fn a_start_that_is_repeated_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Started { .. }));
        let second = events[at].clone();
        events.insert(at, second);
    })
    .await;
    assert_eq!((fault.invariant, fault.problem.contains("nobody said that it may be")), ("I1", true), "{fault:?}");
}

/// Shows I2: a start without its approval, and one whose approval was changed to a no. One whose decision was changed to a
/// no is found at the decision, which comes first.
#[tokio::test]
async fn an_effect_without_permission_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Started { approval: Some(_), .. }));
        if let Body::Started { approval, .. } = &mut events[at].body {
            *approval = None;
        }
    })
    .await;
    assert_eq!(fault.invariant, "I2", "{fault:?}");
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Decision { .. }));
        if let Body::Decision { decision, .. } = &mut events[at].body {
            decision.verdict = Verdict::Deny;
        }
    })
    .await;
    assert_eq!(fault.invariant, "I3", "{fault:?}");
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Approval { .. }));
        if let Body::Approval { answer, .. } = &mut events[at].body {
            *answer = Answer::Denied { reason: String::new() };
        }
    })
    .await;
    assert_eq!(fault.invariant, "I2", "{fault:?}");
}

/// Shows I3: a decision that the policy in the log does not give.
#[tokio::test]
async fn a_decision_the_policy_does_not_give_is_found() {
    let fault = broken(|events| {
        let Body::Session(opened) = &mut events[0].body else { panic!("it begins with a session") };
        let own = opened.policy.iter_mut().find(|source| source.file == "policy.toml").unwrap();
        own.text = own.text.replace("tool = \"probe\"", "tool = \"other\"");
    })
    .await;
    assert_eq!(fault.invariant, "I3", "{fault:?}");
}

/// Shows I4: a result that was changed, so that the next request is not the one that was sent.
#[tokio::test]
async fn a_changed_result_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Finished(_)));
        if let Body::Finished(finished) = &mut events[at].body {
            finished.text = "something else".to_owned();
        }
    })
    .await;
    assert_eq!(fault.invariant, "I4", "{fault:?}");
}

/// Shows I5: an event that does not follow from those before it.
#[tokio::test]
async fn an_event_out_of_place_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Proposal { .. }));
        let proposal = events[at].clone();
        events.insert(at, proposal);
    })
    .await;
    assert_eq!(fault.invariant, "I5", "{fault:?}");
}

/// Shows I6: a request beyond the budget.
#[tokio::test]
async fn a_request_beyond_the_budget_is_found() {
    let fault = broken(|events| {
        let Body::Session(opened) = &mut events[0].body else { panic!("it begins with a session") };
        opened.budget.steps = 1;
    })
    .await;
    assert_eq!(fault.invariant, "I6", "{fault:?}");
}

/// Shows I7: a secret that got into the log.
#[tokio::test]
async fn a_secret_in_the_log_is_found() {
    let fault = broken(|events| {
        let at = find(events, |body| matches!(body, Body::Stop(_)));
        if let Body::Stop(stop) = &mut events[at].body {
            stop.reason = format!("ghp_{}", "a1B2".repeat(9));
        }
    })
    .await;
    assert_eq!(fault.invariant, "I7", "{fault:?}");
}

/// Shows I8: a request that does not extend the one before, and no event says why.
#[tokio::test]
async fn an_unexplained_beginning_is_found() {
    let read = |file: &str| ("read", json!({ "file_path": file }));
    let rig = Rig::new(vec![calls(&[read("a.txt")]), calls(&[read("b.txt")]), text("done")]);
    for file in ["a.txt", "b.txt"] {
        std::fs::write(rig.project().join(file), "word ".repeat(100)).unwrap();
    }
    let mut task = rig.task();
    task.context = ("trim_to_budget".to_owned(), json!({ "tokens": 200 }));
    let outcome = rig.begin(&task).drive().await.unwrap();
    let mut events = rig.events(&outcome.session);
    assert!(verify_events(&outcome.session, &events).is_ok());
    let trim = find(&events, |body| matches!(body, Body::Trim { .. }));
    events.remove(trim);
    for (index, event) in events.iter_mut().enumerate() {
        event.seq = index as u64 + 1;
    }
    let fault = verify_events(&outcome.session, &events).expect_err("the fault is found");
    assert_eq!(fault.invariant, "I8", "{fault:?}");
}

/// Shows I10: an approval that was used twice.
#[tokio::test]
async fn an_approval_used_twice_is_found() {
    let fault = broken(|events| {
        let uses = find(events, |body| matches!(body, Body::Started { approval: Some(_), .. }));
        let second = events[uses].clone();
        let Body::Started { call, .. } = &second.body else { panic!("it is a start") };
        let settlement = Settlement::Repeat;
        let again = Body::Settled { call: call.clone(), settlement, note: String::new() };
        events.insert(uses + 1, Event { body: again, ..second.clone() });
        events.insert(uses + 2, second);
    })
    .await;
    assert_eq!(fault.invariant, "I10", "{fault:?}");
}

/// Events of a session in which a yes was remembered and another call ran by it.
async fn remembering() -> (SessionId, Vec<Event>) {
    let bash = |command: &str| calls(&[("bash", json!({ "command": command }))]);
    let rig = Rig::new(vec![bash("true"), bash("true"), bash("true"), text("done")]);
    // Where nothing confines programs, each is asked about, and no yes to one can be remembered.
    let asked = rig.drive().await;
    let now = rig.events(&asked.session).last().unwrap().at;
    let refused = checkrein::approvals::offer(&*rig.harness.store, asked.approvals[0].as_str(), None, "dana", now);
    assert!(refused.unwrap_err().to_string().contains("nothing here confines programs"));
    let front = Front { observer: Box::new(Unobserved), asker: None };
    let options = RunOptions { unconfined: true, ..RunOptions::default() };
    let outcome = rig.harness.begin(&rig.task(), &options, front).unwrap().drive().await.unwrap();
    let id = outcome.approvals.first().expect("bash is asked about").clone();
    let (store, home) = (&*rig.harness.store, &rig.harness.home);
    let now = rig.events(&outcome.session).last().unwrap().at;
    let offer = checkrein::approvals::offer(store, id.as_str(), None, "dana", now).unwrap();
    checkrein::approvals::remember(store, home, &offer, None, "dana", None, now).unwrap();
    assert_eq!(rig.resume(&outcome.session).drive().await.unwrap().status, Status::Completed);
    (outcome.session.clone(), rig.events(&outcome.session))
}

/// Shows I3, I5: a remembered yes that nobody gave who may, that is wider than it was, or that was taken away, is found; and
/// so is a call that ran by it after it was taken back.
#[tokio::test]
async fn a_remembered_yes_that_is_none_is_found() {
    let (session, events) = remembering().await;
    assert!(verify_events(&session, &events).is_ok());
    let at = find(&events, |body| matches!(body, Body::Remembered(_)));
    let tampered = |tamper: &dyn Fn(&mut Vec<Event>)| {
        let mut events = events.clone();
        tamper(&mut events);
        for (index, event) in events.iter_mut().enumerate() {
            event.seq = index as u64 + 1;
        }
        verify_events(&session, &events).expect_err("the fault is found").invariant
    };
    let changed = |change: &dyn Fn(&mut Remembered)| {
        tampered(&|events| {
            let Body::Remembered(yes) = &mut events[at].body else { panic!("it is one") };
            change(yes);
        })
    };
    assert_eq!(tampered(&|events| events[at].by = Actor::Model), "I5");
    assert_eq!(tampered(&|events| events[at].by = Actor::Person("eve".to_owned())), "I5");
    assert_eq!(changed(&|yes| yes.rule = RuleId::new("r-0000000000")), "I5");
    assert_eq!(changed(&|yes| yes.text = yes.text.replace("\"true\"", "\"rm\"")), "I3", "its digest says otherwise");
    assert_eq!(changed(&|yes| yes.text = yes.text.replace("while", "#")), "I3", "a rule that always holds is none");
    assert_eq!(tampered(&|events| drop(events.remove(at))), "I3");
    let taken_back = |events: &mut Vec<Event>| {
        let Body::Remembered(yes) = &events[at].body else { panic!("it is one") };
        let Body::Session(opened) = &events[0].body else { panic!("it begins with a session") };
        let (rule, policy_digest) = (yes.rule.clone(), opened.policy_digest.clone());
        let body = Body::Forgotten { rule, reason: String::new(), policy_digest };
        events.insert(at + 1, Event { body, ..events[at].clone() });
    };
    assert_eq!(tampered(&taken_back), "I3");
}

/// Shows I9: an event that says something else once it is read back from its own bytes.
#[tokio::test]
async fn an_event_with_two_readings_is_found() {
    let fault = broken(|events| {
        let fields = json!({ "name": "another", "text": "seen" }).as_object().unwrap().clone();
        let note = Body::Note(Note { name: "one".to_owned(), fields });
        let last = events.last().unwrap().clone();
        events.push(Event { body: note, ..last });
    })
    .await;
    assert_eq!(fault.invariant, "I9", "{fault:?}");
}

/// A note of a later version changes nothing of what is proved.
#[tokio::test]
async fn a_note_that_nobody_knows_is_passed_over() {
    let (session, mut events) = events().await;
    let last = events.last().unwrap().clone();
    let fields = json!({ "text": "seen" }).as_object().unwrap().clone();
    events.push(Event { seq: last.seq + 1, body: Body::Note(Note { name: "later".to_owned(), fields }), ..last });
    assert!(verify_events(&session, &events).is_ok());
}
