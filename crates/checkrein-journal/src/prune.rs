//! Pruning: which payloads only some sessions refer to, and the note in the chain that says they went.
//!
//! Links are never removed, so a pruned chain is as sound as before. What is gone is told from what somebody took away by
//! the note: it stands in the chain after what it speaks of. Nothing here touches a store.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{Actor, Body, Digest, EVENT_VERSION, Event, Note, SessionId};
use serde_json::{Map, Value};

use crate::body::{self, Fields};
use crate::store::StoredRow;
use crate::verify::{ChainFault, ChainProblem};
use crate::{Head, JournalError};

/// The name of the note in the chain of a session that lost payloads.
pub const PRUNED: &str = "pruned";
/// Its field: the last event that it speaks of.
const UPTO: &str = "upto";

/// An order to prune: who gave it and when, as the note will say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// Who.
    pub by: Actor,
    /// When, milliseconds since 1970.
    pub at: u64,
}

/// What one session loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The session.
    pub session: SessionId,
    /// Payloads that it can not be read without.
    pub payloads: u64,
    /// Their bytes. One that two sessions lose is counted with both.
    pub bytes: u64,
}

/// Who refers to what, while the rows of all sessions go by.
pub(crate) struct References<'a> {
    chosen: BTreeSet<&'a SessionId>,
    of_chosen: BTreeMap<SessionId, BTreeSet<Digest>>,
    of_others: BTreeSet<Digest>,
}

impl<'a> References<'a> {
    /// Of these sessions, and of all others.
    pub(crate) fn of(sessions: &'a [SessionId]) -> Self {
        Self { chosen: sessions.iter().collect(), of_chosen: BTreeMap::new(), of_others: BTreeSet::new() }
    }

    /// Looks at one row.
    pub(crate) fn see(&mut self, session: SessionId, row: &StoredRow) -> Result<(), JournalError> {
        let found = body::parse(&row.body).and_then(|fields| body::references(&fields));
        let damaged = |reason| ChainFault {
            session: session.clone(),
            seq: row.seq,
            problem: ChainProblem::Unreadable { reason },
        };
        let digests = found.map_err(damaged)?.into_iter().map(|reference| reference.digest);
        if self.chosen.contains(&session) {
            self.of_chosen.entry(session).or_default().extend(digests);
        } else {
            self.of_others.extend(digests);
        }
        Ok(())
    }

    /// What each of the chosen sessions loses: what no other session refers to. `bytes_of` knows how large a payload is
    /// that is still there.
    pub(crate) fn losses<E>(
        self,
        mut bytes_of: impl FnMut(&Digest) -> Result<Option<u64>, E>,
    ) -> Result<(Vec<Pruned>, BTreeSet<Digest>), E> {
        let (mut losses, mut doomed) = (Vec::new(), BTreeSet::new());
        for (session, digests) in self.of_chosen {
            let mut loss = Pruned { session, payloads: 0, bytes: 0 };
            for digest in digests.into_iter().filter(|digest| !self.of_others.contains(digest)) {
                let Some(bytes) = bytes_of(&digest)? else { continue };
                loss.payloads = loss.payloads.saturating_add(1);
                loss.bytes = loss.bytes.saturating_add(bytes);
                doomed.insert(digest);
            }
            if loss.payloads > 0 {
                losses.push(loss);
            }
        }
        Ok((losses, doomed))
    }
}

/// The event that says what a session lost.
pub(crate) fn note(head: &Head, loss: &Pruned, order: &Pruning) -> Event {
    let number = |number: u64| Value::from(number);
    let fields: Map<String, Value> = [
        (UPTO.to_owned(), number(head.seq)),
        ("payloads".to_owned(), number(loss.payloads)),
        ("bytes".to_owned(), number(loss.bytes)),
    ]
    .into_iter()
    .collect();
    let body = Body::Note(Note { name: PRUNED.to_owned(), fields });
    Event { v: EVENT_VERSION, seq: head.seq.saturating_add(1), at: order.at, by: order.by.clone(), body }
}

/// Up to which event payloads may be missing, if these fields are such a note.
pub(crate) fn covers(fields: &Fields) -> Option<u64> {
    let said = |name: &str, value: &str| fields.get(name).and_then(Value::as_str) == Some(value);
    if said("type", "note") && said("name", PRUNED) { fields.get(UPTO).and_then(Value::as_u64) } else { None }
}
