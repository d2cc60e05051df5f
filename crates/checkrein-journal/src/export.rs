//! Exported lines: a session as JSON lines for outsiders, who can verify them without the store.
//!
//! A line is the whole event with three more fields: `journal` (the session whose chain it is part of), `hash`, and, where
//! payloads were removed, `missing` (the fields that are references now). It exports what is stored and hides no damage
//! to the chain.

use checkrein_contract::{Event, SessionId, canonical_string};
use serde_json::Value;

use crate::body::{self, Fields, HASH, JOURNAL, MISSING, Reference};
use crate::read::for_each_row;
use crate::store::StoredRow;
use crate::verify::{ChainFault, ChainProblem};
use crate::walk;
use crate::{EventStore, JournalError};

/// The events of a session, one JSON object a line, payloads put back.
///
/// # Errors
/// [`JournalError::NoSession`]; [`JournalError::Damaged`] for an event that is no JSON or whose payload was changed.
pub fn export_lines(store: &dyn EventStore, session: &SessionId) -> Result<Vec<String>, JournalError> {
    let mut lines = Vec::new();
    for_each_row(store, session, 1, |row| {
        let unreadable = |reason| {
            let problem = ChainProblem::Unreadable { reason };
            JournalError::from(ChainFault { session: session.clone(), seq: row.seq, problem })
        };
        let mut fields = body::parse(&row.body).map_err(unreadable)?;
        let missing = walk::put_back(store, &mut fields).map_err(|trouble| trouble.into_error(session, row.seq))?;
        if !missing.is_empty() {
            let names = missing.into_iter().map(|reference| Value::String(reference.field));
            fields.insert(MISSING.to_owned(), names.collect());
        }
        fields.insert(HASH.to_owned(), row.hash.clone().into());
        fields.insert(JOURNAL.to_owned(), session.as_str().into());
        lines.push(canonical_string(&Value::Object(fields)));
        Ok::<_, JournalError>(())
    })?;
    Ok(lines)
}

/// The events of exported lines, which [`verify_export`](crate::verify_export) has found to be sound. Empty lines do not
/// count.
///
/// # Errors
/// [`JournalError::Unknown`] for an event that this version does not know, [`JournalError::MissingBlob`] for one whose
/// payload was pruned, [`JournalError::Damaged`] for what is no line.
pub fn read_export<I>(lines: I) -> Result<Vec<Event>, JournalError>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let mut events = Vec::new();
    for line in lines {
        let line = line.as_ref();
        if line.trim().is_empty() {
            continue;
        }
        let seq = u64::try_from(events.len()).unwrap_or(u64::MAX).saturating_add(1);
        let unreadable = |session: &SessionId, reason| {
            let problem = ChainProblem::Unreadable { reason };
            JournalError::from(ChainFault { session: session.clone(), seq, problem })
        };
        let Line { session, missing, .. } = Line::read(line).map_err(|why| unreadable(&SessionId::new(""), why))?;
        if let Some(gone) = missing.into_iter().next() {
            return Err(JournalError::MissingBlob { session, seq, digest: gone.digest });
        }
        let mut fields = body::parse(line).map_err(|why| unreadable(&session, why))?;
        for added in [HASH, JOURNAL, MISSING] {
            fields.remove(added);
        }
        events.push(body::decode(fields).map_err(|what| JournalError::Unknown { session, seq, what })?);
    }
    Ok(events)
}

/// An exported line, taken apart again into what was stored.
pub(crate) struct Line {
    pub(crate) session: SessionId,
    pub(crate) row: StoredRow,
    pub(crate) payloads: u64,
    pub(crate) missing: Vec<Reference>,
}

impl Line {
    /// Takes a line apart; `Err` says why it is none.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let mut fields = body::parse(line)?;
        let hash = text(&mut fields, HASH)?;
        let session = SessionId::new(text(&mut fields, JOURNAL)?);
        let missing = match fields.remove(MISSING) {
            None => Vec::new(),
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| {
                    let name = name.as_str().unwrap_or_default();
                    body::reference(name, fields.get(name).unwrap_or(&Value::Null))
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(format!("`{MISSING}` is no list")),
        };
        let names: Vec<String> = missing.iter().map(|reference| reference.field.clone()).collect();
        let seq = fields.get("seq").and_then(Value::as_u64).ok_or("`seq` is no number")?;
        let kind = fields.get("type").and_then(Value::as_str).ok_or("`type` is no text")?.to_owned();
        let encoded = body::encode_fields(&fields, &names);
        let payloads = u64::try_from(encoded.blobs.len()).unwrap_or(u64::MAX);
        Ok(Self { session, row: StoredRow { seq, kind, hash, body: encoded.text }, payloads, missing })
    }
}

fn text(fields: &mut Fields, name: &str) -> Result<String, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("`{name}` is no text")),
    }
}
