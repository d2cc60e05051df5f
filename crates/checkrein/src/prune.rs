//! Retention of the journal: which sessions are old enough, and what goes when a person says so.
//!
//! Only payloads go, and only by order of a person. The events stay, so what was decided, by which rule and by whom can be
//! proved for ever; `verify` says which events lost what.

use std::collections::BTreeSet;

use checkrein_contract::{Actor, Body, SessionId};
use checkrein_journal::{EventStore, JournalError, PRUNED, Pruned, Pruning, SessionRow};

use crate::HarnessError;
use crate::home::StateFolder;

/// Sessions by whether they are to be pruned.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Old enough.
    pub chosen: Vec<SessionRow>,
    /// Old enough, and kept because they can still be taken up again; whoever names one means it.
    pub waiting: Vec<SessionId>,
}

/// Chooses sessions whose last event is older than this, among the named ones or all. Times in milliseconds, `now` since 1970.
///
/// # Errors
/// [`HarnessError::Journal`] when the journal can not be read.
pub fn choose(store: &dyn EventStore, named: &[SessionId], older_than: u64, now: u64) -> Result<Choice, HarnessError> {
    let mut choice = Choice::default();
    for row in store.sessions()? {
        let is_named = named.contains(&row.id);
        if !(named.is_empty() || is_named) || now.saturating_sub(last_at(store, &row)?) <= older_than {
            continue;
        }
        if is_named || is_over(&row) { choice.chosen.push(row) } else { choice.waiting.push(row.id) }
    }
    Ok(choice)
}

/// Counts what pruning these sessions would remove.
///
/// # Errors
/// [`HarnessError::Journal`] when an event can not be read: nobody knows then what it refers to.
pub fn would_remove(store: &dyn EventStore, choice: &Choice) -> Result<Vec<Pruned>, HarnessError> {
    Ok(store.prune(&ids(choice), None)?)
}

/// Prunes these sessions. Each loses the payloads that no other session refers to; its chain says who ordered it and when.
///
/// # Errors
/// [`HarnessError::Busy`] while a process drives one of them; nothing was removed then.
pub fn remove(
    store: &dyn EventStore,
    home: &StateFolder,
    choice: &Choice,
    person: &str,
    now: u64,
) -> Result<Vec<Pruned>, HarnessError> {
    // One that is over is driven by nobody.
    let open = choice.chosen.iter().filter(|row| !is_over(row));
    let _taken = open.map(|row| home.take(&row.id)).collect::<Result<Vec<_>, _>>()?;
    let order = Pruning { by: Actor::Person(person.to_owned()), at: now };
    Ok(store.prune(&ids(choice), Some(&order))?)
}

/// The sessions that lost payloads: these can be verified, and not read.
///
/// # Errors
/// [`HarnessError::Journal`] when the journal can not be read.
pub fn pruned(store: &dyn EventStore) -> Result<BTreeSet<SessionId>, HarnessError> {
    let notes = store.by_kind(&["note"])?.into_iter();
    let lost = notes.filter(|(_, event)| matches!(&event.body, Body::Note(note) if note.name == PRUNED));
    Ok(lost.map(|(session, _)| session).collect())
}

/// Without sessions that lost payloads: these can be verified, and not read.
///
/// # Errors
/// [`HarnessError::Journal`] for everything else that is wrong with one.
pub(crate) fn readable<T>(read: Result<T, JournalError>) -> Result<Option<T>, HarnessError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(JournalError::MissingBlob { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn ids(choice: &Choice) -> Vec<SessionId> {
    let ids: BTreeSet<&SessionId> = choice.chosen.iter().map(|row| &row.id).collect();
    ids.into_iter().cloned().collect()
}

/// Nobody takes it up again. One that was watched through a hook never stops, and is never driven by us.
fn is_over(row: &SessionRow) -> bool {
    row.model.starts_with("hook:") || row.status.is_some_and(|status| !status.can_resume())
}

/// The time of its last event, or of its creation.
fn last_at(store: &dyn EventStore, row: &SessionRow) -> Result<u64, HarnessError> {
    let last = store.rows(&row.id, row.head.seq, 1)?.into_iter().next();
    Ok(last.and_then(|last| last.at()).unwrap_or(row.created_at))
}
