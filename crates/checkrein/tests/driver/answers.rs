//! Answers to questions, as the journal holds them: only those count that a person may give, in time.

use checkrein::approvals::{Word, answer};
use checkrein::contract::{Actor, Answer, ApprovalId, Body, Code, EVENT_VERSION, Event, Outcome, Status};
use checkrein::gate::{Clock as _, Redactor};
use checkrein::verify::verify_events;
use checkrein::{HarnessError, SystemClock};
use serde_json::json;

use crate::support::{Rig, calls, text};

const YES: Word = Word::Approve { for_ms: None };
const HOUR_MS: u64 = 60 * 60 * 1_000;

fn now() -> u64 {
    SystemClock::new().now_ms()
}

/// A session that waits for a yes to a command.
async fn paused(rig: &Rig) -> (Outcome, ApprovalId) {
    let outcome = rig.drive().await;
    assert_eq!(outcome.status, Status::NeedsApproval);
    let id = outcome.approvals[0].clone();
    (outcome, id)
}

fn rig() -> Rig {
    Rig::new(vec![calls(&[("bash", json!({ "command": "echo x >> ledger.txt" }))]), text("done"), text("done")])
}

fn codes(rig: &Rig, outcome: &Outcome) -> Vec<Option<Code>> {
    let events = rig.events(&outcome.session);
    let ends = events.iter().filter_map(|event| match &event.body {
        Body::Finished(finished) => Some(finished.code),
        _ => None,
    });
    ends.collect()
}

/// Shows R99: a question that nobody answered in a day is closed, and so is a yes that nobody used in time.
#[tokio::test]
async fn questions_and_answers_have_their_time() {
    let rig = rig();
    let (outcome, id) = paused(&rig).await;
    let asked = rig.events(&outcome.session).last().unwrap().at;
    let late = answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &YES, now() + 25 * HOUR_MS)
        .unwrap_err();
    assert!(matches!(late, HarnessError::Approval { code: Code::ApprovalExpired, .. }), "{late}");
    let short = Word::Approve { for_ms: Some(1) };
    answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &short, asked - HOUR_MS).unwrap();
    assert_eq!(rig.resume(&outcome.session).drive().await.unwrap().status, Status::Completed);
    assert_eq!(codes(&rig, &outcome), [Some(Code::ApprovalExpired)]);
    assert!(!rig.project().join("ledger.txt").exists());
}

/// Writes an answer into the journal, past everything that would refuse it.
fn forged(rig: &Rig, outcome: &Outcome, id: &ApprovalId, by: Actor) {
    let (store, session) = (&rig.harness.store, &outcome.session);
    let head = store.head(session).unwrap();
    let answer = Answer::Approved { expires_at: u64::MAX, uses: 9 };
    let body = Body::Approval { id: id.clone(), answer };
    store.append(session, &head, &[Event { v: EVENT_VERSION, seq: head.seq + 1, at: now(), by, body }]).unwrap();
}

/// Shows R90, R102: a yes in the journal that is no person's, or of a person who may not say it, lets nothing run; and where
/// something had run by it, the journal would not verify.
#[tokio::test]
async fn a_yes_that_is_nobodys_does_not_count() {
    let rig = rig();
    let mut task = rig.task();
    task.identity.0.insert("person".to_owned(), "sam".to_owned());
    task.policy[0].text.push_str("[approvals]\nfour_eyes = true\n");
    let outcome = rig.begin(&task).drive().await.unwrap();
    let id = outcome.approvals[0].clone();
    for by in [Actor::Model, Actor::Code, Actor::Hook("h".to_owned()), Actor::Person("Sam".to_owned())] {
        forged(&rig, &outcome, &id, by);
    }
    let waiting = rig.resume(&outcome.session).drive().await.unwrap();
    assert_eq!((waiting.status, waiting.approvals.len()), (Status::NeedsApproval, 1));
    answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &YES, now()).unwrap();
    assert_eq!(rig.resume(&outcome.session).drive().await.unwrap().status, Status::Completed);
    assert_eq!(std::fs::read_to_string(rig.project().join("ledger.txt")).unwrap(), "x\n");
    let mut events = rig.events(&outcome.session);
    assert!(verify_events(&outcome.session, &events).is_ok());
    for event in &mut events {
        if let (Body::Approval { .. }, Actor::Person(name)) = (&event.body, &mut event.by) {
            *name = "sam".to_owned();
        }
    }
    let fault = verify_events(&outcome.session, &events).unwrap_err();
    assert_eq!(fault.invariant, "I2", "{fault:?}");
}

/// A run that is cancelled takes its open questions back.
#[tokio::test]
async fn a_cancelled_run_takes_its_questions_back() {
    let rig = rig();
    let (outcome, id) = paused(&rig).await;
    let mut driven = rig.resume(&outcome.session);
    driven.cancel_token().cancel();
    assert_eq!(driven.drive().await.unwrap().status, Status::Cancelled);
    drop(driven);
    let late = answer(&*rig.harness.store, &Redactor::default(), id.as_str(), None, "dana", &YES, now()).unwrap_err();
    assert!(matches!(late, HarnessError::Approval { code: Code::ApprovalWithdrawn, .. }), "{late}");
    assert_eq!(rig.resume(&outcome.session).drive().await.unwrap().status, Status::Completed);
    assert!(!rig.project().join("ledger.txt").exists());
}
