//! I7: nothing in the log has the shape of a secret.
//!
//! A journal is held against the detectors that it was written under. What later ones find in it is told, and is no fault of the
//! journal: nobody could have known.

use checkrein_contract::{Body, Event};
use checkrein_gate::{DETECTORS, redact_value};

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    if journal.opened.detectors != DETECTORS {
        return Ok(());
    }
    match first(journal.events)? {
        Some(event) => Err(Problem::at(event, "it holds something shaped like a secret")),
        None => Ok(()),
    }
}

/// What the detectors of today find in a journal that was written under others.
pub(super) fn later(events: &[Event]) -> Option<String> {
    let Some(Body::Session(opened)) = events.first().map(|event| &event.body) else { return None };
    if opened.detectors == DETECTORS {
        return None;
    }
    let event = first(events).ok().flatten()?;
    let version = if opened.detectors.is_empty() { "1" } else { &opened.detectors };
    Some(format!(
        "event {} holds something shaped like a secret by detectors {DETECTORS}, and was recorded under {version}",
        event.seq
    ))
}

fn first(events: &[Event]) -> Result<Option<&Event>, Problem> {
    for event in events {
        let value = serde_json::to_value(event).map_err(|error| Problem::at(event, error.to_string()))?;
        if redact_value(value.clone()) != value {
            return Ok(Some(event));
        }
    }
    Ok(None)
}
