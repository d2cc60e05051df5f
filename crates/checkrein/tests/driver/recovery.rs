//! What a crash leaves, taken up again: a journal that ends in the middle of things.

use checkrein::contract::{Body, Code, Event, Finished, FinishedAs, SessionId, Status};
use checkrein::journal::SessionMeta;
use serde_json::json;

use crate::support::{Rig, calls, text};

fn note(word: &str) -> (&'static str, serde_json::Value) {
    ("probe", json!({ "what": "note", "word": word }))
}

/// A session of this rig whose journal ends right after the first event that `last` says yes to.
async fn cut_off(rig: &Rig, last: impl Fn(&Body) -> bool) -> SessionId {
    let outcome = rig.drive().await;
    let events = rig.events(&outcome.session);
    let end = events.iter().position(|event| last(&event.body)).expect("such an event") + 1;
    let session = SessionId::new("s-cutoff00");
    let store = &rig.harness.store;
    let mut kept: Vec<Event> = events[..end].to_vec();
    if let Body::Session(opened) = &mut kept[0].body {
        opened.session = session.clone();
    }
    let meta = SessionMeta { created_at: 0, task: "words".to_owned(), model: "says".to_owned() };
    store.create(&session, &meta, &kept).unwrap();
    rig.probe.ran.lock().unwrap().clear();
    session
}

fn ends(events: &[Event]) -> Vec<Finished> {
    let ends = events.iter().filter_map(|event| match &event.body {
        Body::Finished(finished) => Some((**finished).clone()),
        _ => None,
    });
    ends.collect()
}

/// Shows R147, R169: a call that was started, may not be repeated and has no end is unknown; the one behind it was not
/// started; neither is run, and the model is told.
#[tokio::test]
async fn a_started_call_without_an_end_is_unknown() {
    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), text("done"), text("I looked, and it is there.")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Started { .. })).await;
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed);
    assert!(rig.probe.ran.lock().unwrap().is_empty(), "nothing is repeated by itself");
    let ends = ends(&rig.events(&session));
    assert_eq!(
        ends.iter().map(|end| (end.ended, end.code)).collect::<Vec<_>>(),
        [(FinishedAs::Unknown, Some(Code::ToolOutcomeUnknown)), (FinishedAs::NotStarted, Some(Code::ToolNotStarted))]
    );
    assert!(ends[0].text.contains("do not simply repeat it"));
}

/// A proposal of which nothing had started is decided and run as if nothing had happened.
#[tokio::test]
async fn a_proposal_that_had_not_started_goes_on() {
    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), text("done"), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Decision { .. })).await;
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!((outcome.status, outcome.tool_runs["probe"]), (Status::Completed, 2));
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a", "b"]);
    assert_eq!(
        checkrein::verify::verify(&*rig.harness.store, &session, None).unwrap().map(|report| report.holds.len()),
        Ok(10)
    );
}

/// A pure call that was interrupted is simply run again.
#[tokio::test]
async fn a_pure_call_is_run_again() {
    let meet = ("probe", json!({ "what": "meet", "word": "m" }));
    let rig = Rig::new(vec![calls(&[meet.clone(), meet.clone(), meet]), text("done"), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Started { .. })).await;
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!((outcome.status, outcome.tool_runs["probe"]), (Status::Completed, 3));
}

/// A request whose reply was lost is charged with its estimate, and sent again.
#[tokio::test]
async fn a_lost_reply_is_charged() {
    let rig = Rig::new(vec![text("lost"), text("found")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Request { .. })).await;
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!(outcome.answer.as_deref(), Some("found"));
    let estimate = rig.events(&session).iter().find_map(|event| match &event.body {
        Body::Request { estimate, .. } => Some(*estimate),
        _ => None,
    });
    assert!(outcome.usage.input >= 2 * estimate.unwrap(), "{:?}", outcome.usage);
}

/// Shows R101: a second driver of the same session is turned away while the first has it.
#[tokio::test]
async fn a_session_is_driven_once_at_a_time() {
    let rig = Rig::new(vec![text("done"), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Session(_))).await;
    let mut first = rig.resume(&session);
    let front = || checkrein::Front { observer: Box::new(checkrein::Unobserved), asker: None };
    let second = rig.harness.resume(&session, None, front()).err().expect("it is taken").to_string();
    assert!(second.contains("is being driven by another process"), "{second}");
    assert_eq!(first.drive().await.unwrap().status, Status::Completed);
}

/// A writer whose head was overtaken loses at its next record, and what comes after that record does not happen.
#[tokio::test]
async fn an_overtaken_writer_runs_nothing() {
    let rig = Rig::new(vec![calls(&[note("a")]), text("done"), calls(&[note("b")]), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Session(_))).await;
    let mut driven = rig.resume(&session);
    let store = &rig.harness.store;
    let head = store.head(&session).unwrap();
    let body = Body::Input { call: None, text: "by the way".to_owned() };
    let by = checkrein::contract::Actor::Person("dana".to_owned());
    let event = Event { v: checkrein::contract::EVENT_VERSION, seq: head.seq + 1, at: 0, by, body };
    store.append(&session, &head, &[event]).unwrap();
    let error = driven.drive().await.unwrap_err().to_string();
    assert!(error.contains("could not be written"), "{error}");
    assert!(rig.probe.ran.lock().unwrap().is_empty());
}
