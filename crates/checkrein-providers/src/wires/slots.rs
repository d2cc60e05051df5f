//! The order of the pieces of a reply, and what a vendor wants back among them. The conversation keeps a reply's text and
//! its calls; whatever else a vendor put before, between or into them travels here, unread.

use checkrein_contract::ToolCallPart;
use serde::Serialize;
use serde_json::{Value, json};

/// One piece of a reply.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Slot {
    /// Something that is the vendor's alone: reasoning, mostly.
    Kept(Value),
    /// Text of the reply, with what the vendor attached to it.
    Text(Value),
    /// The next call, with what the vendor attached to it.
    Call(Value),
}

/// What the harness is to record of them; null when there is nothing but text and calls.
pub(super) fn record(wire: &str, slots: &[Slot]) -> Value {
    let plain = |slot: &Slot| matches!(slot, Slot::Text(Value::Null) | Slot::Call(Value::Null));
    if slots.iter().all(plain) {
        return Value::Null;
    }
    json!({ wire: slots })
}

/// A piece of a reply that goes back.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// Something that is the vendor's alone.
    Kept(&'a Value),
    /// The text, with what was attached to it.
    Text(&'a str, &'a Value),
    /// A call, with what was attached to it.
    Call(&'a ToolCallPart, &'a Value),
}

/// The pieces of a recorded reply, in the order in which they came. What another wire recorded is not looked at.
pub(super) fn replay<'a>(wire: &str, provider: &'a Value, text: &'a str, calls: &'a [ToolCallPart]) -> Vec<Piece<'a>> {
    let slots = provider.get(wire).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut text = Some(text).filter(|text| !text.trim().is_empty());
    let mut calls = calls.iter();
    let mut pieces = Vec::new();
    for slot in slots {
        if let Some(kept) = slot.get("kept") {
            pieces.push(Piece::Kept(kept));
        } else if let Some(attached) = slot.get("text") {
            // The text is one, however many pieces it came in.
            pieces.extend(text.take().map(|text| Piece::Text(text, attached)));
        } else if let Some(attached) = slot.get("call") {
            pieces.extend(calls.next().map(|call| Piece::Call(call, attached)));
        }
    }
    pieces.extend(text.map(|text| Piece::Text(text, &Value::Null)));
    pieces.extend(calls.map(|call| Piece::Call(call, &Value::Null)));
    pieces
}

/// Arguments for a wire that takes nothing but objects: what was no object is handed back as what it was.
pub(super) fn as_object(args: &Value) -> Value {
    if args.is_object() { args.clone() } else { json!({ "not_an_object": args }) }
}
