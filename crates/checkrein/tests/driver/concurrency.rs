//! Overlap and barriers, shown without timing; cancellation.

use std::sync::atomic::Ordering;

use checkrein::contract::{Body, Code, FinishedAs, Message, Status};
use serde_json::json;

use crate::support::{Rig, calls, text};

fn probe(what: &str, word: &str) -> (&'static str, serde_json::Value) {
    ("probe", json!({ "what": what, "word": word }))
}

/// Shows R122, R123, R136, R138, R139, R140: three calls that wait for each other all return, so they overlapped; results
/// come back together and in the order of the calls.
#[tokio::test]
async fn three_parallel_calls_overlap() {
    let rig = Rig::new(vec![calls(&[probe("meet", "a"), probe("meet", "b"), probe("meet", "c")]), text("done")]);
    let outcome = rig.drive().await;
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(rig.probe.most.load(Ordering::SeqCst), 3);
    let last = rig.requests().pop().unwrap();
    let Some(Message::Tool { results }) = last.messages.last() else { panic!("results come last: {last:?}") };
    let shown: Vec<_> = results.iter().map(|result| (result.call.as_str(), result.text.as_str())).collect();
    assert_eq!(shown, [("c1-1", "a beside 0"), ("c1-2", "b beside 0"), ("c1-3", "c beside 0")]);
}

/// Shows R136, R137, R138, R140: an exclusive call between parallel ones is a barrier. Six that meet in threes can only
/// return if none of the later three runs with the earlier ones, and the one between them is alone.
#[tokio::test]
async fn an_exclusive_call_is_a_barrier() {
    let group = [probe("meet", "a"), probe("meet", "b"), probe("meet", "c")];
    let mut all = group.to_vec();
    all.push(probe("alone", "x"));
    all.extend(group);
    let rig = Rig::new(vec![calls(&all), text("done")]);
    assert_eq!(rig.drive().await.status, Status::Completed);
    assert_eq!(rig.probe.most.load(Ordering::SeqCst), 3);
    assert_eq!(rig.probe.ran.lock().unwrap()[3], "x", "after the first three, before the last three");
    let last = rig.requests().pop().unwrap();
    let Some(Message::Tool { results }) = last.messages.last() else { panic!("results come last") };
    assert_eq!(results[3].text, "x beside 0");
}

/// Shows R138: at most ten overlap. Of twelve that meet in threes nine get through before a tenth waits for ever, were
/// the group larger; with the bound the last two have nobody to meet, and the run is cancelled.
#[tokio::test(start_paused = true)]
async fn a_group_has_at_most_ten() {
    let twelve: Vec<_> = (0..12).map(|_| probe("meet", "m")).collect();
    let rig = Rig::new(vec![calls(&twelve), text("done")]);
    let mut session = rig.begin(&rig.task());
    let cancel = session.cancel_token();
    let probe = std::sync::Arc::clone(&rig.probe);
    let watch = async {
        while probe.ran.lock().unwrap().len() < 10 {
            probe.entered.notified().await;
        }
        tokio::task::yield_now().await;
        let entered = probe.ran.lock().unwrap().len();
        cancel.cancel();
        entered
    };
    let (outcome, entered) = tokio::join!(session.drive(), watch);
    assert_eq!(outcome.unwrap().status, Status::Cancelled);
    assert_eq!(entered, 10);
}

/// Shows R147: cancelling reaches a running tool; what was not started is told apart; the session can go on.
#[tokio::test]
async fn cancelling_tells_started_from_not_started() {
    let rig = Rig::new(vec![calls(&[probe("hang", "a"), probe("note", "b")]), text("done")]);
    let mut session = rig.begin(&rig.task());
    let id = session.state().session().clone();
    let cancel = session.cancel_token();
    let watch = async {
        rig.probe.entered.notified().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(session.drive(), watch);
    assert_eq!((outcome.as_ref().unwrap().status, outcome.unwrap().status.exit_code()), (Status::Cancelled, 130));
    let ends: Vec<_> = rig
        .events(&id)
        .into_iter()
        .filter_map(|event| match event.body {
            Body::Finished(finished) => Some((finished.ended, finished.code)),
            _ => None,
        })
        .collect();
    assert_eq!(
        ends,
        [(FinishedAs::Failed, Some(Code::Cancelled)), (FinishedAs::NotStarted, Some(Code::ToolNotStarted))]
    );
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a"]);
    drop(session);
    assert_eq!(rig.resume(&id).drive().await.unwrap().status, Status::Completed);
}
