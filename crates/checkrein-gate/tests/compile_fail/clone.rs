//! An `Approved` can not be cloned.
use checkrein_gate::Approved;

fn twice(approved: &Approved) -> Approved {
    approved.clone()
}

fn main() {}
