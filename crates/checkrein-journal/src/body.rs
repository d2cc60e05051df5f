//! The text of an event as it is stored: canonical JSON in which big fields are replaced by a reference to a payload.
//!
//! A reference is `{"$blob": DIGEST, "bytes": N}` as the value of a top-level field. A value that only looks like one (an
//! object with a key `$blob`) is stored as a payload too, however small, so that in stored text `$blob` always means a
//! reference and nothing needs escaping. Nothing here touches a store.

use checkrein_contract::{Actor, Body, Digest, EVENT_VERSION, Event, canonical_string};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A field of an event whose canonical text is longer than this many bytes is stored as a payload of its own.
pub const INLINE_BYTES_MAX: usize = 1_024;

/// The fields around a body. They always stay in the line, so that it can be placed without its payloads.
const FRAME: [&str; 5] = ["at", "by", "seq", "type", "v"];

/// Fields that only exported lines have: no body may use them, or an export could not be told from an event.
const EXPORT: [&str; 3] = [HASH, JOURNAL, MISSING];
pub(crate) const HASH: &str = "hash";
pub(crate) const JOURNAL: &str = "journal";
pub(crate) const MISSING: &str = "missing";

const REFERENCE: &str = "$blob";

/// The fields of one event, frame included.
pub(crate) type Fields = Map<String, Value>;

/// A payload that lies outside the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) text: String,
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) text: String,
    pub(crate) blobs: Vec<Blob>,
}

/// A reference that stands in for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) field: String,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// The stored form of an event; `Err` says why it has none.
pub(crate) fn encode(event: &Event) -> Result<Encoded, String> {
    if event.v != EVENT_VERSION {
        return Err(format!("it has version {}, and this version writes {EVENT_VERSION}", event.v));
    }
    let mut fields = match serde_json::to_value(&event.body) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err("its body is no object".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    let taken = FRAME.iter().filter(|name| **name != "type").chain(&EXPORT).find(|name| fields.contains_key(**name));
    if let Some(name) = taken {
        return Err(format!("its body uses the name `{name}`, which belongs to the line"));
    }
    fields.insert("at".to_owned(), event.at.into());
    fields.insert("by".to_owned(), event.by.to_string().into());
    fields.insert("seq".to_owned(), event.seq.into());
    fields.insert("v".to_owned(), event.v.into());
    Ok(encode_fields(&fields, &[]))
}

/// The stored form of whole fields, except for those in `references`, which are references already.
pub(crate) fn encode_fields(fields: &Fields, references: &[String]) -> Encoded {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    let mut text = String::from("{");
    let mut blobs = Vec::new();
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&Value::String(name.clone()).to_string());
        text.push(':');
        let canonical = canonical_string(value);
        let goes_out = canonical.len() > INLINE_BYTES_MAX || looks_like_reference(value);
        if goes_out && !FRAME.contains(&name.as_str()) && !references.contains(name) {
            let digest = Digest::of(canonical.as_bytes());
            text.push_str(&canonical_string(&json!({ REFERENCE: digest.as_str(), "bytes": canonical.len() })));
            blobs.push(Blob { digest, text: canonical });
        } else {
            text.push_str(&canonical);
        }
    }
    text.push('}');
    Encoded { text, blobs }
}

/// The fields of a stored or exported text.
pub(crate) fn parse(text: &str) -> Result<Fields, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The references among stored fields; `Err` when one is malformed.
pub(crate) fn references(fields: &Fields) -> Result<Vec<Reference>, String> {
    fields.iter().filter(|(_, value)| looks_like_reference(value)).map(|(name, value)| reference(name, value)).collect()
}

/// The reference that stands in this field.
pub(crate) fn reference(field: &str, value: &Value) -> Result<Reference, String> {
    let digest = value.get(REFERENCE).and_then(Value::as_str).and_then(Digest::parse);
    let bytes = value.get("bytes").and_then(Value::as_u64);
    match (digest, bytes, value.as_object().map(Map::len)) {
        (Some(digest), Some(bytes), Some(2)) => Ok(Reference { field: field.to_owned(), digest, bytes }),
        _ => Err(format!("field `{field}` holds a malformed reference")),
    }
}

fn looks_like_reference(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.contains_key(REFERENCE))
}

/// The event that whole fields spell; `Err` names what this version does not know.
pub(crate) fn decode(mut fields: Fields) -> Result<Event, String> {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let v = fields.remove("v").and_then(|v| v.as_u64()).unwrap_or_default();
    if v != u64::from(EVENT_VERSION) {
        return Err(format!("type `{kind}`, version {v}; known is version {EVENT_VERSION}"));
    }
    let number = |value: Option<Value>| value.and_then(|number| number.as_u64());
    let (Some(seq), Some(at)) = (number(fields.remove("seq")), number(fields.remove("at"))) else {
        return Err(format!("type `{kind}`: `seq` or `at` is no number"));
    };
    let unknown = |error: serde_json::Error| format!("type `{kind}`, version {v}: {error}");
    let by = Actor::deserialize(fields.remove("by").unwrap_or_default()).map_err(unknown)?;
    let body = Body::deserialize(Value::Object(fields)).map_err(unknown)?;
    Ok(Event { v: EVENT_VERSION, seq, at, by, body })
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{CallId, HookNote};

    use super::*;

    fn hook(old: Value, new: Value) -> Event {
        let body = Body::Hook(HookNote { call: CallId::new("c1-1"), old, new });
        Event { v: EVENT_VERSION, seq: 1, at: 2, by: Actor::Code, body }
    }

    #[test]
    fn small_fields_stay_and_big_ones_go_out_at_the_border() {
        let fits = "x".repeat(INLINE_BYTES_MAX - 2);
        let encoded = encode(&hook(json!(fits), json!(format!("{fits}y")))).unwrap();
        assert_eq!(encoded.blobs.len(), 1);
        assert_eq!(encoded.blobs[0].text, format!("\"{fits}y\""));
        let found = references(&parse(&encoded.text).unwrap()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].field.as_str(), found[0].bytes), ("new", 1_025));
    }

    #[test]
    fn stored_text_is_canonical_json() {
        let encoded = encode(&hook(json!({"b": 1.0, "a": "é\n"}), json!(null))).unwrap();
        assert_eq!(
            encoded.text,
            r#"{"at":2,"by":"code","call":"c1-1","new":null,"old":{"a":"é\n","b":1},"seq":1,"type":"hook","v":1}"#
        );
    }

    #[test]
    fn what_only_looks_like_a_reference_is_a_payload() {
        let fake = json!({"$blob": Digest::of(b"x").as_str(), "bytes": 1});
        let encoded = encode(&hook(fake.clone(), json!({"nested": fake}))).unwrap();
        assert_eq!(encoded.blobs.len(), 1, "only the top-level one could be taken for a reference");
        assert_eq!(encoded.blobs[0].text, canonical_string(&fake));
        let found = references(&parse(&encoded.text).unwrap()).unwrap();
        assert_eq!(found[0].digest, encoded.blobs[0].digest);
    }

    #[test]
    fn a_newer_version_is_not_guessed_at() {
        let mut fields = parse(&encode(&hook(json!(1), json!(2))).unwrap().text).unwrap();
        fields.insert("v".to_owned(), json!(2));
        assert_eq!(decode(fields).unwrap_err(), "type `hook`, version 2; known is version 1");
        let mut event = hook(json!(1), json!(2));
        event.v = 2;
        assert!(encode(&event).is_err());
    }
}
