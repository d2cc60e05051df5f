//! Reading events back: rows in pages, checked, payloads put back, decoded. The same for every store.
//!
//! It never gives part of a session without saying so: the first event that is not sound or not known is an error.

use checkrein_contract::{Digest, Event, SessionId};

use crate::body::{self, Fields};
use crate::store::{FoundRow, StoredRow};
use crate::verify::{ChainFault, ChainProblem};
use crate::walk::{self, Trouble, Walk};
use crate::{EventStore, Head, JournalError};

/// Rows that are held in memory at a time while a session is walked.
const PAGE_ROWS: usize = 512;

/// Hands every row from `from_seq` on to `each`, page by page.
pub(crate) fn for_each_row<S, E>(
    store: &S,
    session: &SessionId,
    from_seq: u64,
    mut each: impl FnMut(&StoredRow) -> Result<(), E>,
) -> Result<(), E>
where
    S: EventStore + ?Sized,
    E: From<JournalError>,
{
    let mut from_seq = from_seq;
    loop {
        let rows = store.rows(session, from_seq, PAGE_ROWS)?;
        for row in &rows {
            each(row)?;
        }
        match rows.last() {
            Some(last) if rows.len() == PAGE_ROWS => from_seq = last.seq.saturating_add(1),
            _ => return Ok(()),
        }
    }
}

pub(crate) fn read_events<S>(store: &S, session: &SessionId, from_seq: u64) -> Result<Vec<Event>, JournalError>
where
    S: EventStore + ?Sized,
{
    let Some(before) = head_before(store, session, from_seq)? else { return Ok(Vec::new()) };
    let mut events = Vec::new();
    let mut walk = Walk::after(session, before);
    for_each_row(store, session, walk.due(), |row| {
        let due = walk.due();
        let fields = walk.step(row).map_err(|problem| Trouble::from(problem).into_error(session, due))?;
        events.push(whole(store, session, row.seq, fields)?);
        Ok::<_, JournalError>(())
    })?;
    Ok(events)
}

pub(crate) fn read_kinds<S>(store: &S, kinds: &[&str]) -> Result<Vec<(SessionId, Event)>, JournalError>
where
    S: EventStore + ?Sized,
{
    let found = store.rows_of_kinds(kinds)?;
    let decoded = found.into_iter().map(|FoundRow { session, before, row }| {
        let problem = |problem| JournalError::from(ChainFault { session: session.clone(), seq: row.seq, problem });
        let seq = row.seq.saturating_sub(1);
        let before = match before {
            Some(hash) => Head { seq, hash: Digest::parse(&hash).ok_or_else(|| problem(ChainProblem::Hash))? },
            // A gap before the event is found by the walk: the genesis has number 0.
            None => Head::genesis(&session),
        };
        let fields = Walk::after(&session, before).step(&row).map_err(problem)?;
        let event = whole(store, &session, row.seq, fields)?;
        Ok((session, event))
    });
    decoded.collect()
}

/// The head that the event `from_seq` was sealed onto; `None` when the chain does not reach that far.
fn head_before<S>(store: &S, session: &SessionId, from_seq: u64) -> Result<Option<Head>, JournalError>
where
    S: EventStore + ?Sized,
{
    if from_seq <= 1 {
        return Ok(Some(Head::genesis(session)));
    }
    let seq = from_seq.saturating_sub(1);
    match store.rows(session, seq, 1)?.into_iter().next() {
        Some(row) if row.seq == seq => {
            let damaged = || ChainFault { session: session.clone(), seq, problem: ChainProblem::Hash };
            Ok(Some(Head { seq, hash: Digest::parse(&row.hash).ok_or_else(damaged)? }))
        }
        Some(row) => {
            let problem = ChainProblem::Sequence { expected: seq, found: row.seq };
            Err(ChainFault { session: session.clone(), seq, problem }.into())
        }
        None => Ok(None),
    }
}

fn whole<S>(store: &S, session: &SessionId, seq: u64, mut fields: Fields) -> Result<Event, JournalError>
where
    S: EventStore + ?Sized,
{
    let missing = walk::put_back(store, &mut fields).map_err(|trouble| trouble.into_error(session, seq))?;
    if let Some(reference) = missing.into_iter().next() {
        return Err(JournalError::MissingBlob { session: session.clone(), seq, digest: reference.digest });
    }
    body::decode(fields).map_err(|what| JournalError::Unknown { session: session.clone(), seq, what })
}
