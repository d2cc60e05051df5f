//! Proves a session from its journal alone: the chain first, then one invariant after the other.
//!
//! An invariant is one file here and one line in [`INVARIANTS`]; its id stands in ARCHITECTURE.md and in the test that
//! breaks it.

mod approvals_used;
mod decisions;
mod requests;
mod secrets;
mod spend;
mod starts;

pub(crate) use decisions::foreseen;

use checkrein_contract::{Event, SessionId, SessionOpened};
use checkrein_journal::{EventStore, Head, verify_chain};
use checkrein_session::State;

use crate::HarnessError;

/// What was proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// Events that were looked at.
    pub events: u64,
    /// The head they end in.
    pub head: Head,
    /// Ids of what holds.
    pub holds: Vec<&'static str>,
}

/// The first thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The session.
    pub session: SessionId,
    /// Number of the event.
    pub seq: u64,
    /// `chain`, or the id of an invariant.
    pub invariant: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// A problem at one event.
pub(crate) struct Problem {
    pub(crate) seq: u64,
    pub(crate) problem: String,
}

impl Problem {
    pub(crate) fn at(event: &Event, problem: impl Into<String>) -> Self {
        Self { seq: event.seq, problem: problem.into() }
    }
}

type Check = fn(&SessionOpened, &[Event]) -> Result<(), Problem>;

/// What is checked, in this order.
const INVARIANTS: &[(&str, Check)] = &[
    ("I5", fold),
    ("I1", starts::check_starts),
    ("I2", starts::check_effects),
    ("I3", decisions::check),
    ("I4", requests::check_requests),
    ("I6", spend::check),
    ("I7", secrets::check),
    ("I8", requests::check_prefixes),
    ("I10", approvals_used::check),
];

/// Verifies one session. `anchor` is a head that was noted elsewhere: without one, nobody can tell that the newest events
/// are missing.
///
/// # Errors
/// [`HarnessError`] when the journal can not be read at all.
pub fn verify(
    store: &dyn EventStore,
    session: &SessionId,
    anchor: Option<&Head>,
) -> Result<Result<Report, Fault>, HarnessError> {
    let fault = |seq, invariant, problem| Fault { session: session.clone(), seq, invariant, problem };
    let chain = match verify_chain(store, session, anchor) {
        Ok(chain) => chain,
        Err(broken) => return Ok(Err(fault(broken.seq, "chain", broken.problem.to_string()))),
    };
    let events = store.read(session, 1)?;
    let fault_of = |(invariant, problem): (&'static str, Problem)| fault(problem.seq, invariant, problem.problem);
    if events.is_empty() {
        // A crash before the first event leaves a name and nothing else.
        return Ok(Ok(Report { session: session.clone(), events: 0, head: chain.head, holds: vec!["chain"] }));
    }
    let holds = invariants(&events).map_err(fault_of);
    Ok(holds.map(|holds| Report { session: session.clone(), events: chain.head.seq, head: chain.head, holds }))
}

/// Checks every invariant over events, wherever they come from; the chain is not looked at.
///
/// # Errors
/// The first invariant that does not hold, and the event where it broke.
pub fn verify_events(session: &SessionId, events: &[Event]) -> Result<Vec<&'static str>, Fault> {
    invariants(events).map_err(|(invariant, problem)| Fault {
        session: session.clone(),
        seq: problem.seq,
        invariant,
        problem: problem.problem,
    })
}

fn invariants(events: &[Event]) -> Result<Vec<&'static str>, (&'static str, Problem)> {
    let Some(checkrein_contract::Body::Session(opened)) = events.first().map(|event| &event.body) else {
        let problem = "the journal does not begin with a session".to_owned();
        return Err(("I5", Problem { seq: 1, problem }));
    };
    let mut holds = vec!["chain"];
    for (id, check) in INVARIANTS {
        check(opened, events).map_err(|problem| (*id, problem))?;
        holds.push(id);
    }
    // People look for a number, not for the order in which the checks happen to build on each other.
    holds.sort_by_key(|id| id.trim_start_matches('I').parse().unwrap_or(0_u32));
    Ok(holds)
}

/// I5: every prefix of the journal folds, so every state it had can be had again.
fn fold(_opened: &SessionOpened, events: &[Event]) -> Result<(), Problem> {
    State::fold(events).map(|_| ()).map_err(|error| Problem { seq: error.seq, problem: error.reason })
}
