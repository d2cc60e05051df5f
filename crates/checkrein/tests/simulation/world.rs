//! The simulated world: what outlives processes, the operations that are counted, and the faults that meet them.
//!
//! One world is one thread's. Everything in it follows from the seed, the plan, and the order in which the code under test
//! asks for things.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard};

use checkrein::contract::{Body, CallId, CallKind, Event, SessionId, Verdict};
use checkrein::gate::Approved;
use checkrein::journal::{EventStore, MemoryStore};
use fastrand::Rng;
use tokio_util::sync::CancellationToken;

use crate::plan::{Kind, Op, Plan};

/// The process is gone. Thrown through code that can not wait for ever.
pub(crate) struct Crashed;

/// A world that is broken on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The disk acknowledges, and forgets.
    DiskForgets,
    /// Every effect takes place twice.
    EffectsTwice,
    /// Tools run although no start is on the disk.
    StartsForgotten,
}

/// The world.
pub(crate) struct World {
    pub(crate) seed: u64,
    plan: Plan,
    /// What is on the disk.
    pub(crate) disk: MemoryStore,
    pub(crate) sabotage: Option<Sabotage>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    counts: BTreeMap<Op, u64>,
    /// Faults that were met, and in which process first.
    met: BTreeMap<usize, u32>,
    /// Processes that were started.
    pub(crate) process: u32,
    crashed: bool,
    /// What ends this process when a person interrupts it.
    pub(crate) cancel: Option<CancellationToken>,
    /// What was reached, and how often.
    pub(crate) marks: BTreeMap<String, u64>,
    /// What is wrong.
    pub(crate) violations: Vec<String>,
    /// How often an effect took place, by idempotency key.
    pub(crate) effects: BTreeMap<String, u32>,
    /// Effects that arrive after whoever sent them gave up: when, the key, and what may be repeated.
    late: Vec<(u64, String, CallKind)>,
    /// Events that somebody was told are durable.
    pub(crate) acknowledged: BTreeMap<SessionId, Vec<Event>>,
    /// What was being written when a process ended.
    pub(crate) attempted: BTreeMap<SessionId, Vec<Event>>,
    /// Sessions that this process holds.
    pub(crate) held: BTreeSet<SessionId>,
    /// Milliseconds by which the clock was set.
    pub(crate) skew_ms: i64,
    /// Milliseconds that passed while no process ran.
    pub(crate) between_ms: u64,
    /// The earliest time at which the model may be asked the same again, and what that was.
    pub(crate) not_before: Option<(u64, String)>,
    pub(crate) sessions: u32,
    /// When the world began, by the runtime's paused clock.
    pub(crate) origin: Option<tokio::time::Instant>,
    /// Faults that were met in all.
    pub(crate) hits: u64,
    /// How often people put a question off.
    pub(crate) put_off: u32,
    /// How often the files of the folder were changed by others.
    pub(crate) version: u32,
    /// Rounds of the check program.
    pub(crate) checks: u32,
}

impl World {
    pub(crate) fn new(seed: u64, plan: Plan) -> Arc<Self> {
        Arc::new(Self { seed, plan, disk: MemoryStore::default(), sabotage: None, inner: Mutex::default() })
    }

    pub(crate) fn sabotaged(seed: u64, plan: Plan, sabotage: Sabotage) -> Arc<Self> {
        let sabotage = Some(sabotage);
        Arc::new(Self { seed, plan, disk: MemoryStore::default(), sabotage, inner: Mutex::default() })
    }

    /// Somebody is told that these are durable.
    pub(crate) fn acknowledge(&self, session: &SessionId, events: &[Event]) {
        let mut inner = self.inner();
        inner.attempted.remove(session);
        inner.acknowledged.entry(session.clone()).or_default().extend(events.iter().cloned());
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Dice for one purpose: the same purpose, the same throws.
    pub(crate) fn dice(&self, purpose: &str) -> Rng {
        let digest = checkrein::contract::Digest::of(format!("{}/{purpose}", self.seed).as_bytes());
        Rng::with_seed(u64::from_str_radix(&digest.as_str()[..16], 16).unwrap_or_default())
    }

    /// What is on the disk of a session.
    pub(crate) fn events(&self, session: &SessionId) -> Vec<Event> {
        self.disk.read(session, 1).unwrap_or_default()
    }

    /// Counts this operation; the fault that meets it, if one does. A cancellation is carried out here.
    pub(crate) fn meet(&self, op: Op) -> Option<Kind> {
        let mut inner = self.inner();
        if inner.crashed {
            return Some(Kind::CrashBefore);
        }
        let count = inner.counts.entry(op).or_default();
        *count += 1;
        let count = *count;
        let process = inner.process;
        let found = self.plan.0.iter().enumerate().find(|(at, fault)| {
            let healed = inner.met.get(at).is_some_and(|first| process > first + 1);
            fault.op == op && (fault.nth == count || fault.stays && fault.nth < count && !healed)
        });
        let (at, fault) = found?;
        inner.met.entry(at).or_insert(process);
        inner.hits += 1;
        *inner.marks.entry(format!("{}/{}", op.name(), fault.kind.name())).or_default() += 1;
        if fault.kind != Kind::Cancel {
            return Some(fault.kind);
        }
        if let Some(cancel) = &inner.cancel {
            cancel.cancel();
        }
        None
    }

    /// Faults of the plan that were met.
    pub(crate) fn met(&self) -> usize {
        self.inner().met.len()
    }

    pub(crate) fn mark(&self, what: &str) {
        *self.inner().marks.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn violation(&self, what: String) {
        self.inner().violations.push(what);
    }

    pub(crate) fn is_crashed(&self) -> bool {
        self.inner().crashed
    }

    /// The process dies here, in code that does not wait.
    pub(crate) fn crash(&self) -> ! {
        self.inner().crashed = true;
        resume_unwind(Box::new(Crashed))
    }

    /// The process dies here, in code that waits: for ever.
    pub(crate) async fn crash_waiting<T>(&self) -> T {
        self.inner().crashed = true;
        std::future::pending().await
    }

    /// Another process starts.
    pub(crate) fn start(&self) {
        let mut inner = self.inner();
        inner.process += 1;
        inner.crashed = false;
        inner.cancel = None;
        inner.held.clear();
        inner.not_before = None;
        drop(inner);
        match self.meet(Op::Start) {
            Some(Kind::ClockBack) => self.inner().skew_ms -= 3 * 3_600_000,
            Some(Kind::ClockForward) => self.inner().skew_ms += 40 * 3_600_000,
            _ => {}
        }
    }

    /// A call begins to run. What is no reading has to be in the journal as started, durable, after a decision or an
    /// approval that lets it; and what has its end there is never run again.
    pub(crate) fn runs(&self, approved: &Approved) {
        if approved.kind() == CallKind::Pure {
            return;
        }
        let key = approved.key().as_str();
        let call = &approved.call().id;
        let key = if self.sabotage == Some(Sabotage::StartsForgotten) { "another" } else { key };
        match self.started(key) {
            Some(started) if started.ended => {
                self.violation(format!("{call} was run again after its end was durable"));
            }
            Some(started) if !started.allowed => {
                self.violation(format!("{call} runs, and nothing durable allows it"));
            }
            Some(_) => {}
            None => self.violation(format!("{call} runs before its start is durable")),
        }
    }

    /// What is known on the disk of the call that was started with this key.
    fn started(&self, key: &str) -> Option<StartedCall> {
        let rows = self.disk.rows_of_kinds(&["decision", "started", "finished"]).unwrap_or_default();
        let start = rows.iter().rfind(|found| found.row.kind == "started" && found.row.body.contains(key))?;
        let events = rows.iter().filter(|found| found.session == start.session);
        let events: Vec<Event> = events.filter_map(|found| serde_json::from_str(&found.row.body).ok()).collect();
        StartedCall::find(&events, key)
    }

    /// The effect of a call takes place.
    pub(crate) fn effect(&self, approved: &Approved) {
        self.inner().take_place(approved.key().as_str().to_owned(), approved.kind(), self.sabotage);
    }

    /// The effect of a call takes place at this time, whoever may have given up by then.
    pub(crate) fn effect_at(&self, at: u64, approved: &Approved) {
        self.inner().late.push((at, approved.key().as_str().to_owned(), approved.kind()));
    }

    /// What was sent arrives.
    pub(crate) fn arrivals(&self, now: u64) {
        let mut inner = self.inner();
        let (come, stay): (Vec<_>, Vec<_>) =
            std::mem::take(&mut inner.late).into_iter().partition(|(at, ..)| *at <= now);
        inner.late = stay;
        for (_, key, kind) in come {
            inner.take_place(key, kind, self.sabotage);
            *inner.marks.entry("tool/effect-after-end".to_owned()).or_default() += 1;
        }
    }

    /// Whether a call took effect, for a person who looks.
    pub(crate) fn happened(&self, session: &SessionId, call: &CallId) -> bool {
        let events = self.events(session);
        let key = events.iter().rev().find_map(|event| match &event.body {
            Body::Started { call: started, key, .. } if started == call => Some(key.as_str().to_owned()),
            _ => None,
        });
        let inner = self.inner();
        key.is_some_and(|key| inner.effects.contains_key(&key) || inner.late.iter().any(|(_, late, _)| *late == key))
    }
}

impl Inner {
    fn take_place(&mut self, key: String, kind: CallKind, sabotage: Option<Sabotage>) {
        let times = self.effects.entry(key).or_default();
        // Whoever is given its key again finds out that it was done.
        if kind == CallKind::Once || *times == 0 {
            *times += if sabotage == Some(Sabotage::EffectsTwice) { 2 } else { 1 };
        }
    }
}

/// A call as the disk knows it.
struct StartedCall {
    allowed: bool,
    ended: bool,
}

impl StartedCall {
    fn find(events: &[Event], key: &str) -> Option<Self> {
        let (at, call, approval) = events.iter().enumerate().rev().find_map(|(at, event)| match &event.body {
            Body::Started { call, key: found, approval, .. } if found.as_str() == key => Some((at, call, approval)),
            _ => None,
        })?;
        let verdict = events[..at].iter().rev().find_map(|event| match &event.body {
            Body::Decision { call: decided, decision, .. } if decided == call => Some(decision.verdict),
            _ => None,
        });
        let allowed = match verdict {
            Some(Verdict::Allow) => true,
            Some(Verdict::Ask) => approval.is_some(),
            Some(Verdict::Deny) | None => false,
        };
        let ended = events.iter().any(|event| matches!(&event.body, Body::Finished(end) if end.call == *call));
        Some(Self { allowed, ended })
    }
}
