//! validate: against the schema generated from the tool's type, all violations at once, before the policy sees anything.

use checkrein_contract::{Call, CallId, Code};
use serde_json::Value;

use super::{Refused, Visible};
use crate::redact::holds_marker;
use crate::registry::Entry;

/// A call whose arguments fit.
pub(crate) struct Valid {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
}

pub(crate) fn validate(visible: Visible<'_>) -> Result<Valid, Refused> {
    let Visible { proposed, entry } = visible;
    if proposed.raw {
        let text = proposed.args.as_str().unwrap_or_default();
        let why = serde_json::from_str::<Value>(text).err().map_or_else(String::new, |e| format!(" ({e})"));
        let message = format!("the arguments are not JSON{why}: {}", quoted(text));
        return Err(Refused::new(&proposed.id, &proposed.tool, Code::InvalidArgs, message));
    }
    let args = with_plain_numbers(without_nulls(proposed.args.clone(), &entry.tool.definition().parameters));
    check(&proposed.id, &proposed.tool, &entry, &args)?;
    let call = Call { id: proposed.id.clone(), tool: proposed.tool.clone(), server: None, args };
    Ok(Valid { call, entry })
}

/// Checks arguments, also those a hook put in their place.
pub(super) fn check(id: &CallId, tool: &str, entry: &Entry, args: &Value) -> Result<(), Refused> {
    if holds_marker(args) {
        let message = "the arguments hold a secret, which was taken out before anybody saw it";
        return Err(Refused::new(id, tool, Code::SecretInArguments, message));
    }
    let violations = entry.arguments.violations(args);
    if violations.is_empty() {
        return Ok(());
    }
    let list = violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    Err(Refused::new(id, tool, Code::InvalidArgs, list))
}

/// Models often say `null` for "not given". An optional field that is null is absent.
fn without_nulls(mut args: Value, schema: &Value) -> Value {
    if let Some(map) = args.as_object_mut() {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|n| n.as_str() == Some(name)));
        let declared = schema.get("properties").and_then(Value::as_object);
        map.retain(|name, value| {
            !value.is_null() || is_required(name) || !declared.is_some_and(|d| d.contains_key(name))
        });
    }
    args
}

/// A whole number is a whole number, however it was spelled: `3.0` is `3` for the schema, the tool and an approval alike.
fn with_plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            number.as_f64().filter(|_| number.is_f64()).and_then(whole).map_or(Value::Number(number), Value::from)
        }
        Value::Array(items) => items.into_iter().map(with_plain_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, with_plain_numbers(value))).collect(),
        plain => plain,
    }
}

/// The integer behind a float, where the float is exact.
fn whole(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^53 and without a fraction, checked right before")]
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}

fn quoted(text: &str) -> String {
    let short: String = text.chars().take(200).collect();
    format!("{short:?}")
}
