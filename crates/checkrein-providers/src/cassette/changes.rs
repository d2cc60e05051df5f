//! Two recordings of the same thing, turn by turn: what a person reads before the newer one takes the place of the older.

use std::collections::BTreeSet;

use checkrein_contract::{Difference, Lane, first_difference};
use serde_json::Value;

use super::file::{Cassette, Line};
use super::miss::first;
use super::row::Outcome;

/// What is different in `new`, a line each, in the order of the file; nothing where a replay of both is the same. How the bytes
/// of an answer came, times and what a provider alone reads are no difference.
pub fn changes(old: &Cassette, new: &Cassette) -> Vec<String> {
    let mut said = Vec::new();
    if old.header().model != new.header().model {
        said.push(format!("the model was {} and is {}", old.header().model, new.header().model));
    }
    let lanes: BTreeSet<&Lane> = old.lanes().chain(new.lanes()).map(|(lane, _)| lane).collect();
    for lane in lanes {
        let (before, after) = (old.lane(lane), new.lane(lane));
        for index in 0..before.len().max(after.len()) {
            let name = format!("{lane} {}", index + 1);
            match (before.get(index), after.get(index)) {
                (Some(then), Some(now)) => {
                    let requests = (old.request(lane, index), new.request(lane, index));
                    if let (Some(then), Some(now)) = requests
                        && let Some(difference) = first(&without_model(then), &without_model(now))
                    {
                        said.push(format!("{name}: request {}", of(&difference)));
                    }
                    if let Some(difference) = first_difference(&outcome(then), &outcome(now)) {
                        said.push(format!("{name}: reply {}", of(&difference)));
                    }
                }
                (Some(then), None) => said.push(format!("{name}: gone: {}", told(then))),
                (None, Some(now)) => said.push(format!("{name}: new: {}", told(now))),
                (None, None) => {}
            }
        }
    }
    for tool in new.tools() {
        let then = old.tools().iter().find(|then| (&then.lane, &then.call) == (&tool.lane, &tool.call));
        match then {
            None => said.push(format!("{} {}: new: {}", tool.lane, tool.call, tool.tool)),
            Some(then) if then.args != tool.args || then.tool != tool.tool => {
                said.push(format!("{} {}: {} is called otherwise", tool.lane, tool.call, tool.tool));
            }
            Some(then) if then != tool => {
                said.push(format!("{} {}: {} has another result", tool.lane, tool.call, tool.tool));
            }
            Some(_) => {}
        }
    }
    let gone = old
        .tools()
        .iter()
        .filter(|then| !new.tools().iter().any(|now| (&now.lane, &now.call) == (&then.lane, &then.call)));
    said.extend(gone.map(|tool| format!("{} {}: gone: {}", tool.lane, tool.call, tool.tool)));
    said
}

/// The model is in every request, and is said once.
fn without_model(mut request: serde_json::Map<String, Value>) -> serde_json::Map<String, Value> {
    request.remove("model");
    request
}

fn of(difference: &Difference) -> String {
    let Difference { pointer, expected, found } = difference;
    format!("{pointer}: was {expected}, is {found}")
}

/// What of an outcome a session can tell.
fn outcome(line: &Line) -> Value {
    let mut value = serde_json::to_value(&line.exchange.outcome).unwrap_or_default();
    for at in ["/reply", "/failed"] {
        if let Some(Value::Object(fields)) = value.pointer_mut(at) {
            fields.remove("provider");
            fields.remove("said");
        }
    }
    value
}

fn told(line: &Line) -> String {
    match &line.exchange.outcome {
        Outcome::Reply(reply) => serde_json::to_string(&reply.blocks).unwrap_or_default().chars().take(160).collect(),
        Outcome::Failed(failure) => failure.message.clone(),
    }
}
