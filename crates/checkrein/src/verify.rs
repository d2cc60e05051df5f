//! Proves a session from its journal alone: chain, signed head and payloads first, then one invariant after the other.
//!
//! An invariant is one file here and one line in [`INVARIANTS`]; its id stands in ARCHITECTURE.md and in the test that
//! breaks it. Of all that do not hold, the one that breaks first in the journal is named.

mod anchors;
mod approvals_used;
mod bytes;
mod decisions;
mod folds;
mod parts;
mod requests;
mod secrets;
mod spend;
mod starts;

pub use anchors::{Anchors, heads};
pub(crate) use decisions::{foreseen, judged_again};

use checkrein_contract::{Body, Event, SessionId, SessionOpened};
use checkrein_journal::{
    ChainFault, ChainProblem, ChainReport, EventStore, Head, JournalError, SignedHead, read_export, verify_chain,
    verify_export,
};

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
    /// Ids of what holds: `chain`, `head` where there is a signed one, and the invariants.
    pub holds: Vec<&'static str>,
    /// The signed head.
    pub signed: Option<SignedHead>,
    /// Events whose payloads were pruned. The invariants were not looked at then: nobody can fold what is not there.
    pub pruned: Vec<u64>,
    /// What is worth a look and no fault.
    pub notes: Vec<String>,
}

/// The first thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The session.
    pub session: SessionId,
    /// Number of the event.
    pub seq: u64,
    /// `chain`, `head`, `payload`, or the id of an invariant.
    pub invariant: &'static str,
    /// What is wrong.
    pub problem: String,
}

impl From<ChainFault> for Fault {
    fn from(fault: ChainFault) -> Self {
        let invariant = match &fault.problem {
            ChainProblem::Payload { .. } | ChainProblem::Gone { .. } => "payload",
            ChainProblem::Signature | ChainProblem::Signed { .. } | ChainProblem::Unsigned { .. } => "head",
            ChainProblem::Spelling => "I9",
            _ => "chain",
        };
        Self { session: fault.session, seq: fault.seq, invariant, problem: fault.problem.to_string() }
    }
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

/// What a check looks at.
struct Journal<'a> {
    opened: &'a SessionOpened,
    events: &'a [Event],
    /// The events of another session, where they are at hand.
    others: Others<'a>,
}

type Others<'a> = &'a dyn Fn(&SessionId) -> Option<Vec<Event>>;
type Check = fn(&Journal<'_>) -> Result<(), Problem>;

/// What is checked. Of two that break at one event the one that stands first here is named.
const INVARIANTS: &[(&str, Check)] = &[
    ("I5", folds::check),
    ("I1", starts::check_starts),
    ("I2", starts::check_effects),
    ("I3", decisions::check),
    ("I4", requests::check_requests),
    ("I6", spend::check),
    ("I7", secrets::check),
    ("I8", requests::check_prefixes),
    ("I9", bytes::check),
    ("I10", approvals_used::check),
    ("I11", parts::check),
];

/// Verifies one session, also against heads that were kept elsewhere: without one, nobody can tell that the journal was put
/// back to an earlier day.
///
/// # Errors
/// [`HarnessError`] when the journal can not be read at all.
pub fn verify(
    store: &dyn EventStore,
    session: &SessionId,
    anchors: &Anchors,
) -> Result<Result<Report, Fault>, HarnessError> {
    let chain = match verify_chain(store, session, anchors.heads_of(session)) {
        Ok(chain) => chain,
        Err(broken) => return Ok(Err(broken.into())),
    };
    if let Err(fault) = anchors.judge(session, chain.head.seq, chain.signed.as_ref(), &store.keys()?) {
        return Ok(Err(fault));
    }
    let others = |other: &SessionId| store.read(other, 1).ok().filter(|events| !events.is_empty());
    // As many as were checked: another process may go on meanwhile.
    let events = store.read(session, 1).map(|mut events| {
        events.truncate(usize::try_from(chain.head.seq).unwrap_or(usize::MAX));
        events
    });
    judge(chain, events, &others)
}

/// Verifies exported lines, of one session or of several one after the other, without the journal they came from.
///
/// # Errors
/// [`HarnessError`] for an event that this version does not know.
pub fn verify_lines(text: &str, anchors: &Anchors) -> Result<Vec<Result<Report, Fault>>, HarnessError> {
    let mut sessions: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let session = session_of(line);
        match sessions.last_mut().filter(|(last, _)| *last == session) {
            Some((_, lines)) => lines.push(line),
            None => sessions.push((session, vec![line])),
        }
    }
    let others = |other: &SessionId| {
        let (_, lines) = sessions.iter().find(|(session, _)| session == other.as_str())?;
        read_export(lines).ok()
    };
    let verified = sessions.iter().map(|(session, lines)| {
        let session = SessionId::new(session.clone());
        match verify_export(lines, anchors.heads_of(&session)) {
            Ok(chain) => {
                // Lines carry no signature; the one that was kept of their end is theirs.
                let signed = anchors.signed(&session, &chain.head).cloned();
                judge(ChainReport { signed, ..chain }, read_export(lines), &others)
            }
            Err(broken) => Ok(Err(broken.into())),
        }
    });
    verified.collect()
}

/// The session that an exported line belongs to, as far as it says.
fn session_of(line: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Owner {
        #[serde(default)]
        journal: String,
    }
    serde_json::from_str::<Owner>(line).map(|owner| owner.journal).unwrap_or_default()
}

fn judge(
    chain: ChainReport,
    events: Result<Vec<Event>, JournalError>,
    others: Others<'_>,
) -> Result<Result<Report, Fault>, HarnessError> {
    let ChainReport { session, head, missing, signed, .. } = chain;
    let mut holds = vec!["chain"];
    holds.extend(signed.as_ref().map(|_| "head"));
    let mut pruned: Vec<u64> = missing.into_iter().map(|gone| gone.seq).collect();
    pruned.dedup();
    let events = match events {
        Err(JournalError::MissingBlob { .. }) if !pruned.is_empty() => Vec::new(),
        events => events?,
    };
    // A crash before the first event leaves a name and nothing else.
    if !events.is_empty() {
        match verify_among(&session, &events, others) {
            Ok(more) => holds.extend(more),
            Err(fault) => return Ok(Err(fault)),
        }
    }
    let notes = secrets::later(&events).into_iter().collect();
    Ok(Ok(Report { session, events: head.seq, head, holds, signed, pruned, notes }))
}

/// Checks every invariant over events, wherever they come from; the chain is not looked at, nor any other session.
///
/// # Errors
/// The invariant that breaks first in the journal, and the event where it does.
pub fn verify_events(session: &SessionId, events: &[Event]) -> Result<Vec<&'static str>, Fault> {
    verify_among(session, events, &|_| None)
}

/// The same, with other sessions at hand.
///
/// # Errors
/// As [`verify_events`].
pub fn verify_among(
    session: &SessionId,
    events: &[Event],
    others: &dyn Fn(&SessionId) -> Option<Vec<Event>>,
) -> Result<Vec<&'static str>, Fault> {
    let fault = |(invariant, problem): (&'static str, Problem)| Fault {
        session: session.clone(),
        seq: problem.seq,
        invariant,
        problem: problem.problem,
    };
    let Some(Body::Session(opened)) = events.first().map(|event| &event.body) else {
        let problem = "the journal does not begin with a session".to_owned();
        return Err(fault(("I5", Problem { seq: 1, problem })));
    };
    let journal = Journal { opened, events, others };
    let broken = INVARIANTS.iter().filter_map(|(id, check)| check(&journal).err().map(|problem| (*id, problem)));
    if let Some(first) = broken.min_by_key(|(_, problem)| problem.seq) {
        return Err(fault(first));
    }
    let mut holds: Vec<&'static str> = INVARIANTS.iter().map(|(id, _)| *id).collect();
    // People look for a number, not for the order in which the checks happen to stand.
    holds.sort_by_key(|id| id.trim_start_matches('I').parse().unwrap_or(0_u32));
    Ok(holds)
}
