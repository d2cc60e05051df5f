//! Verification: is what a store or an exported file holds exactly what was written?
//!
//! It proves that no event was changed, moved, added in between or taken out, and by the signed head that all of it was
//! not computed anew without the key. What lies in one place can be put back to an earlier day as a whole; an anchor (a
//! head that was kept elsewhere) shows that. Verifying changes nothing.

use std::cmp::Ordering;
use std::fmt;

use checkrein_contract::{Digest, SessionId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::body::Fields;
use crate::export::Line;
use crate::read::for_each_row;
use crate::walk::{self, Trouble, Walk};
use crate::{EventStore, Head, JournalError, PublicKey, SignedHead, StoredRow, prune};

/// What a sound chain holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainReport {
    /// The session.
    pub session: SessionId,
    /// How far the chain reaches; `head.seq` is the number of events.
    pub head: Head,
    /// References to payloads that were checked.
    pub payloads: u64,
    /// References whose payload was pruned, as the chain itself says. Pruning removes payloads, never events, so the chain
    /// is sound.
    pub missing: Vec<MissingPayload>,
    /// The signed head, which holds and is of the last event; `None` where there is none.
    pub signed: Option<SignedHead>,
}

/// A reference whose payload was pruned.
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
    /// The text says what it says in another spelling than canonical JSON: two readers could read two things.
    Spelling,
    /// A payload is not the one that the event refers to.
    Payload {
        /// The payload that was due.
        digest: Digest,
    },
    /// A payload is gone, and no event says that it was pruned.
    Gone {
        /// The payload that was due.
        digest: Digest,
    },
    /// The signed head was not signed with the key that it names.
    Signature,
    /// A key signed the head that does not count here. Found when a session is to be gone on with.
    Key {
        /// Whose signature it is.
        found: PublicKey,
    },
    /// The chain is not the one that was signed, or ends before.
    Signed {
        /// The head that was signed.
        signed: Head,
        /// The last event that was found.
        reached: u64,
    },
    /// It came after the last event that was signed, and every append signs.
    Unsigned {
        /// The last event that was signed.
        signed: u64,
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
            Self::Spelling => f.write_str("it is not spelled as the journal spells"),
            Self::Gone { digest } => {
                write!(f, "the payload {} is gone, and nothing in the chain says that it was pruned", digest.short())
            }
            Self::Signature => f.write_str("the signature of the head is not one of its key"),
            Self::Key { found } => write!(
                f,
                "its head is signed with the key {found}, which does not count here. If the session was brought here from \
                 elsewhere, hold it against the heads that were printed there (`journal verify --against FILE`), then say \
                 `journal accept KEY`"
            ),
            Self::Signed { signed, reached } if *reached < signed.seq => {
                write!(f, "the chain ends at event {reached}, and event {} was signed as its last", signed.seq)
            }
            Self::Signed { signed, .. } => {
                write!(
                    f,
                    "the hash that was signed for it is {}: it or one before was written anew",
                    signed.hash.short()
                )
            }
            Self::Unsigned { signed } => {
                write!(f, "event {signed} was signed as the last, and whoever added this one did not sign it")
            }
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

/// That a chain ends where it was signed to end, and that the signature is one.
pub(crate) fn hold_to(signed: &SignedHead, head: &Head) -> Result<(), ChainProblem> {
    match signed.seq.cmp(&head.seq) {
        Ordering::Less => Err(ChainProblem::Unsigned { signed: signed.seq }),
        Ordering::Equal if signed.hash == head.hash && signed.holds() => Ok(()),
        Ordering::Equal if signed.hash == head.hash => Err(ChainProblem::Signature),
        _ => Err(ChainProblem::Signed { signed: signed.head(), reached: head.seq }),
    }
}

/// Recomputes every hash and every payload digest of a session, and holds the chain against its signed head and an anchor,
/// if there are. The anchor need not be the last event: later ones may follow. Whose key it is that signed is for the
/// caller to judge.
///
/// # Errors
/// The first [`ChainFault`].
pub fn verify_chain<'a>(
    store: &dyn EventStore,
    session: &SessionId,
    anchors: impl IntoIterator<Item = &'a Head>,
) -> Result<ChainReport, ChainFault> {
    let mut check = Verification::begin(session, anchors)?;
    let signed = |due| {
        let failed = |error| Stopped::at(Trouble::from(error), session, due);
        store.signed_head(session).map_err(failed)
    };
    check.signed = signed(0).map_err(|stopped| stopped.into_fault(session, 0))?;
    loop {
        let from = check.walk.due();
        for_each_row(store, session, from, |row| {
            let due = check.walk.due();
            // Appended since the signed head was read: then there is a newer one.
            if check.signed.as_ref().is_some_and(|signed| signed.seq < due) {
                check.signed = signed(due)?;
            }
            check.step(store, row).map_err(|trouble| Stopped::at(trouble, session, due))?;
            check.hold_against_heads().map_err(Stopped::Fault)
        })
        .map_err(|stopped| stopped.into_fault(session, check.walk.due()))?;
        // What was signed meanwhile has to be there by now.
        let due = check.walk.due();
        if due == from || check.signed.as_ref().is_none_or(|signed| signed.seq < due) {
            return check.finish();
        }
    }
}

/// Verifies the lines of [`export_lines`](crate::export_lines) without the store they came from. Empty lines do not count.
///
/// # Errors
/// The first [`ChainFault`]. Without any line the session is unknown, and the fault names an empty one.
pub fn verify_export<'a, I>(lines: I, anchors: impl IntoIterator<Item = &'a Head>) -> Result<ChainReport, ChainFault>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let anchors: Vec<&Head> = anchors.into_iter().collect();
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
            None => check.insert(Verification::begin(&line.session, anchors.iter().copied())?),
        };
        let fields = check.walk.step(&line.row).map_err(|problem| check.fault(seq, problem))?;
        check.allow_missing(seq, &fields);
        check.report.payloads = check.report.payloads.saturating_add(line.payloads);
        let missing = line.missing.into_iter();
        check.report.missing.extend(missing.map(|gone| MissingPayload { seq, field: gone.field, digest: gone.digest }));
        check.hold_against_heads()?;
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
    anchors: Vec<&'a Head>,
    signed: Option<SignedHead>,
    /// Up to this event payloads may be missing, as the chain says.
    pruned_upto: u64,
}

impl<'a> Verification<'a> {
    fn begin(session: &SessionId, anchors: impl IntoIterator<Item = &'a Head>) -> Result<Self, ChainFault> {
        let head = Head::genesis(session);
        let (session_id, missing) = (session.clone(), Vec::new());
        let report = ChainReport { session: session_id, head: head.clone(), payloads: 0, missing, signed: None };
        let anchors = anchors.into_iter().collect();
        let check = Self { walk: Walk::after(session, head), report, anchors, signed: None, pruned_upto: 0 };
        check.hold_against_heads()?;
        Ok(check)
    }

    fn fault(&self, seq: u64, problem: ChainProblem) -> ChainFault {
        ChainFault { session: self.report.session.clone(), seq, problem }
    }

    /// One row of a store: its place in the chain, and its payloads.
    fn step(&mut self, store: &dyn EventStore, row: &StoredRow) -> Result<(), Trouble> {
        let seq = self.walk.due();
        let fields = self.walk.step(row)?;
        self.allow_missing(seq, &fields);
        for reference in walk::references(&fields)? {
            match walk::payload(store, &reference)? {
                Some(_) => self.report.payloads = self.report.payloads.saturating_add(1),
                None => {
                    let (field, digest) = (reference.field, reference.digest);
                    self.report.missing.push(MissingPayload { seq, field, digest });
                }
            }
        }
        Ok(())
    }

    /// Payloads before an event that says they were pruned may be missing. It speaks of nothing that comes after it.
    fn allow_missing(&mut self, seq: u64, fields: &Fields) {
        let upto = prune::covers(fields).unwrap_or_default().min(seq.saturating_sub(1));
        self.pruned_upto = self.pruned_upto.max(upto);
    }

    fn hold_against_heads(&self) -> Result<(), ChainFault> {
        let head = self.walk.head();
        if let Some(anchor) = self.anchors.iter().find(|anchor| anchor.seq == head.seq && anchor.hash != head.hash) {
            let problem = ChainProblem::Anchor { expected: (*anchor).clone(), reached: head.seq };
            return Err(self.fault(head.seq, problem));
        }
        let Some(signed) = &self.signed else { return Ok(()) };
        if signed.seq == head.seq && signed.hash != head.hash {
            return Err(self.fault(head.seq, ChainProblem::Signed { signed: signed.head(), reached: head.seq }));
        }
        if head.seq > signed.seq {
            return Err(self.fault(head.seq, ChainProblem::Unsigned { signed: signed.seq }));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ChainReport, ChainFault> {
        self.report.head = self.walk.head().clone();
        let reached = self.report.head.seq;
        if let Some(gone) = self.report.missing.iter().find(|gone| gone.seq > self.pruned_upto) {
            return Err(self.fault(gone.seq, ChainProblem::Gone { digest: gone.digest.clone() }));
        }
        if let Some(signed) = self.signed.take() {
            let seq = if signed.seq > reached { self.walk.due() } else { reached };
            hold_to(&signed, &self.report.head).map_err(|problem| self.fault(seq, problem))?;
            self.report.signed = Some(signed);
        }
        match self.anchors.iter().max_by_key(|anchor| anchor.seq) {
            Some(anchor) if anchor.seq > reached => {
                let problem = ChainProblem::Anchor { expected: (*anchor).clone(), reached };
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
