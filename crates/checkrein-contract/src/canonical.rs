//! Canonical JSON: one value, one spelling, so that a digest of a value means the value.
//!
//! Object keys are sorted by their bytes, there is no white space, strings are escaped as `serde_json` does, and a float
//! that is a whole number below 2^53 is written as an integer (`25.0` is `25`, `-0.0` is `0`). Integers keep every digit:
//! RFC 8785 would round them to a double, and an approval for 9007199254740993 must not fit 9007199254740992.

use serde::Serialize;
use serde_json::Value;

use crate::Digest;

/// Whole numbers up to here are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The canonical text of a value.
pub fn canonical_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The canonical text of anything that serializes, as bytes.
///
/// # Errors
/// Only what `serde_json` refuses: a map with keys that are not strings, or a type whose `Serialize` fails.
pub fn canonical_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    Ok(canonical_string(&serde_json::to_value(value)?).into_bytes())
}

/// The digest of a value's canonical text.
pub fn digest_json(value: &Value) -> Digest {
    Digest::of(canonical_string(value).as_bytes())
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
                // Exact by the guard above: a whole number below 2^53.
                out.push_str(&format!("{:.0}", float + 0.0));
            }
            _ => out.push_str(&number.to_string()),
        },
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_whole_floats_are_integers() {
        let value = json!({"b": 25.0, "a": [1.5, -0.0, 1e3], "é": null, "Z": "\u{1}\"/"});
        assert_eq!(canonical_string(&value), r#"{"Z":"\u0001\"/","a":[1.5,0,1000],"b":25,"é":null}"#);
    }

    #[test]
    fn large_integers_keep_every_digit() {
        assert_ne!(digest_json(&json!(9_007_199_254_740_993_u64)), digest_json(&json!(9_007_199_254_740_992_u64)));
    }
}
