//! Verification: is what a store or an exported file holds exactly what was written?
//!
//! It proves that no event was changed, moved, added in between or taken out. A chain alone can not show that its newest
//! events are gone; an anchor (a head that was kept elsewhere) can. Verifying changes nothing.

use std::fmt;

use checkrein_contract::{Digest, SessionId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::export::Line;
use crate::read::for_each_row;
use crate::walk::{self, Trouble, Walk};
use crate::{EventStore, Head, JournalError};

/// What a sound chain holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainReport {
    /// The session.
    pub session: SessionId,
    /// How far the chain reaches; `head.seq` is the number of events.
    pub head: Head,
    /// References to payloads that were checked.
    pub payloads: u64,
    /// References whose payload is no longer there. Retention removes payloads, never events, so the chain is sound.
    pub missing: Vec<MissingPayload>,
}

/// A reference whose payload is no longer there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPayload {
    /// The event.
    pub seq: u64,
    /// The field that the payload was.
    pub field: String,
    /// The payload.
    pub digest: Digest,
}

/// The first event that is not what was written, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("session `{session}`, event {seq}: {problem}")]
pub struct ChainFault {
    /// The session.
    pub session: SessionId,
    /// The event, or the place where one should be.
    pub seq: u64,
    /// What is wrong.
    pub problem: ChainProblem,
}

/// What can be wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainProblem {
    /// An event is missing, twice there, or out of place.
    Sequence {
        /// The number that was due.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// The text, the hash, or something before it was changed.
    Hash,
    /// A column beside the text does not say what the text says.
    Column {
        /// The column.
        column: &'static str,
    },
    /// The text is not what the journal writes.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// A payload is not the one that the event refers to.
    Payload {
        /// The payload that was due.
        digest: Digest,
    },
    /// A line of an export belongs to another session.
    Session {
        /// That session.
        found: String,
    },
    /// The chain is not the one that this anchor was taken from, or does not reach it any more.
    Anchor {
        /// The anchor.
        expected: Head,
        /// The last event that was found.
        reached: u64,
    },
    /// The store could not be read.
    Store {
        /// The store's own error.
        reason: String,
    },
}

impl fmt::Display for ChainProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence { expected, found } => write!(f, "event {expected} was due here, and event {found} came"),
            Self::Hash => f.write_str("its hash does not fit its content and the event before it"),
            Self::Column { column } => write!(f, "the column `{column}` does not say what the event says"),
            Self::Unreadable { reason } => write!(f, "it can not be read ({reason})"),
            Self::Payload { digest } => write!(f, "the payload {} was changed", digest.short()),
            Self::Session { found } => write!(f, "the line belongs to session `{found}`"),
            Self::Anchor { expected, reached } if *reached < expected.seq => {
                write!(f, "the chain ends at event {reached}, and it was known to reach event {}", expected.seq)
            }
            Self::Anchor { expected, .. } => {
                write!(f, "its hash was known to be {}, and it is another one", expected.hash.short())
            }
            Self::Store { reason } => f.write_str(reason),
        }
    }
}

/// Recomputes every hash and every payload digest of a session, and holds the chain against an anchor if there is one. The
/// anchor need not be the last event: later ones may follow.
///
/// # Errors
/// The first [`ChainFault`].
pub fn verify_chain(
    store: &dyn EventStore,
    session: &SessionId,
    anchor: Option<&Head>,
) -> Result<ChainReport, ChainFault> {
    let mut check = Verification::begin(session, anchor)?;
    for_each_row(store, session, 1, |row| {
        let due = check.walk.due();
        let found = check.walk.step(row).map_err(Trouble::from).and_then(|fields| {
            let mut missing = Vec::new();
            for reference in walk::references(&fields)? {
                match walk::payload(store, &reference)? {
                    Some(_) => check.report.payloads = check.report.payloads.saturating_add(1),
                    None => missing.push(MissingPayload { seq: due, field: reference.field, digest: reference.digest }),
                }
            }
            Ok(missing)
        });
        check.report.missing.extend(found.map_err(|trouble| Stopped::at(trouble, session, due))?);
        check.hold_against_anchor().map_err(Stopped::Fault)
    })
    .map_err(|stopped| stopped.into_fault(session, check.walk.due()))?;
    check.finish()
}

/// Verifies the lines of [`export_lines`](crate::export_lines) without the store they came from. Empty lines do not count.
///
/// # Errors
/// The first [`ChainFault`]. Without any line the session is unknown, and the fault names an empty one.
pub fn verify_export<I>(lines: I, anchor: Option<&Head>) -> Result<ChainReport, ChainFault>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let mut check: Option<Verification<'_>> = None;
    for line in lines {
        if line.as_ref().trim().is_empty() {
            continue;
        }
        let seq = check.as_ref().map_or(1, |check| check.walk.due());
        let known = check.as_ref().map_or(SessionId::new(""), |check| check.report.session.clone());
        let fault = |problem| ChainFault { session: known.clone(), seq, problem };
        let line = Line::read(line.as_ref()).map_err(|reason| fault(ChainProblem::Unreadable { reason }))?;
        let check = match &mut check {
            Some(check) if check.report.session == line.session => check,
            Some(_) => return Err(fault(ChainProblem::Session { found: line.session.to_string() })),
            None => check.insert(Verification::begin(&line.session, anchor)?),
        };
        check.walk.step(&line.row).map_err(|problem| check.fault(seq, problem))?;
        check.report.payloads = check.report.payloads.saturating_add(line.payloads);
        let missing = line.missing.into_iter();
        check.report.missing.extend(missing.map(|gone| MissingPayload { seq, field: gone.field, digest: gone.digest }));
        check.hold_against_anchor()?;
    }
    match check {
        Some(check) => check.finish(),
        None => Err(ChainFault {
            session: SessionId::new(""),
            seq: 0,
            problem: ChainProblem::Unreadable { reason: "there is no line".to_owned() },
        }),
    }
}

/// A verification on its way.
struct Verification<'a> {
    walk: Walk,
    report: ChainReport,
    anchor: Option<&'a Head>,
}

impl<'a> Verification<'a> {
    fn begin(session: &SessionId, anchor: Option<&'a Head>) -> Result<Self, ChainFault> {
        let head = Head::genesis(session);
        let report = ChainReport { session: session.clone(), head: head.clone(), payloads: 0, missing: Vec::new() };
        let check = Self { walk: Walk::after(session, head), report, anchor };
        check.hold_against_anchor()?;
        Ok(check)
    }

    fn fault(&self, seq: u64, problem: ChainProblem) -> ChainFault {
        ChainFault { session: self.report.session.clone(), seq, problem }
    }

    fn hold_against_anchor(&self) -> Result<(), ChainFault> {
        let head = self.walk.head();
        match self.anchor {
            Some(anchor) if anchor.seq == head.seq && anchor.hash != head.hash => {
                Err(self.fault(head.seq, ChainProblem::Anchor { expected: anchor.clone(), reached: head.seq }))
            }
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<ChainReport, ChainFault> {
        self.report.head = self.walk.head().clone();
        let reached = self.report.head.seq;
        match self.anchor {
            Some(anchor) if anchor.seq > reached => {
                let problem = ChainProblem::Anchor { expected: anchor.clone(), reached };
                Err(self.fault(self.walk.due(), problem))
            }
            _ => Ok(self.report),
        }
    }
}

/// What ends a walk over a store early.
enum Stopped {
    Store(JournalError),
    Fault(ChainFault),
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Self {
        Self::Store(error)
    }
}

impl Stopped {
    fn at(trouble: Trouble, session: &SessionId, seq: u64) -> Self {
        Self::Fault(trouble.into_fault(session, seq))
    }

    fn into_fault(self, session: &SessionId, seq: u64) -> ChainFault {
        match self {
            Self::Store(error) => Trouble::Store(error).into_fault(session, seq),
            Self::Fault(fault) => fault,
        }
    }
}
