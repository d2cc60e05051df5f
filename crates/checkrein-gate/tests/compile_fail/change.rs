//! A call that was judged can not be changed.
use checkrein_gate::Approved;
use serde_json::json;

fn more(approved: &mut Approved) {
    approved.call().args = json!({ "amount": 1_000_000 });
}

fn main() {}
