//! I11: a sub-session and the session that gave it its part agree about each other, where both journals are at hand.
//!
//! The sub-session was asked for by a call of that session and runs under its policy, with what only tightens behind it. What
//! the session counts as used is what the sub-session had used at one of its stops.

use checkrein_contract::{
    Body, CallId, Event, Parent, PolicySource, SessionChange, SessionId, SessionOpened, Spend, without_remembered,
};
use checkrein_session::State;

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    if let (Some(parent), Some(first)) = (&journal.opened.parent, journal.events.first()) {
        given(journal, parent).map_err(|problem| Problem::at(first, problem))?;
    }
    for event in journal.events {
        let Body::Finished(finished) = &event.body else { continue };
        if let Some(SessionChange::Delegated { session, spend }) = &finished.change {
            let agrees = taken(journal, event.seq, &finished.call, session, spend);
            agrees.map_err(|problem| Problem::at(event, problem))?;
        }
    }
    Ok(())
}

/// The part that this session was given, by the other's journal.
fn given(journal: &Journal<'_>, parent: &Parent) -> Result<(), String> {
    let Some(events) = (journal.others)(&parent.session) else { return Ok(()) };
    let Some(its) = opened(&events) else { return Err(format!("{} does not begin with a session", parent.session)) };
    let asked = events.iter().any(|event| match &event.body {
        Body::Proposal { calls, .. } => calls.iter().any(|call| call.id == parent.call),
        _ => false,
    });
    if !asked {
        return Err(format!("it names {} of {}, and there is no such call", parent.call, parent.session));
    }
    if !policies(its, &events).any(|policy| journal.opened.policy.starts_with(&policy)) {
        return Err(format!("it does not run under the policy of {}, which gave it its part", parent.session));
    }
    if journal.opened.identity != its.identity {
        return Err(format!("it works on behalf of somebody else than {}, which gave it its part", parent.session));
    }
    Ok(())
}

/// What came of the part that this session gave away, by the other's journal.
fn taken(journal: &Journal<'_>, seq: u64, call: &CallId, session: &SessionId, spend: &Spend) -> Result<(), String> {
    let Some(events) = (journal.others)(session) else { return Ok(()) };
    let parent = opened(&events).and_then(|opened| opened.parent.as_ref());
    // Of a fork's first events, the session that it was forked from gave the part.
    let giver = journal.opened.session_at(seq);
    if !parent.is_some_and(|parent| parent.session == *giver && parent.call == *call) {
        return Err(format!("{session} does not say that {call} of this session gave it its part"));
    }
    let Some((first, rest)) = events.split_first() else { return Ok(()) };
    let failed = |error: checkrein_session::ApplyError| format!("{session} can not be folded: {}", error.reason);
    let mut state = State::open(first).map_err(failed)?;
    for event in rest {
        state.apply(event).map_err(failed)?;
        if matches!(event.body, Body::Stop(_)) && state.spend() == spend {
            return Ok(());
        }
    }
    Err(format!("what it counts as used by {session} is not what that session used at any of its stops"))
}

/// The policies that were in force in a session, one after the other, as far as a sub-session takes them over.
fn policies(opened: &SessionOpened, events: &[Event]) -> impl Iterator<Item = Vec<PolicySource>> {
    let changes = events.iter().filter_map(|event| match &event.body {
        Body::Recomposed(change) => change.policy.clone(),
        _ => None,
    });
    std::iter::once(opened.policy.clone()).chain(changes).map(|policy| without_remembered(&policy))
}

fn opened(events: &[Event]) -> Option<&SessionOpened> {
    match events.first().map(|event| &event.body) {
        Some(Body::Session(opened)) => Some(opened),
        _ => None,
    }
}
