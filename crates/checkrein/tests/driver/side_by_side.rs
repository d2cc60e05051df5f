//! Sub-sessions at the same time: they overlap, nothing that is recorded depends on which of them was first, and whatever
//! ends the process finds each of them where it stands. Shown without timing: a lane waits for what the test says.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex};

use checkrein::contract::{
    Body, BoxFuture, Budget, CallId, Delta, Event, Finished, Limit, ModelReply, ModelRequest, Outcome, Provider,
    ProviderError, ProviderFault, RawCall, SessionChange, SessionId, Status, StopReason,
};
use checkrein::gate::{AnyTool, Registry};
use checkrein::journal::transcript_lines;
use checkrein::session::group_calls;
use checkrein::session::tools::{registered, session_tool};
use checkrein::verify::{Anchors, verify, verify_among};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::support::{Reply, Rig, calls, text};

/// What a lane does before it answers a request.
#[derive(Clone)]
enum Before {
    Nothing,
    /// All of them are there at once.
    Meet(Arc<Barrier>),
    /// Waits for somebody, and then lets somebody else go on.
    Turn(Option<Arc<Notify>>, Option<Arc<Notify>>),
    /// Says that it is there, and never answers.
    Hang(Arc<Notify>),
}

/// A model with lanes: the session's own is 0, each of its sub-sessions has the next.
struct Lanes {
    replies: Mutex<BTreeMap<u32, VecDeque<(Before, Reply)>>>,
    /// Requests, by lane.
    asked: Mutex<BTreeMap<u32, u32>>,
}

struct Lane(Arc<Lanes>, u32);

impl Provider for Lane {
    fn model(&self) -> &str {
        "lanes"
    }

    fn complete<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move {
            *self.0.asked.lock().unwrap().entry(self.1).or_default() += 1;
            let next = self.0.replies.lock().unwrap().get_mut(&self.1).and_then(VecDeque::pop_front);
            let Some((before, reply)) = next else {
                let message = format!("lane {} has nothing more to say", self.1);
                return Err(ProviderError {
                    fault: ProviderFault::Refused,
                    message,
                    retry_after_ms: None,
                    provider: Value::Null,
                });
            };
            match before {
                Before::Nothing => {}
                Before::Meet(barrier) => _ = barrier.wait().await,
                Before::Turn(wait, then) => {
                    if let Some(wait) = wait {
                        wait.notified().await;
                    }
                    if let Some(then) = then {
                        then.notify_one();
                    }
                }
                Before::Hang(there) => {
                    there.notify_one();
                    std::future::pending::<()>().await;
                }
            }
            let stop = if reply.calls.is_empty() { StopReason::End } else { StopReason::Calls };
            let calls = reply.calls.into_iter().map(|(tool, args)| RawCall { tool, arguments: args.to_string() });
            let (text, calls, provider) = (reply.text, calls.collect(), Value::Null);
            Ok(ModelReply { text, calls, stop, usage: None, virtual_ms: 0, provider })
        })
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(Self(Arc::clone(&self.0), number)))
    }

    fn virtual_time(&self) -> bool {
        true
    }
}

/// A rig whose model says this in each lane, in order; lane 0 is the session's own.
fn rig(lanes: Vec<Vec<(Before, Reply)>>) -> (Rig, Arc<Lanes>) {
    let replies = lanes.into_iter().enumerate().map(|(lane, said)| (lane as u32, said.into()));
    let lanes = Arc::new(Lanes { replies: Mutex::new(replies.collect()), asked: Mutex::default() });
    let mut rig = Rig::new(Vec::new());
    rig.harness.extensions.provider = Some(Arc::new(Lane(Arc::clone(&lanes), 0)));
    (rig, lanes)
}

fn tasks(count: usize) -> Reply {
    let all: Vec<(&str, Value)> = (1..=count).map(|n| ("task", json!({ "prompt": format!("Part {n}.") }))).collect();
    calls(&all)
}

fn says(words: &str) -> Vec<(Before, Reply)> {
    vec![(Before::Nothing, text(words))]
}

fn ends(events: &[Event]) -> Vec<&Finished> {
    let ends = events.iter().filter_map(|event| match &event.body {
        Body::Finished(finished) => Some(&**finished),
        _ => None,
    });
    ends.collect()
}

/// The sub-sessions of a session, in the order of its results.
fn parts(events: &[Event]) -> Vec<SessionId> {
    let parts = ends(events).into_iter().filter_map(|finished| match &finished.change {
        Some(SessionChange::Delegated { session, .. }) => Some(session.clone()),
        _ => None,
    });
    parts.collect()
}

fn verified(rig: &Rig) {
    for row in rig.harness.store.sessions().unwrap() {
        let report = verify(&*rig.harness.store, &row.id, &Anchors::default()).unwrap();
        assert!(report.is_ok(), "{report:?}");
    }
}

/// Shows R138, R139: three that wait for each other all answer, so they overlapped; their results come back together, in the
/// order of the calls, and each has the lane of its place.
#[tokio::test]
async fn they_overlap() {
    let barrier = Arc::new(Barrier::new(3));
    let part = |n: usize| vec![(Before::Meet(Arc::clone(&barrier)), text(&format!("answer {n}")))];
    let main = vec![(Before::Nothing, tasks(3)), (Before::Nothing, text("done"))];
    let (rig, lanes) = rig(vec![main, part(1), part(2), part(3)]);
    let outcome = rig.drive().await;
    assert_eq!((outcome.status, outcome.steps), (Status::Completed, 5), "{}", outcome.reason);
    let events = rig.events(&outcome.session);
    for (n, (end, part)) in ends(&events).iter().zip(parts(&events)).enumerate() {
        let n_th = n + 1;
        assert!(
            end.text.starts_with(&format!("answer {n_th}\n[sub-session main/{n_th}: completed, 1 steps, ")),
            "{}",
            end.text
        );
        let Body::Session(opened) = &rig.events(&part)[0].body else { panic!("it begins") };
        assert_eq!(
            (opened.prompt.as_str(), opened.parent.as_ref().unwrap().number),
            (&*format!("Part {}.", n + 1), n as u32 + 1)
        );
    }
    assert_eq!(lanes.asked.lock().unwrap().values().copied().collect::<Vec<_>>(), [2, 1, 1, 1]);
    verified(&rig);
}

/// Shows R139, R141: whichever is first, the same is recorded: journals of the session and of each of its parts, byte by
/// byte, but for ids and times.
#[tokio::test]
async fn which_is_first_makes_no_difference() {
    let mut seen = Vec::new();
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        let gates: Vec<Arc<Notify>> = (0..2).map(|_| Arc::new(Notify::new())).collect();
        let before = |place: usize| {
            let wait = place.checked_sub(1).map(|at| Arc::clone(&gates[at]));
            Before::Turn(wait, gates.get(place).cloned())
        };
        let part = |lane: usize| {
            let place = order.iter().position(|first| *first == lane).unwrap();
            let reads = calls(&[("read", json!({ "file_path": "a.txt" }))]);
            vec![(Before::Nothing, reads), (before(place), text(&format!("answer {lane}")))]
        };
        let main = vec![(Before::Nothing, tasks(3)), (Before::Nothing, text("done"))];
        let (rig, _) = rig(vec![main, part(1), part(2), part(3)]);
        std::fs::write(rig.project().join("a.txt"), "a word\n").unwrap();
        let outcome = rig.drive().await;
        assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
        verified(&rig);
        let events = rig.events(&outcome.session);
        let of = |session: &SessionId| transcript_lines(&rig.events(session)).join("\n");
        let all = std::iter::once(outcome.session.clone()).chain(parts(&events)).map(|session| of(&session));
        seen.push(all.collect::<Vec<_>>().join("\n"));
    }
    for other in &seen[1..] {
        let different = seen[0].lines().zip(other.lines()).find(|(one, other)| one != other);
        assert_eq!(different, None);
    }
    assert!(seen[0] == seen[1] && seen[0] == seen[2], "the transcripts differ");
    assert!(seen[0].contains("answer 3") && seen[0].contains("a word"), "{}", seen[0]);
}

/// Shows R138: ten at most. The first ten wait for each other, so the eleventh is not among them; it comes after.
#[tokio::test]
async fn ten_at_most() {
    let barrier = Arc::new(Barrier::new(10));
    let mut lanes = vec![vec![(Before::Nothing, tasks(11)), (Before::Nothing, text("done"))]];
    lanes.extend((1..=10).map(|_| vec![(Before::Meet(Arc::clone(&barrier)), text("met"))]));
    // It would break the barrier if it were there.
    lanes.push(says("alone"));
    let (rig, _) = rig(lanes);
    let mut task = rig.task();
    task.budget = Budget { tokens: 10_000_000, ..task.budget };
    let outcome = rig.begin(&task).drive().await.unwrap();
    assert_eq!((outcome.status, outcome.steps), (Status::Completed, 13), "{}", outcome.reason);
    let events = rig.events(&outcome.session);
    assert!(ends(&events)[10].text.starts_with("alone\n"));
    let first = |wanted: &dyn Fn(&Body) -> bool| events.iter().position(|event| wanted(&event.body));
    let eleventh = first(&|body| matches!(body, Body::Decision { call, .. } if call.as_str() == "c1-11"));
    let tenth = first(&|body| matches!(body, Body::Finished(end) if end.call.as_str() == "c1-10"));
    assert!(tenth < eleventh, "its group is decided when the one before is over");
    verified(&rig);
}

/// Drives it until the test says so, and then the process is gone.
async fn lost(rig: &Rig, until: impl Future<Output = ()>) {
    let mut session = rig.begin(&rig.task());
    tokio::select! {
        ended = session.drive() => panic!("it ended: {ended:?}"),
        () = until => {}
    }
}

/// Shows R169: a process that is lost while one of them is over, one is on its way and one waits to be asked again leaves
/// each where it stands: the next process takes up what is not over and asks nobody twice.
#[tokio::test]
async fn each_is_taken_up_where_it_stands() {
    let there = Arc::new(Notify::new());
    let reads = calls(&[("read", json!({ "file_path": "a.txt" }))]);
    let hangs = |then: &str| vec![(Before::Hang(Arc::clone(&there)), text("never")), (Before::Nothing, text(then))];
    let second = [vec![(Before::Nothing, reads)], hangs("second")].concat();
    let main = vec![(Before::Nothing, tasks(3)), (Before::Nothing, text("done"))];
    let (rig, lanes) = rig(vec![main, says("first"), second, hangs("third")]);
    std::fs::write(rig.project().join("a.txt"), "a word\n").unwrap();
    lost(&rig, async {
        there.notified().await;
        there.notified().await;
        // Whoever was woken by the same turn has had theirs.
        tokio::task::yield_now().await;
    })
    .await;
    let rows = rig.harness.store.sessions().unwrap();
    let root = rows
        .iter()
        .map(|row| row.id.clone())
        .find(|id| matches!(&rig.events(id)[0].body, Body::Session(opened) if opened.parent.is_none()));
    let root = root.expect("the session");
    let outcome = rig.resume(&root).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
    let texts: Vec<String> =
        ends(&rig.events(&root)).iter().map(|end| end.text.lines().next().unwrap().to_owned()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!(lanes.asked.lock().unwrap().values().copied().collect::<Vec<_>>(), [2, 1, 3, 2]);
    assert_eq!(rig.harness.store.sessions().unwrap().len(), 4, "no part has begun twice");
    verified(&rig);
}

/// Shows R147: a cancelled run ends all of them; none of them is left on its way, and the session can go on.
#[tokio::test]
async fn a_cancelled_run_ends_all_of_them() {
    let there = Arc::new(Notify::new());
    let hangs = || vec![(Before::Hang(Arc::clone(&there)), text("never"))];
    let main = vec![(Before::Nothing, tasks(3)), (Before::Nothing, text("I stop here."))];
    let (rig, _) = rig(vec![main, says("first"), hangs(), hangs()]);
    let mut session = rig.begin(&rig.task());
    let id = session.state().session().clone();
    let cancel = session.cancel_token();
    let watch = async {
        there.notified().await;
        there.notified().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(session.drive(), watch);
    assert_eq!(outcome.unwrap().status, Status::Cancelled);
    drop(session);
    let status = |session: &SessionId| {
        rig.harness.store.sessions().unwrap().into_iter().find(|row| row.id == *session).unwrap().status
    };
    let events = rig.events(&id);
    let stops: Vec<_> = parts(&events).iter().map(status).collect();
    // The first may have answered by then.
    assert!(matches!(stops[0], Some(Status::Completed | Status::Cancelled)), "{stops:?}");
    assert_eq!(stops[1..], [Some(Status::Cancelled), Some(Status::Cancelled)]);
    let outcome = rig.resume(&id).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
    verified(&rig);
}

async fn with_budget(budget: Budget, count: usize) -> (Rig, Outcome) {
    let mut lanes = vec![vec![(Before::Nothing, tasks(count)), (Before::Nothing, text("done"))]];
    lanes.extend((1..=count).map(|_| says("answer")));
    let (rig, _) = rig(lanes);
    let mut task = rig.task();
    task.budget = budget;
    let outcome = rig.begin(&task).drive().await.unwrap();
    verified(&rig);
    (rig, outcome)
}

/// Shows R149: all of them together have what is left and not more; who comes too late is told so, and does not begin.
#[tokio::test]
async fn they_share_what_is_left() {
    let (rig, outcome) = with_budget(Budget { steps: 4, ..Budget::default() }, 4).await;
    let events = rig.events(&outcome.session);
    let texts: Vec<bool> =
        ends(&events).iter().map(|end| end.text.contains("nothing of this session's budget")).collect();
    assert_eq!(texts, [false, false, false, true]);
    assert_eq!((outcome.status, outcome.limit, outcome.steps), (Status::BudgetExhausted, Some(Limit::Steps), 4));
    assert_eq!(rig.harness.store.sessions().unwrap().len(), 4);
    // The last step of a session that gives all of its work away leaves nothing to give.
    let (rig, outcome) = with_budget(Budget { steps: 1, ..Budget::default() }, 1).await;
    assert_eq!((outcome.status, outcome.steps), (Status::BudgetExhausted, 1));
    assert_eq!(rig.harness.store.sessions().unwrap().len(), 1);
}

/// Shows I6: sub-sessions that were given more than there was, all together.
#[tokio::test]
async fn more_than_there_was_is_found() {
    let (rig, outcome) = with_budget(Budget { steps: 9, ..Budget::default() }, 2).await;
    let events = rig.events(&outcome.session);
    let second = parts(&events).remove(1);
    let with = |steps: u32| {
        let others = |session: &SessionId| {
            let mut events = rig.events(session);
            if let (Body::Session(opened), true) = (&mut events[0].body, *session == second) {
                opened.budget.steps = steps;
            }
            Some(events)
        };
        verify_among(&outcome.session, &events, &others)
    };
    assert!(with(4).is_ok());
    let fault = with(5).unwrap_err();
    let (at, last) = (fault.seq, ends(&events)[1].call.clone());
    assert_eq!(
        (fault.invariant, fault.problem.as_str()),
        ("I6", "its sub-sessions were given 9 steps, of 8 that were left")
    );
    assert!(matches!(&events[at as usize - 1].body, Body::Finished(end) if end.call == last));
}

/// Shows R136, R137, R138: what could change the same place waits; a call of another kind is a group of its own.
#[test]
fn who_may_overlap() {
    let mut registry = Registry::new();
    let task: Arc<dyn AnyTool> = registered(session_tool("task").unwrap());
    registry.add_any(task).unwrap();
    let part = |within: &[&str]| {
        let may = if within.is_empty() { "look" } else { "work" };
        ("task", json!({ "prompt": "x", "may": may, "within": within }))
    };
    let all = [part(&["src"]), part(&["docs"]), part(&[]), part(&["src/a.rs"]), part(&["tests"])];
    let raw = all.iter().map(|(tool, args)| RawCall { tool: (*tool).to_owned(), arguments: args.to_string() });
    let reply = ModelReply {
        text: String::new(),
        calls: raw.collect(),
        stop: StopReason::Calls,
        usage: None,
        virtual_ms: 0,
        provider: Value::Null,
    };
    let rig = Rig::new(Vec::new());
    let session = rig.begin(&rig.task());
    let grouped = group_calls(1, &reply, &registry, session.state());
    assert_eq!(grouped.iter().map(|call| call.parallel).collect::<Vec<_>>(), [true, true, true, false, true]);
    assert_eq!(grouped[4].id, CallId::new("c1-5"));
}
