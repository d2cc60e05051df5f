//! A request as a cassette keeps it: canonical, without secrets and places; its key; and what it has beside the one before it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein_contract::{Digest, Lane, Message, ModelRequest, canonical_string};
use serde_json::{Map, Value};

use super::Scrub;
use super::row::Change;

/// The field that only grows.
const MESSAGES: &str = "messages";

/// Makes of requests what is kept of them. A request of a long session has the messages of all those before it again, so what
/// was made of a message is kept with it.
pub(crate) struct Keeper {
    scrub: Arc<dyn Scrub>,
    lanes: Mutex<BTreeMap<Lane, Hidden>>,
}

/// The last request of a lane, and what is kept of it.
#[derive(Default)]
struct Hidden {
    messages: Vec<(Arc<Message>, Value)>,
    /// Everything but the messages.
    rest: Value,
    kept: Map<String, Value>,
}

impl Keeper {
    pub(crate) fn new(scrub: Arc<dyn Scrub>) -> Self {
        Self { scrub, lanes: Mutex::default() }
    }

    /// The request, as it is kept. Whatever serializes of it counts: a field that is new counts by itself.
    pub(crate) fn kept(&self, request: &ModelRequest) -> Map<String, Value> {
        let bare = ModelRequest { messages: Vec::new(), ..request.clone() };
        let rest = serde_json::to_value(&bare).unwrap_or_default();
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden = lanes.entry(request.lane.clone()).or_default();
        if hidden.rest != rest {
            hidden.kept = match self.scrub.hide(rest.clone()) {
                Value::Object(fields) => fields,
                // A request is an object by its type.
                _ => Map::new(),
            };
            hidden.rest = rest;
        }
        let both = hidden.messages.iter().zip(&request.messages);
        let same = both.take_while(|((before, _), now)| Arc::ptr_eq(before, now) || before == *now).count();
        hidden.messages.truncate(same);
        for message in request.messages.iter().skip(same) {
            let kept = self.scrub.hide(serde_json::to_value(&**message).unwrap_or_default());
            hidden.messages.push((Arc::clone(message), kept));
        }
        let mut fields = hidden.kept.clone();
        fields.insert(MESSAGES.to_owned(), hidden.messages.iter().map(|(_, kept)| kept.clone()).collect());
        fields
    }
}

/// Lane and whole request in one digest.
pub(crate) fn key(lane: &Lane, request: &Map<String, Value>) -> Digest {
    // No lane holds a line end, so the border is clear.
    let text = canonical_string(&Value::Object(request.clone()));
    Digest::of_parts(&[lane.as_str().as_bytes(), b"\n", text.as_bytes()])
}

pub(crate) fn messages(request: &Map<String, Value>) -> &[Value] {
    request.get(MESSAGES).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What a request has beside the one before it.
pub(crate) fn change(before: Option<&Map<String, Value>>, request: &Map<String, Value>) -> Change {
    let whole = || Change::Whole { whole: request.clone() };
    let Some(before) = before else { return whole() };
    let Some(more) = messages(request).strip_prefix(messages(before)) else { return whole() };
    // What a model reads first; where it moved, everything behind it is read anew.
    if ["system", "tools", "model"].iter().any(|field| before.get(*field) != request.get(*field)) {
        return whole();
    }
    if before.keys().any(|field| !request.contains_key(field)) {
        return whole();
    }
    let other = |(field, value): &(&String, &Value)| *field != MESSAGES && before.get(*field) != Some(*value);
    let set = request.iter().filter(other).map(|(field, value)| (field.clone(), value.clone())).collect();
    Change::More { more: more.to_vec(), set }
}

/// The request again. `None` where there is nothing that it could have more than.
pub(crate) fn changed(before: Option<Map<String, Value>>, change: &Change) -> Option<Map<String, Value>> {
    match change {
        Change::Whole { whole } => Some(whole.clone()),
        Change::More { more, set } => {
            let mut request = before?;
            request.get_mut(MESSAGES)?.as_array_mut()?.extend(more.iter().cloned());
            request.extend(set.clone());
            Some(request)
        }
    }
}

/// The fields of a request, those that explain others first.
pub(crate) fn in_order<'a>(fields: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    const FIRST: [&str; 5] = ["model", "system", "tools", "tool_choice", MESSAGES];
    let mut fields: Vec<&String> = fields.collect();
    fields.sort_by_key(|field| (FIRST.iter().position(|first| first == field).unwrap_or(FIRST.len()), *field));
    fields.dedup();
    fields
}
