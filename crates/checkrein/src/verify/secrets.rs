//! I7: nothing in the log has the shape of a secret.

use checkrein_gate::redact_value;

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    for event in journal.events {
        let value = serde_json::to_value(event).map_err(|error| Problem::at(event, error.to_string()))?;
        if redact_value(value.clone()) != value {
            return Err(Problem::at(event, "it holds something shaped like a secret"));
        }
    }
    Ok(())
}
