//! Two recordings of the same thing, turn by turn: what a person reads before the newer one takes the place of the older.

use std::collections::BTreeSet;

use checkrein_contract::{Difference, Lane, first_difference};
use serde_json::{Map, Value};

use super::file::{Cassette, Line};
use super::miss::first;
use super::row::Outcome;

/// What is different between two recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The model that was asked, then and now, where it is another.
    pub model: Option<(String, String)>,
    /// The turns that are different, in the order of lanes.
    pub turns: Vec<Turn>,
}

/// A turn that is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its name: lane and row, as `main:2`.
    pub name: String,
    /// What is different, a line each.
    pub what: Vec<String>,
    /// Another request or reply: later requests hold it, and so this turn and all others of this kind are taken together.
    /// Tokens alone are no such thing.
    pub tied: bool,
}

impl Changes {
    /// Whether a replay of both is the same.
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.turns.is_empty()
    }
}

/// What is different in `new`. How the bytes of an answer came, times and what a provider alone reads are no difference.
pub fn changes(old: &Cassette, new: &Cassette) -> Changes {
    let (then, now) = (&old.header().model, &new.header().model);
    let model = (then != now).then(|| (then.clone(), now.clone()));
    let lanes: BTreeSet<&Lane> = old.lanes().chain(new.lanes()).map(|(lane, _)| lane).collect();
    let mut turns = Vec::new();
    for lane in lanes {
        let rows = old.lane(lane).len().max(new.lane(lane).len());
        let (then, now) = (old.requests(lane), new.requests(lane));
        for index in 0..rows {
            let mut what = match (then.get(index), now.get(index)) {
                (Some(then), Some(now)) => of_rows((then.0, &then.1), (now.0, &now.1)),
                (Some((then, _)), None) => vec![format!("gone: {}", told(then))],
                (None, Some((now, _))) => vec![format!("new: {}", told(now))],
                (None, None) => Vec::new(),
            };
            what.extend(of_calls(old, new, lane, index));
            let tied = !same(old.lane(lane).get(index), new.lane(lane).get(index));
            if !what.is_empty() {
                turns.push(Turn { name: turn(lane, index), what, tied });
            }
        }
    }
    Changes { model, turns }
}

fn of_rows(then: (&Line, &Map<String, Value>), now: (&Line, &Map<String, Value>)) -> Vec<String> {
    let request = first(&without_model(then.1.clone()), &without_model(now.1.clone()));
    let reply = first_difference(&told_by(&then.0.exchange.outcome), &told_by(&now.0.exchange.outcome));
    let request = request.map(|difference| format!("request {}", of(&difference)));
    request.into_iter().chain(reply.map(|difference| format!("reply {}", of(&difference)))).collect()
}

/// Calls whose results a turn shows first, or showed.
fn of_calls(old: &Cassette, new: &Cassette, lane: &Lane, index: usize) -> Vec<String> {
    let (before, after) = (old.calls(lane, index), new.calls(lane, index));
    let mut said = Vec::new();
    for tool in &after {
        let name = &tool.tool;
        match before.iter().find(|then| then.call == tool.call) {
            None => said.push(format!("{}: new: {name}", tool.call)),
            Some(then) if then.args != tool.args || then.tool != tool.tool => {
                said.push(format!("{}: {name} is called otherwise", tool.call));
            }
            Some(then) if then != tool => said.push(format!("{}: {name} has another result", tool.call)),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|then| !after.iter().any(|now| now.call == then.call));
    said.extend(gone.map(|tool| format!("{}: gone: {}", tool.call, tool.tool)));
    said
}

/// Whether later requests can not tell one row from the other.
fn same(then: Option<&Line>, now: Option<&Line>) -> bool {
    let (Some(then), Some(now)) = (then, now) else { return false };
    let (then, now) = (&then.exchange, &now.exchange);
    then.key == now.key
        && match (&then.outcome, &now.outcome) {
            (Outcome::Reply(then), Outcome::Reply(now)) => (&then.blocks, then.stop) == (&now.blocks, now.stop),
            (Outcome::Failed(then), Outcome::Failed(now)) => then.fault == now.fault,
            _ => false,
        }
}

/// A row as a person names it, from 0 here and from 1 there: `main:2`.
pub(crate) fn turn(lane: &Lane, index: usize) -> String {
    format!("{lane}:{}", index + 1)
}

/// The model is in every request, and is said once.
pub(crate) fn without_model(mut request: Map<String, Value>) -> Map<String, Value> {
    request.remove("model");
    request
}

pub(crate) fn of(difference: &Difference) -> String {
    let Difference { pointer, expected, found } = difference;
    format!("{pointer}: was {expected}, is {found}")
}

/// What of an outcome a session can tell.
pub(crate) fn told_by(outcome: &Outcome) -> Value {
    let mut value = serde_json::to_value(outcome).unwrap_or_default();
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
