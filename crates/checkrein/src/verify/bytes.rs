//! I9: equal inputs, equal bytes. An event has one spelling, and says the same when it is read back from it. That its
//! stored bytes are that spelling is checked with the chain.

use checkrein_contract::{Event, canonical_string};
use serde_json::Value;

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    for event in journal.events {
        let said = |error: serde_json::Error| Problem::at(event, format!("its own bytes do not say it: {error}"));
        // Not by way of a map: in one, a name that stands twice would have come down to one of its two values.
        let again: Event = serde_json::from_str(&serde_json::to_string(event).map_err(said)?).map_err(said)?;
        // A whole float comes back as an integer: another value, and the same bytes.
        if again != *event && spelled(&again)? != spelled(event)? {
            return Err(Problem::at(event, "read back from its own bytes, it says something else"));
        }
    }
    Ok(())
}

fn spelled(event: &Event) -> Result<String, Problem> {
    let value: Value = serde_json::to_value(event).map_err(|error| Problem::at(event, error.to_string()))?;
    Ok(canonical_string(&value))
}
