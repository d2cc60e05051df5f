//! What is said of a request that nothing is recorded for: the key, the row that is nearest, and the first place where both
//! differ.

use checkrein_contract::{Difference, Lane, first_difference};
use serde_json::{Map, Value};

use super::file::Cassette;
use super::position::Position;
use super::request::{in_order, key, messages};

/// Digits of a key that are shown.
const DIGITS: usize = 12;

/// A request that was missed.
pub(crate) fn miss(cassette: &Cassette, lane: &Lane, position: &Position, request: &Map<String, Value>) -> String {
    let computed = key(lane, request);
    let mut said = format!("nothing is recorded for this request on lane {lane}: key {}", short(computed.as_str()));
    let rows = cassette.lane(lane);
    if rows.is_empty() {
        let lanes: Vec<&str> = cassette.lanes().map(|(lane, _)| lane.as_str()).collect();
        return format!("{said}; the cassette has the lanes {}", lanes.join(", "));
    }
    if let Some(used) = rows.iter().find(|row| row.exchange.key == computed) {
        let (n, line) = (used.exchange.n, used.line);
        return format!("{said}, which is that of row {n} (line {line}), and that row has answered already");
    }
    let mut nearest: Option<(usize, usize, Map<String, Value>)> = None;
    cassette.walk::<()>(lane, |line, recorded| {
        let index = line.exchange.n - 1;
        let near = alike(recorded, request) * 2 + usize::from(!position.is_used(index));
        if nearest.as_ref().is_none_or(|(best, ..)| near > *best) {
            nearest = Some((near, index, recorded.clone()));
        }
        None
    });
    let Some((_, index, recorded)) = nearest else { return said };
    if let Some(row) = rows.get(index) {
        let (n, line, key) = (row.exchange.n, row.line, short(row.exchange.key.as_str()));
        said.push_str(&format!("; the nearest is row {n} (line {line}), key {key}"));
    }
    if let Some(difference) = first(&recorded, request) {
        let Difference { pointer, expected, found } = difference;
        said.push_str(&format!("; they differ first at {pointer}: recorded {expected}, now {found}"));
        said.push_str(&result(request, &pointer));
    }
    match rows.len() - index - 1 {
        0 => {}
        1 => said.push_str("; one row follows it"),
        more => said.push_str(&format!("; {more} rows follow it")),
    }
    said
}

fn short(key: &str) -> &str {
    key.get(..DIGITS).unwrap_or(key)
}

/// How much of two requests is the same: messages from the first on, and the other fields.
fn alike(a: &Map<String, Value>, b: &Map<String, Value>) -> usize {
    let same = messages(a).iter().zip(messages(b)).take_while(|(a, b)| a == b).count();
    // Whether one is longer than the other says less than any message that is the same.
    let lengths = usize::from(messages(a).len() == messages(b).len());
    let fields = a.iter().filter(|(field, value)| *field != "messages" && b.get(*field) == Some(*value)).count();
    same * 100 + lengths * 50 + fields
}

/// The first difference, those first that explain others.
pub(crate) fn first(recorded: &Map<String, Value>, now: &Map<String, Value>) -> Option<Difference> {
    in_order(recorded.keys().chain(now.keys())).into_iter().find_map(|field| {
        let both = [recorded.get(field), now.get(field)];
        let of = |value: Option<&Value>| {
            Value::Object(value.map(|value| (field.clone(), value.clone())).into_iter().collect())
        };
        first_difference(&of(both[0]), &of(both[1]))
    })
}

/// Which call a difference is the result of.
fn result(request: &Map<String, Value>, pointer: &str) -> String {
    let mut parts = pointer.split('/').skip(1);
    let (Some("messages"), Some(message), Some("results"), Some(result)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return String::new();
    };
    let at = format!("/{message}/results/{result}");
    let all = Value::Array(messages(request).to_vec());
    match all.pointer(&at).map(|result| (&result["tool"], &result["call"])) {
        Some((Value::String(tool), Value::String(call))) => format!(" (the result of {tool}, {call})"),
        _ => String::new(),
    }
}
