//! The walk along a chain: each row is held against the one before it, and each payload against its digest.
//!
//! Reading, verifying and checking an export all take this one walk, so that they can not disagree about what is sound. It
//! changes nothing and repairs nothing.

use checkrein_contract::{Digest, SessionId, canonical_string};
use serde_json::Value;

use crate::body::{self, Fields, Reference};
use crate::chain::Chain;
use crate::store::StoredRow;
use crate::verify::{ChainFault, ChainProblem};
use crate::{EventStore, Head, JournalError};

/// Why a step was not possible: the store failed, or what it holds is wrong.
pub(crate) enum Trouble {
    Store(JournalError),
    Problem(ChainProblem),
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::Store(error)
    }
}

impl From<ChainProblem> for Trouble {
    fn from(problem: ChainProblem) -> Self {
        Self::Problem(problem)
    }
}

impl Trouble {
    /// As the finding of a verification.
    pub(crate) fn into_fault(self, session: &SessionId, seq: u64) -> ChainFault {
        let problem = match self {
            Self::Store(error) => ChainProblem::Store { reason: error.to_string() },
            Self::Problem(problem) => problem,
        };
        ChainFault { session: session.clone(), seq, problem }
    }

    /// As the error of whoever reads.
    pub(crate) fn into_error(self, session: &SessionId, seq: u64) -> JournalError {
        match self {
            Self::Store(error) => error,
            Self::Problem(_) => self.into_fault(session, seq).into(),
        }
    }
}

/// A walk along one session's chain.
pub(crate) struct Walk {
    chain: Chain,
}

impl Walk {
    /// A walk that begins after this head.
    pub(crate) fn after(session: &SessionId, head: Head) -> Self {
        Self { chain: Chain::from(session, head) }
    }

    /// Where it stands.
    pub(crate) fn head(&self) -> &Head {
        &self.chain.head
    }

    /// The number of the next event.
    pub(crate) fn due(&self) -> u64 {
        self.chain.head.seq.saturating_add(1)
    }

    /// Takes one step: number, hash, and that the columns say what the text says. Gives the fields, references in place.
    pub(crate) fn step(&mut self, row: &StoredRow) -> Result<Fields, ChainProblem> {
        if row.seq != self.due() {
            return Err(ChainProblem::Sequence { expected: self.due(), found: row.seq });
        }
        let hash = self.chain.hash_of_next(&row.body);
        if hash.as_str() != row.hash {
            return Err(ChainProblem::Hash);
        }
        let fields = body::parse(&row.body).map_err(|reason| ChainProblem::Unreadable { reason })?;
        if fields.get("type").and_then(Value::as_str) != Some(row.kind.as_str()) {
            return Err(ChainProblem::Column { column: "kind" });
        }
        if fields.get("seq").and_then(Value::as_u64) != Some(row.seq) {
            return Err(ChainProblem::Column { column: "seq" });
        }
        // Also finds a name that stands twice: of two values one reader takes the first and another the last.
        let said = Value::Object(fields);
        if canonical_string(&said) != row.body {
            return Err(ChainProblem::Spelling);
        }
        let Value::Object(fields) = said else { return Err(ChainProblem::Spelling) };
        self.chain.advance(hash);
        Ok(fields)
    }
}

/// The references among an event's fields.
pub(crate) fn references(fields: &Fields) -> Result<Vec<Reference>, ChainProblem> {
    body::references(fields).map_err(|reason| ChainProblem::Unreadable { reason })
}

/// The text behind a reference, checked; `None` when the payload is gone.
pub(crate) fn payload<S: EventStore + ?Sized>(store: &S, reference: &Reference) -> Result<Option<String>, Trouble> {
    let Some(bytes) = store.blob(&reference.digest)? else { return Ok(None) };
    let intact = Digest::of(&bytes) == reference.digest && u64::try_from(bytes.len()) == Ok(reference.bytes);
    match String::from_utf8(bytes) {
        Ok(text) if intact => Ok(Some(text)),
        _ => Err(ChainProblem::Payload { digest: reference.digest.clone() }.into()),
    }
}

/// Puts the payloads back into an event's fields; gives the references whose payloads are gone, which stay in place.
pub(crate) fn put_back<S: EventStore + ?Sized>(store: &S, fields: &mut Fields) -> Result<Vec<Reference>, Trouble> {
    let mut missing = Vec::new();
    for reference in references(fields)? {
        let Some(text) = payload(store, &reference)? else {
            missing.push(reference);
            continue;
        };
        let value = serde_json::from_str(&text)
            .map_err(|error| ChainProblem::Unreadable { reason: format!("field `{}`: {error}", reference.field) })?;
        fields.insert(reference.field, value);
    }
    Ok(missing)
}
