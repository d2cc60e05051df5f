//! What has to hold: after each process, of the state that was driven, and at the end of a life.

use std::collections::{BTreeMap, BTreeSet};

use checkrein::contract::{Body, CallId, Event, SessionId};
use checkrein::journal::EventStore;
use checkrein::session::State;
use checkrein::verify::{Anchors, verify};
use serde_json::json;

use crate::model::PARTIAL;
use crate::world::World;

fn sessions(world: &World) -> Vec<SessionId> {
    world.disk.sessions().unwrap_or_default().into_iter().map(|row| row.id).collect()
}

/// After a process: what is on the disk is what was acknowledged, and then a beginning of what was being written.
pub(crate) fn after_process(world: &World) {
    for session in sessions(world) {
        let durable = match world.disk.read(&session, 1) {
            Ok(events) => events,
            Err(error) => {
                world.violation(format!("{session} can not be read: {error}"));
                continue;
            }
        };
        let mut inner = world.inner();
        let acknowledged = inner.acknowledged.get(&session).cloned().unwrap_or_default();
        let attempted = inner.attempted.remove(&session).unwrap_or_default();
        if durable.get(..acknowledged.len()) != Some(&*acknowledged) {
            inner.violations.push(format!("{session} lost events that were acknowledged"));
        } else if !attempted.starts_with(&durable[acknowledged.len()..]) {
            inner.violations.push(format!("{session} holds events that nobody wrote"));
        }
        inner.acknowledged.insert(session, durable);
    }
}

/// A state as everybody sees it.
pub(crate) fn seen(state: &State, now: u64) -> String {
    let approvals: Vec<String> = state.approvals().map(|approval| format!("{approval:?}")).collect();
    let value = json!({
        "outcome": state.outcome(checkrein::contract::Digest::of(b""), now),
        "spend": state.spend(),
        "budget": state.budget(),
        "messages": state.messages(),
        "loaded": state.loaded(),
        "offered": state.specs_on_offer(),
        "provider": state.provider(),
        "approvals": approvals,
        "seen": &*state.seen(),
        "numbers": [u64::from(state.turn()), u64::from(state.next_attempt()), u64::from(state.rounds()), state.seq()],
        "delegated": state.delegated(),
        "next": format!("{:?}", state.next(now)),
    });
    value.to_string()
}

/// The state that was driven is the fold of what is on the disk.
pub(crate) fn live_state(world: &World, session: &SessionId, live: &str) {
    let events = world.inner().acknowledged.get(session).cloned().unwrap_or_default();
    match State::fold(&events) {
        Ok(folded) if seen(&folded, world.now()) == *live => {}
        Ok(_) => world.violation(format!("{session}: the state that was driven is not the fold of its journal")),
        Err(error) => world.violation(format!("{session}: {error}")),
    }
}

/// At the end of a life.
pub(crate) fn at_the_end(world: &World) {
    let effects = world.inner().effects.clone();
    for (key, times) in effects {
        if times > 1 {
            world.violation(format!("the effect of the call with the key {} took place {times} times", &key[..8]));
        }
    }
    for session in sessions(world) {
        let events = world.disk.read(&session, 1).unwrap_or_default();
        let Some(last) = events.last() else { continue };
        match verify(&world.disk, &session, &Anchors::default()) {
            Ok(Ok(report)) if report.events == last.seq => {}
            Ok(Ok(report)) => {
                world.violation(format!("{session}: {} events were verified of {}", report.events, last.seq))
            }
            Ok(Err(fault)) => {
                world.violation(format!("{session}: event {}: {}: {}", fault.seq, fault.invariant, fault.problem))
            }
            Err(error) => world.violation(format!("{session} can not be verified: {error}")),
        }
        every_prefix(world, &session, &events);
        every_call(world, &session, &events);
        seldom_put_away(world, &session, &events);
        let rows = world.disk.rows(&session, 1, usize::MAX).unwrap_or_default();
        if rows.iter().any(|row| row.body.contains(PARTIAL)) {
            world.violation(format!("{session} holds a part of a reply that broke off"));
        }
    }
}

/// Every prefix folds, to one state: folded at once or step by step.
fn every_prefix(world: &World, session: &SessionId, events: &[Event]) {
    let Some(mut live) = events.first().and_then(|first| State::open(first).ok()) else { return };
    for (at, event) in events.iter().enumerate().skip(1) {
        if let Err(error) = live.apply(event) {
            return world.violation(format!("{session}: {error}"));
        }
        // All of them would be quadratic; a few, others in each session, and the last are as good.
        let looked_at = at % 31 == events.len() % 31 || at + 1 == events.len();
        let folded = looked_at.then(|| State::fold(&events[..=at]));
        if let Some(Ok(folded)) = folded
            && seen(&folded, event.at) != seen(&live, event.at)
        {
            return world.violation(format!("{session}: the first {} events fold to two states", at + 1));
        }
    }
}

/// Between two replies the conversation is put away at most once for each time that it may be made shorter, and once more.
fn seldom_put_away(world: &World, session: &SessionId, events: &[Event]) {
    let mut times = 0;
    for event in events {
        match &event.body {
            Body::Proposal { .. } => times = 0,
            Body::Compacted(_) => times += 1,
            _ => {}
        }
        if times > 3 {
            return world.violation(format!("{session}: it is put away again and again"));
        }
    }
}

/// Every call has an id of its own, and one end, once the session is over for good.
fn every_call(world: &World, session: &SessionId, events: &[Event]) {
    let mut open: BTreeMap<&CallId, usize> = BTreeMap::new();
    let mut known: BTreeSet<&CallId> = BTreeSet::new();
    let mut last = false;
    let mut over = false;
    for event in events {
        match &event.body {
            Body::Request { last: limit, .. } => last = limit.is_some(),
            Body::Proposal { calls, .. } => {
                for call in calls {
                    if !known.insert(&call.id) {
                        world.violation(format!("{session}: two calls are called {}", call.id));
                    }
                    // Of the last reply of a spent budget nothing is carried out.
                    if !last {
                        open.insert(&call.id, 0);
                    }
                }
            }
            Body::Check(round) => open.extend(round.calls.iter().map(|call| (&call.id, 0))),
            Body::Finished(end) => *open.entry(&end.call).or_default() += 1,
            Body::Stop(stop) => over = !stop.status.can_resume(),
            Body::Resumed { .. } => over = false,
            _ => {}
        }
    }
    for (call, ends) in open.into_iter().filter(|_| over) {
        if ends != 1 {
            world.violation(format!("{session}: {call} has {ends} ends"));
        }
    }
}
