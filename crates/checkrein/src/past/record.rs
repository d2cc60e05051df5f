//! Recorded calls as fixtures: what a session did, to be judged again by whatever policy comes.

use checkrein_contract::digest_json;
use serde_json::{Map, Value, json};

use super::Past;

/// The fixtures of the past, as lines of JSON: a header that says where it happened, then a call a line, each with the
/// verdict it got from the rules of its time, what was found out for it, what it would do, and the digest of the schema its
/// tool had. Arguments are those of the journal, so no secret is in them. Only calls of the first session's place are
/// written; a fixture file has one world.
pub fn fixtures(past: &Past) -> Result<Vec<String>, crate::HarnessError> {
    let Some(opened) = past.opened.first() else { return Ok(Vec::new()) };
    let place = &opened.place;
    let world = json!({ "root": place.root, "cwd": place.cwd, "home": place.home });
    let mut lines = vec![json!({ "format": "checkrein-calls-1", "world": world }).to_string()];
    let verdicts = past.judged(None)?;
    for (call, decision) in past.calls().iter().zip(verdicts) {
        let Some(opened) = past.opened(call).filter(|opened| opened.place == *place) else { continue };
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
    Ok(lines)
}
