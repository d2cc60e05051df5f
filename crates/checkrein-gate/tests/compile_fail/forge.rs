//! An `Approved` can not be written down.
use checkrein_gate::Approved;

fn forge(call: checkrein_contract::Call) -> Approved {
    Approved { call }
}

fn main() {}
