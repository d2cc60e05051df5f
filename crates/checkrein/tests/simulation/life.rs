//! One life: a session from its beginning to its end, through as many processes as crashes, faults and people make of it.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use checkrein::contract::{
    Body, Budget, CallId, Check, NewLimit, OnAsk, Outcome, Price, SessionId, Settlement, Status, Stop, StopOn,
};
use checkrein::journal::{EventStore, export_lines, transcript_lines};
use checkrein::session::State;
use checkrein::{
    Catalogue, Extensions, Front, Harness, HarnessError, PolicyFiles, ResumeOptions, RunOptions, Session, StateFolder,
    Task, Unobserved, task,
};

use crate::checks;
use crate::disk::Disk;
use crate::machine::SimMachine;
use crate::model::Model;
use crate::people::AtTheTerminal;
use crate::plan::Plan;
use crate::tools;
use crate::world::{Crashed, World};

/// Processes after which a session counts as one that does not end.
const MOST_PROCESSES: u32 = 80;
/// How often people go on with a session that was interrupted.
const MOST_CANCELLED: u32 = 4;

/// What came of a life.
pub(crate) struct Life {
    pub(crate) world: Arc<World>,
    /// How the session ended.
    pub(crate) ended: String,
    pub(crate) crashes: u32,
}

impl Life {
    /// What is wrong, if anything.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.world.inner().violations.clone()
    }

    /// Journals and transcripts of all sessions, as text: equal inputs give equal bytes.
    pub(crate) fn bytes(&self) -> String {
        let mut text = format!("{}\n", self.ended);
        for row in self.world.disk.sessions().unwrap_or_default() {
            for line in export_lines(&self.world.disk, &row.id).unwrap_or_default() {
                text.push_str(&line);
                text.push('\n');
            }
            let events = self.world.events(&row.id);
            text.push_str(&transcript_lines(&events).join("\n"));
            text.push('\n');
        }
        text
    }

    pub(crate) fn events(&self) -> u64 {
        self.world.disk.sessions().unwrap_or_default().iter().map(|row| row.head.seq).sum()
    }

    pub(crate) fn sessions(&self) -> u64 {
        self.world.disk.sessions().map_or(0, |rows| rows.iter().filter(|row| row.head.seq > 0).count() as u64)
    }
}

/// Lives through one session with this seed under this plan, and checks everything that can be checked of it.
pub(crate) fn live(seed: u64, plan: &Plan) -> Life {
    live_in(World::new(seed, plan.clone()))
}

/// The same in a world that is given.
pub(crate) fn live_in(world: Arc<World>) -> Life {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let mut life = Life { world: Arc::clone(&world), ended: "?".to_owned(), crashes: 0 };
    runtime.expect("a runtime").block_on(async {
        world.inner().origin = Some(tokio::time::Instant::now());
        life.ended = through(&mut life).await;
        world.arrivals(u64::MAX);
    });
    checks::at_the_end(&world);
    life
}

/// What comes next for a session that is not over.
enum Step {
    Begin,
    Resume { session: SessionId, options: Box<ResumeOptions>, settle: Vec<(CallId, Settlement)> },
}

/// How a process ended.
enum Ended {
    /// With the state as everybody saw it.
    Stopped(Outcome, String),
    Failed(HarnessError),
    Crashed,
}

async fn through(life: &mut Life) -> String {
    let world = Arc::clone(&life.world);
    let task = task(&world);
    let mut root: Option<SessionId> = None;
    let mut cancelled = 0;
    let mut raised = false;
    for process in 0..MOST_PROCESSES {
        let step = match next(&world, root.as_ref(), &mut cancelled, &mut raised) {
            Ok(step) => step,
            Err(ended) => return ended,
        };
        let hits = world.inner().hits;
        world.start();
        let ended = run(&world, &task, step).await;
        match &ended {
            Ended::Crashed => life.crashes += 1,
            Ended::Stopped(outcome, _) if root.is_none() => root = Some(outcome.session.clone()),
            Ended::Stopped(..) => {}
            Ended::Failed(error) => {
                let of_faults =
                    matches!(error, HarnessError::Journal(_) | HarnessError::Record(_) | HarnessError::Busy { .. });
                if !of_faults || world.inner().hits == hits {
                    world.violation(format!("a process ended with `{error}`, and no fault says why"));
                    return "error".to_owned();
                }
            }
        }
        checks::after_process(&world);
        if let Ended::Stopped(outcome, seen) = &ended {
            checks::live_state(&world, &outcome.session, seen);
        }
        if root.is_none() {
            root = begun(&world);
        }
        world.people_come_by(process);
    }
    world.violation(format!("the session does not end within {MOST_PROCESSES} processes"));
    "endless".to_owned()
}

/// The first session of which anything is on the disk.
fn begun(world: &World) -> Option<SessionId> {
    let rows = world.disk.sessions().unwrap_or_default();
    rows.iter().rev().find(|row| row.head.seq > 0).map(|row| row.id.clone())
}

fn fold(world: &World, session: &SessionId) -> Option<State> {
    State::fold(world.inner().acknowledged.get(session)?).ok()
}

/// What people do next with the session; the word for its end when it is over.
fn next(world: &World, root: Option<&SessionId>, cancelled: &mut u32, raised: &mut bool) -> Result<Step, String> {
    let Some(root) = root else { return Ok(Step::Begin) };
    let Some(state) = fold(world, root) else {
        world.violation(format!("{root} can not be folded"));
        return Err("broken".to_owned());
    };
    let mut options = ResumeOptions { person: "dana".to_owned(), ..ResumeOptions::default() };
    let Some(stop) = state.stop() else { return Ok(resume(root.clone(), options, Vec::new())) };
    let waiting = stop.reason.matches("in its sub-session ").count();
    if waiting > 1 {
        world.mark("parts/several-wait");
    }
    let events = world.events(root);
    if waiting > 0
        && let [.., before, _] = &*events
        && matches!(&before.body, Body::Finished(end) if end.change.is_some())
    {
        world.mark("parts/others-went-on");
    }
    match stop.status {
        Status::Completed | Status::Blocked | Status::Failed => Err(format!("{}/{:?}", stop.status, stop.code)),
        Status::BudgetExhausted if *raised || world.seed.is_multiple_of(4) => Err(stop.status.to_string()),
        Status::BudgetExhausted => {
            *raised = true;
            world.mark("people/raise-a-budget");
            options.limits = vec![
                NewLimit::Steps(60),
                NewLimit::Calls(200),
                NewLimit::Tokens(1_000_000),
                NewLimit::Seconds(10_000_000),
            ];
            if state.budget().usd.is_some() {
                options.limits.push(NewLimit::Usd(50.0));
            }
            Ok(resume(root.clone(), options, Vec::new()))
        }
        Status::Cancelled if *cancelled >= MOST_CANCELLED => Err(stop.status.to_string()),
        Status::Cancelled => {
            *cancelled += 1;
            Ok(resume(root.clone(), options, Vec::new()))
        }
        Status::NeedsApproval => Ok(resume(root.clone(), options, Vec::new())),
        Status::NeedsInput => {
            // What waits may be a part of the session: that one is taken up by itself first.
            let (session, stop) = waiting_part(world, root).unwrap_or((root.clone(), stop.clone()));
            let unknown = fold(world, &session).map(|state| state.unknown_outcomes()).unwrap_or_default();
            let lost = unknown.iter().map(|call| (call.id.clone(), world.settlement(&session, &call.id)));
            let lost: Vec<_> = lost.collect();
            if lost.is_empty() && fold(world, &session).is_some_and(|state| state.waiting_for_input().is_some()) {
                options.answer = Some(format!("the blue one, for {}", stop.reason));
            }
            Ok(resume(session, options, lost))
        }
    }
}

fn resume(session: SessionId, options: ResumeOptions, settle: Vec<(CallId, Settlement)>) -> Step {
    Step::Resume { session, options: Box::new(options), settle }
}

/// A sub-session that waits for a person's words.
fn waiting_part(world: &World, root: &SessionId) -> Option<(SessionId, Stop)> {
    let rows = world.disk.sessions().ok()?;
    rows.iter().filter(|row| row.id != *root && row.status == Some(Status::NeedsInput)).find_map(|row| {
        let stop = fold(world, &row.id)?.stop()?.clone();
        world.mark("people/answer-a-part");
        Some((row.id.clone(), stop))
    })
}

/// One process.
async fn run(world: &Arc<World>, task: &Task, step: Step) -> Ended {
    let harness = harness(world);
    let prompts = task.on_ask == Some(OnAsk::Prompt);
    let asker = prompts.then(|| Box::new(AtTheTerminal(Arc::clone(world))) as Box<dyn checkrein::Asker>);
    let front = Front { observer: Box::new(Unobserved), asker };
    let made = catch_unwind(AssertUnwindSafe(|| -> Result<Session, HarnessError> {
        match &step {
            Step::Begin => harness.begin(task, &RunOptions::default(), front),
            Step::Resume { session, options, settle } => {
                let mut session = harness.resume(session, options, front)?;
                if !settle.is_empty() {
                    session.settle("dana", settle, "I looked")?;
                }
                Ok(session)
            }
        }
    }));
    let mut session = match made {
        Ok(Ok(session)) => session,
        Ok(Err(error)) => return Ended::Failed(error),
        Err(thrown) => return crashed(world, &*thrown),
    };
    world.inner().cancel = Some(session.cancel_token());
    let driven = until_crash(world, session.drive()).await;
    match driven {
        Some(Ok(Ok(outcome))) => {
            let seen = checks::seen(session.state(), world.now());
            Ended::Stopped(outcome, seen)
        }
        Some(Ok(Err(error))) => Ended::Failed(error),
        Some(Err(thrown)) => crashed(world, &*thrown),
        None => Ended::Crashed,
    }
}

fn crashed(world: &World, thrown: &(dyn std::any::Any + Send)) -> Ended {
    if thrown.downcast_ref::<Crashed>().is_none() {
        world.violation("the harness panicked".to_owned());
    }
    Ended::Crashed
}

type Thrown = Box<dyn std::any::Any + Send>;

/// Drives a future until it is done, or until the process is gone.
async fn until_crash<T>(world: &World, future: impl Future<Output = T>) -> Option<Result<T, Thrown>> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Err(thrown) => Poll::Ready(Some(Err(thrown))),
        Ok(_) if world.is_crashed() => Poll::Ready(None),
        Ok(Poll::Ready(done)) => Poll::Ready(Some(Ok(done))),
        Ok(Poll::Pending) => Poll::Pending,
    })
    .await
}

fn harness(world: &Arc<World>) -> Harness {
    let extensions = Extensions {
        tools: tools::all(world),
        provider: Some(Arc::new(Model(Arc::clone(world)))),
        machine: Some(Arc::new(SimMachine(Arc::clone(world)))),
        ..Extensions::default()
    };
    Harness {
        home: StateFolder::named("/simulated/state"),
        store: Arc::new(Disk(Arc::clone(world))),
        policies: PolicyFiles::default(),
        launcher: None,
        environment: Vec::new(),
        person_home: "/simulated/home".into(),
        folder: folder().to_path_buf(),
        models: Catalogue::default(),
        extensions,
    }
}

/// The task folder of every simulated session.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulation/task"))
}

/// The task, with the settings that the seed draws.
fn task(world: &World) -> Task {
    let mut rng = world.dice("task");
    let mut task = task::from_folder(folder()).expect("the task folder is well-formed");
    task.on_ask = Some([OnAsk::Pause, OnAsk::Pause, OnAsk::Prompt, OnAsk::Deny][rng.usize(0..4)]);
    let roomy = Budget { steps: 25, calls: 60, ..Budget::default() };
    task.budget = match rng.u8(0..8) {
        0 => Budget { steps: 3, ..roomy },
        1 => Budget { calls: 4, ..roomy },
        2 => Budget { tokens: 12_000, ..roomy },
        3 => Budget { seconds: 40, ..roomy },
        4 => Budget { usd: Some(0.2), ..roomy },
        _ => Budget { seconds: 36_000, ..roomy },
    };
    task.price = Some(Price::flat(3.0, 15.0));
    task.stop_on = match rng.u8(0..8) {
        0 => vec![StopOn::Deny],
        1 => vec![StopOn::Error],
        _ => Vec::new(),
    };
    if rng.u8(0..3) == 0 {
        task.verify = vec![Check::Run { run: vec!["sh".to_owned(), "check.sh".to_owned()] }];
    }
    let (policy, tokens) = match rng.u8(0..10) {
        0 | 1 => ("trim_to_budget", 3_000),
        2..5 => ("compact", [250, 800][rng.usize(0..2)]),
        _ => return task,
    };
    task.context = (policy.to_owned(), serde_json::json!({ "tokens": tokens }));
    task
}
