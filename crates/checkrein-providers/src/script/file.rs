//! The script file as people write it: shapes for the parser and nothing else. What the shapes can not say is checked
//! in `load`.

use std::fmt;
use std::num::NonZeroUsize;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Repeat;
use super::delivery::{CutBy, Ids};

/// The whole file. TOML knows where a value stands and JSON does not, hence the two parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFile<V, S> {
    pub(super) version: V,
    #[serde(default = "Vec::new")]
    pub(super) step: Vec<S>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepFile {
    pub(super) sub: Option<u32>,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<CallFile>,
    pub(super) when: Option<WhenFile>,
    #[serde(rename = "else")]
    pub(super) otherwise: Option<bool>,
    pub(super) error: Option<ErrorFile>,
    pub(super) cut_after: Option<usize>,
    pub(super) cut_by: Option<CutBy>,
    pub(super) delay_ms: Option<u64>,
    pub(super) piece_ms: Option<u64>,
    pub(super) chunk_bytes: Option<NonZeroUsize>,
    pub(super) ids: Option<Ids>,
    pub(super) stop: Option<StopFile>,
    pub(super) repeat: Option<Repeat>,
    pub(super) usage: Option<UsageFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallFile {
    pub(super) tool: String,
    #[serde(default, deserialize_with = "given")]
    pub(super) args: Option<Value>,
    pub(super) raw: Option<String>,
}

/// Keeps a `null` that was written apart from a key that was not.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhenFile {
    pub(super) tool_result: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) user_contains: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorFile {
    pub(super) status: u16,
    pub(super) retry_after_s: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageFile {
    pub(super) input: u64,
    pub(super) output: u64,
    #[serde(default)]
    pub(super) cached: u64,
    #[serde(default)]
    pub(super) written: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopFile {
    Length,
}

impl<'de> Deserialize<'de> for Repeat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RepeatVisitor)
    }
}

struct RepeatVisitor;

impl Visitor<'_> for RepeatVisitor {
    type Value = Repeat;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 1 to 4294967295 or \"forever\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Repeat, E> {
        match u32::try_from(number) {
            Ok(times) if times > 0 => Ok(Repeat::Times(times)),
            _ => Err(E::invalid_value(serde::de::Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Repeat, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Repeat, E> {
        if word == "forever" {
            Ok(Repeat::Forever)
        } else {
            Err(E::invalid_value(serde::de::Unexpected::Str(word), &self))
        }
    }
}
