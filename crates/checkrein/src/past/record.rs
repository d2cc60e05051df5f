//! Recorded calls as fixtures: what a session did, to be judged again by whatever policy comes.

use std::collections::BTreeMap;

use checkrein_contract::{SessionOpened, digest_json};
use serde_json::{Map, Value, json};

use super::Past;

/// The past as fixtures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Lines of JSON: the header, then a call a line.
    pub lines: Vec<String>,
    /// Calls that are in none of them, by number: they were judged in another world than the one of the header.
    pub left: Vec<usize>,
}

/// The fixtures of the past, as lines of JSON: a header that says where it happened and on whose behalf, then a call a line,
/// each with the verdict it got from the rules of its time, what was found out for it, what it would do, and the digest of the
/// schema its tool had. Arguments are those of the journal, so no secret is in them. Only calls of the first session's world
/// are written, since a fixture file has one; the others are named.
///
/// # Errors
/// [`HarnessError`](crate::HarnessError) for a mistake in a policy.
pub fn fixtures(past: &Past) -> Result<Recorded, crate::HarnessError> {
    let Some(first) = past.opened.first() else { return Ok(Recorded::default()) };
    let place = &first.place;
    let variables: BTreeMap<_, _> = first.variables.iter().cloned().collect();
    let world = json!({
        "root": place.root, "cwd": place.cwd, "home": place.home, "identity": first.identity, "variables": variables,
    });
    let mut lines = vec![json!({ "format": "checkrein-calls-1", "world": world }).to_string()];
    let mut left = Vec::new();
    let verdicts = past.judged(None)?;
    for (number, (call, decision)) in past.calls().iter().zip(verdicts).enumerate() {
        let same = |opened: &&SessionOpened| opened.place == *place && opened.identity == first.identity;
        let Some(opened) = past.opened(call).filter(same) else {
            left.push(number);
            continue;
        };
        let mut line = Map::new();
        let effects: Vec<_> = call.decision.trace.iter().filter_map(|step| step.effect.as_ref()).collect();
        line.insert("note".to_owned(), json!(format!("{} {}", call.session, call.call)));
        line.insert("call".to_owned(), json!({ "tool": call.tool, "args": call.args }));
        line.insert("expected".to_owned(), json!(decision.verdict));
        line.insert("effects".to_owned(), json!(effects));
        if !call.facts.is_empty() {
            line.insert("facts".to_owned(), json!(call.facts));
        }
        if let Some(spec) = opened.tools.iter().find(|spec| spec.name == call.tool) {
            line.insert("schema".to_owned(), json!(digest_json(&spec.parameters)));
        }
        lines.push(Value::Object(line).to_string());
    }
    Ok(Recorded { lines, left })
}
