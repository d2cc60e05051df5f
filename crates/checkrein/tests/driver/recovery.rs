//! What a crash leaves, taken up again: a journal that ends in the middle of things.

use checkrein::approvals::Word;
use checkrein::contract::{
    Answer, ApprovalRequest, Body, CallId, Code, Event, Finished, FinishedAs, OnAsk, ProposedCall, SessionId,
    Settlement, Status,
};
use checkrein::journal::SessionMeta;
use checkrein::verify::Anchors;
use checkrein::{Asker, Front, ResumeOptions, RunOptions, Unobserved};
use serde_json::json;

use crate::support::{Rig, calls, text};

fn note(word: &str) -> (&'static str, serde_json::Value) {
    ("probe", json!({ "what": "note", "word": word }))
}

/// A session of this rig whose journal ends right after the first event that `last` says yes to.
async fn cut_off(rig: &Rig, last: impl Fn(&Body) -> bool) -> SessionId {
    let outcome = rig.drive().await;
    cut_off_at(rig, &outcome.session, last)
}

/// The same of a session that there is.
pub(crate) fn cut_off_at(rig: &Rig, session: &SessionId, mut last: impl FnMut(&Body) -> bool) -> SessionId {
    let events = rig.events(session);
    let end = events.iter().position(|event| last(&event.body)).expect("such an event") + 1;
    let session = SessionId::new("s-cutoff00");
    let store = &rig.harness.store;
    let mut kept: Vec<Event> = events[..end].to_vec();
    for event in &mut kept {
        match &mut event.body {
            Body::Session(opened) => opened.session = session.clone(),
            Body::Ask(request) => request.session = session.clone(),
            _ => {}
        }
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

const DONE: (FinishedAs, Option<Code>) = (FinishedAs::Ok, None);
const UNKNOWN: (FinishedAs, Option<Code>) = (FinishedAs::Unknown, Some(Code::ToolOutcomeUnknown));
const NOT_STARTED: (FinishedAs, Option<Code>) = (FinishedAs::NotStarted, Some(Code::ToolNotStarted));

fn how(ends: &[Finished]) -> Vec<(FinishedAs, Option<Code>)> {
    ends.iter().map(|end| (end.ended, end.code)).collect()
}

/// A session that was lost while the first of two calls ran, taken up again and paused with the question.
async fn lost_while_running() -> (Rig, SessionId) {
    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), text("done"), text("I see.")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Started { .. })).await;
    let paused = rig.resume(&session).drive().await.unwrap();
    assert_eq!((paused.status, paused.code), (Status::NeedsInput, Code::ToolOutcomeUnknown));
    assert!(paused.reason.contains("`probe` (c1-1)"), "{}", paused.reason);
    assert!(rig.probe.ran.lock().unwrap().is_empty(), "nothing is repeated by itself");
    assert!(ends(&rig.events(&session)).is_empty(), "and nothing is said of it before a person has");
    (rig, session)
}

/// Takes the session up with a person's word on the call, and drives it to its end.
async fn settled(rig: &Rig, session: &SessionId, word: Settlement, said: &str) -> Vec<Finished> {
    let mut driven = rig.resume(session);
    driven.settle("dana", &[(CallId::new("c1-1"), word)], said).unwrap();
    let outcome = driven.drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed);
    let events = rig.events(session);
    let by = events.iter().filter(|event| matches!(event.body, Body::Settled { .. })).map(|event| event.by.to_string());
    assert_eq!(by.collect::<Vec<_>>(), ["person:dana"]);
    let verified = checkrein::verify::verify(&*rig.harness.store, session, &Anchors::default()).unwrap();
    assert!(verified.is_ok(), "{verified:?}");
    ends(&events)
}

/// Shows R147, R169: a call that was started, may not be repeated and has no end is a person's to settle. *Repeat* runs it
/// again, and what came behind it follows.
#[tokio::test]
async fn a_person_lets_a_lost_call_run_again() {
    let (rig, session) = lost_while_running().await;
    let ends = settled(&rig, &session, Settlement::Repeat, "").await;
    assert_eq!(how(&ends), [DONE, DONE]);
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a", "b"]);
}

/// *Done* makes the person's words its result, *failed* a failure; neither runs it, and what came behind it follows.
#[tokio::test]
async fn a_person_says_what_became_of_a_lost_call() {
    let (rig, session) = lost_while_running().await;
    let ended = settled(&rig, &session, Settlement::Done, "the parcel left at noon").await;
    assert_eq!(how(&ended), [DONE, DONE]);
    assert!(ended[0].text.ends_with("says that it took effect: the parcel left at noon"), "{}", ended[0].text);
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["b"]);
    let (rig, session) = lost_while_running().await;
    let ended = settled(&rig, &session, Settlement::Failed, "").await;
    assert_eq!(how(&ended), [(FinishedAs::Failed, Some(Code::ToolFailed)), DONE]);
    assert!(ended[0].text.contains("says that it did not take effect."), "{}", ended[0].text);
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["b"]);
}

/// Shows R147, R169: where the person can not tell either, or nobody may be asked, the model is told so, and what came behind
/// the call is not started.
#[tokio::test]
async fn what_nobody_knows_is_told_to_the_model() {
    let (rig, session) = lost_while_running().await;
    let ended = settled(&rig, &session, Settlement::Unknown, "the log is gone").await;
    assert_eq!(how(&ended), [UNKNOWN, NOT_STARTED]);
    assert!(ended[0].text.contains("the log is gone") && ended[0].text.contains("do not simply repeat it"));
    assert!(rig.probe.ran.lock().unwrap().is_empty());

    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), text("done"), text("I looked, and it is there.")]);
    let options = RunOptions { on_ask: Some(OnAsk::Deny), ..RunOptions::default() };
    let front = Front { observer: Box::new(Unobserved), asker: None };
    let outcome = rig.harness.begin(&rig.task(), &options, front).unwrap().drive().await.unwrap();
    let session = cut_off_at(&rig, &outcome.session, |body| matches!(body, Body::Started { .. }));
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(how(&ends(&rig.events(&session))), [UNKNOWN, NOT_STARTED]);
    assert!(rig.probe.ran.lock().unwrap().is_empty());
}

/// A word on a call that is not in question changes nothing, and says which are.
#[tokio::test]
async fn only_what_is_unknown_is_settled() {
    let (rig, session) = lost_while_running().await;
    let before = rig.events(&session).len();
    let words = [(CallId::new("c1-1"), Settlement::Done), (CallId::new("c1-2"), Settlement::Done)];
    let error = rig.resume(&session).settle("dana", &words, "").unwrap_err().to_string();
    assert_eq!(error, "`c1-2` is no call of this session whose outcome is unknown: c1-1 (probe)");
    assert_eq!(rig.events(&session).len(), before);
    settled(&rig, &session, Settlement::Done, "").await;
    let rig = Rig::new(vec![text("done"), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Session(_))).await;
    let error = rig.resume(&session).settle("dana", &words, "").unwrap_err().to_string();
    assert!(error.ends_with("is unknown: there is none"), "{error}");
}

/// A run that is cancelled while the question is open keeps it open: the call is not told to be one that never started.
#[tokio::test]
async fn a_cancelled_run_keeps_the_question() {
    let (rig, session) = lost_while_running().await;
    let mut driven = rig.resume(&session);
    driven.cancel_token().cancel();
    assert_eq!(driven.drive().await.unwrap().status, Status::Cancelled);
    drop(driven);
    assert_eq!(how(&ends(&rig.events(&session))), [NOT_STARTED], "what came behind it is closed");
    let paused = rig.resume(&session).drive().await.unwrap();
    assert_eq!(paused.code, Code::ToolOutcomeUnknown);
    assert_eq!(how(&settled(&rig, &session, Settlement::Done, "").await), [NOT_STARTED, DONE]);
}

/// Shows R100: a yes is for one run. A person who lets an approved call run again is asked for another yes.
#[tokio::test]
async fn running_again_needs_another_yes() {
    let rig =
        Rig::new(vec![calls(&[("bash", json!({ "command": "echo x >> ledger.txt" }))]), text("done"), text("done")]);
    let approve = |id: &str| {
        let word = Word::Approve { for_ms: None };
        checkrein::approvals::answer(
            &*rig.harness.store,
            &checkrein::gate::Redactor::default(),
            id,
            None,
            "dana",
            &word,
            checkrein::gate::Clock::now_ms(&checkrein::SystemClock::new()),
        )
        .unwrap();
    };
    let outcome = rig.drive().await;
    approve(outcome.approvals[0].as_str());
    rig.resume(&outcome.session).drive().await.unwrap();
    let session = cut_off_at(&rig, &outcome.session, |body| matches!(body, Body::Started { .. }));
    let mut driven = rig.resume(&session);
    driven.settle("dana", &[(CallId::new("c1-1"), Settlement::Repeat)], "").unwrap();
    let paused = driven.drive().await.unwrap();
    assert_eq!((paused.status, paused.approvals.len()), (Status::NeedsApproval, 1), "the yes was for the first run");
    drop(driven);
    assert_eq!(std::fs::read_to_string(rig.project().join("ledger.txt")).unwrap().lines().count(), 1);
    approve(paused.approvals[0].as_str());
    assert_eq!(rig.resume(&session).drive().await.unwrap().status, Status::Completed);
    assert_eq!(std::fs::read_to_string(rig.project().join("ledger.txt")).unwrap().lines().count(), 2);
    let verified = checkrein::verify::verify(&*rig.harness.store, &session, &Anchors::default()).unwrap();
    assert!(verified.is_ok(), "{verified:?}");
}

/// A proposal of which nothing had started is decided and run as if nothing had happened.
#[tokio::test]
async fn a_proposal_that_had_not_started_goes_on() {
    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), text("done"), text("done")]);
    let session = cut_off(&rig, |body| matches!(body, Body::Decision { .. })).await;
    let outcome = rig.resume(&session).drive().await.unwrap();
    assert_eq!((outcome.status, outcome.tool_runs["probe"]), (Status::Completed, 2));
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a", "b"]);
    let verified = checkrein::verify::verify(&*rig.harness.store, &session, &Anchors::default()).unwrap().unwrap();
    assert_eq!((verified.holds.len(), verified.signed.unwrap().head()), (13, verified.head));
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
    let front = || Front { observer: Box::new(Unobserved), asker: None };
    let second =
        rig.harness.resume(&session, &ResumeOptions::default(), front()).err().expect("it is taken").to_string();
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

/// Somebody at the terminal who knows of one call what became of it, and puts the other off.
struct KnowsOne;

impl Asker for KnowsOne {
    fn person(&self) -> &str {
        "dana"
    }

    fn approval(&mut self, _request: &ApprovalRequest) -> Option<(String, Answer)> {
        None
    }

    fn input(&mut self, _question: &str) -> Option<(String, String)> {
        None
    }

    fn outcome(&mut self, call: &ProposedCall) -> Option<(String, Settlement, String)> {
        (call.id.as_str() == "c1-1").then(|| ("dana".to_owned(), Settlement::Done, String::new()))
    }
}

/// Of two calls that ran beside each other, the one that a person has settled is no question any more.
#[tokio::test]
async fn only_what_is_still_unknown_is_asked_about() {
    let beside = |word: &str| ("probe", json!({ "what": "beside", "word": word }));
    let rig = Rig::new(vec![calls(&[beside("a"), beside("b")]), text("done"), text("done")]);
    let outcome = rig.drive().await;
    let mut started = 0;
    let session = cut_off_at(
        &rig,
        &outcome.session,
        |body| matches!(body, Body::Started { .. } if { started += 1; started == 2 }),
    );
    let front = Front { observer: Box::new(Unobserved), asker: Some(Box::new(KnowsOne)) };
    let paused = rig.harness.resume(&session, &ResumeOptions::default(), front).unwrap().drive().await.unwrap();
    assert_eq!((paused.status, paused.code), (Status::NeedsInput, Code::ToolOutcomeUnknown));
    assert_eq!(
        paused.reason,
        "the harness stopped while `probe` (c1-2) ran, and nobody knows what became of it: a person has to say"
    );
}
