//! What is left when a session is over: rows that nothing asked for, and what came out otherwise than it is recorded.

use std::collections::BTreeMap;

use checkrein_contract::{Lane, ProviderError, ProviderFault};
use serde_json::Value;

use super::file::{Cassette, Line};
use super::position::Position;
use super::row::{Exchange, Outcome};

impl Cassette {
    /// Which rows of a lane nothing asked for; nothing where all were.
    pub(crate) fn unused(&self, lane: &Lane, position: &Position) -> Option<String> {
        self.left(lane, position, |_| true)
    }

    fn left(&self, lane: &Lane, position: &Position, counts: impl Fn(&Exchange) -> bool) -> Option<String> {
        let open = |(index, row): &(usize, &Line)| !position.is_used(*index) && counts(&row.exchange);
        let rows = self.lane(lane).iter().enumerate().filter(open);
        let rows: Vec<String> = rows.map(|(_, row)| format!("row {} (line {})", row.exchange.n, row.line)).collect();
        let why = format!("the session ended before all of lane {lane} was asked for: {}", rows.join(", "));
        (!rows.is_empty()).then_some(why)
    }
}

/// Whether an attempt says what the model answers. How often a server was busy does not.
pub(crate) fn answers(exchange: &Exchange) -> bool {
    match &exchange.outcome {
        Outcome::Reply(_) => true,
        Outcome::Failed(failure) => !failure.fault.can_retry(),
    }
}

/// What came out otherwise than it is recorded, on any lane. `lanes` are those that there were, with what was handed back last
/// on them.
pub(crate) fn differences(cassette: &Cassette, name: &str, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
    let failed = |fault, message| ProviderError { fault, message, retry_after_ms: None, provider: Value::Null };
    let mut said = Vec::new();
    let mut positions = BTreeMap::new();
    for (lane, provider) in lanes {
        let (position, _) = Position::read(provider).map_err(|why| {
            let why = format!("{name}: the recorded position can not be read: {why}");
            failed(ProviderFault::CassetteBroken, why)
        })?;
        said.extend(position.differs().map(ToString::to_string));
        positions.insert(lane, position);
    }
    let none = Position::default();
    for (lane, _) in cassette.lanes() {
        said.extend(cassette.left(lane, positions.get(lane).unwrap_or(&none), answers));
    }
    if said.is_empty() {
        return Ok(());
    }
    let message = format!("{name}: what is recorded and what happened are not the same: {}", said.join("; "));
    Err(failed(ProviderFault::CassetteDiffers, message))
}
