//! How far a lane of a cassette has come. It travels in `provider` of replies and requests, beside what the recorded model
//! wants back, so that the next process knows it too; recording writes the same, so that both leave the same log.

use std::collections::BTreeMap;
use std::fmt;

use checkrein_contract::Lane;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Its place in `provider`.
const NAME: &str = "cassette";
/// The place of what is no object by itself.
const INNER: &str = "inner";

/// The rows of a lane that are used: those before `at`, but for those that were passed over. Counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Position {
    at: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed: Vec<usize>,
    /// Where what happened parted from what is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<Differs>,
}

/// What came out otherwise than it is recorded, on one lane. All that follows a difference holds it, so the first one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Differs {
    /// The first difference.
    first: String,
    /// How many turns behind it are others too.
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.more {
            0 => f.write_str(&self.first),
            1 => write!(f, "{}; one later turn differs too", self.first),
            more => write!(f, "{}; {more} later turns differ too", self.first),
        }
    }
}

impl Position {
    /// Behind this many rows.
    pub(crate) fn behind(rows: usize) -> Self {
        Self { at: rows, ..Self::default() }
    }

    /// What stands in `provider`, and what the model itself wants back.
    ///
    /// # Errors
    /// Why it is no position.
    pub(crate) fn read(provider: &Value) -> Result<(Self, Value), String> {
        let Value::Object(fields) = provider else { return Ok((Self::default(), provider.clone())) };
        let mut fields = fields.clone();
        let position = fields.remove(NAME).map(Self::deserialize).transpose().map_err(|error| error.to_string())?;
        let Some(position) = position else { return Ok((Self::default(), provider.clone())) };
        let inner = match (fields.get(INNER), fields.len()) {
            (Some(inner), 1) => inner.clone(),
            (_, 0) => Value::Null,
            _ => Value::Object(fields),
        };
        Ok((position, inner))
    }

    /// What the model itself wants back.
    pub(crate) fn inner(provider: &Value) -> Value {
        Self::read(provider).map_or(Value::Null, |(_, inner)| inner)
    }

    /// What each lane of the model itself wants back.
    pub(crate) fn inner_of(lanes: &BTreeMap<Lane, Value>) -> BTreeMap<Lane, Value> {
        lanes.iter().map(|(lane, provider)| (lane.clone(), Self::inner(provider))).collect()
    }

    /// Both together.
    pub(crate) fn with(&self, inner: Value) -> Value {
        let mut fields = match inner {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => Map::from_iter([(INNER.to_owned(), other)]),
        };
        fields.insert(NAME.to_owned(), json!(self));
        Value::Object(fields)
    }

    /// How many rows were answered before, where none was passed over: in a recording.
    pub(crate) fn rows(&self) -> usize {
        self.at
    }

    pub(crate) fn is_used(&self, row: usize) -> bool {
        row < self.at && !self.passed.contains(&row)
    }

    /// Something came out otherwise than it is recorded.
    pub(crate) fn parts(&mut self, what: String) {
        match &mut self.differs {
            Some(differs) => differs.more += 1,
            None => self.differs = Some(Differs { first: what, more: 0 }),
        }
    }

    /// Where what happened parted from what is recorded.
    pub(crate) fn differs(&self) -> Option<&Differs> {
        self.differs.as_ref()
    }

    /// This row is used.
    pub(crate) fn use_row(&mut self, row: usize) {
        self.passed.retain(|passed| *passed != row);
        if row >= self.at {
            self.passed.extend(self.at..row);
            self.at = row + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_in_any_order() {
        let mut position = Position::default();
        position.use_row(2);
        position.use_row(0);
        let used: Vec<bool> = (0..4).map(|row| position.is_used(row)).collect();
        assert_eq!(used, [true, false, true, false]);
        position.use_row(1);
        assert_eq!(position, Position::behind(3));
    }

    #[test]
    fn what_the_model_wants_back_stands_beside_it() {
        for inner in [Value::Null, json!({ "wire": [1] }), json!([1]), json!({ "inner": 1, "x": 2 })] {
            let both = Position::behind(4).with(inner.clone());
            assert_eq!(Position::read(&both).unwrap(), (Position::behind(4), inner.clone()));
            assert_eq!(Position::read(&inner).unwrap(), (Position::default(), inner));
        }
        assert!(Position::read(&json!({ "cassette": { "at": "x" } })).is_err());
    }
}
