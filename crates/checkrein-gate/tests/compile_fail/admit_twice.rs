//! A judged call is admitted once.
use checkrein_gate::{Approved, Judged};

fn twice(judged: Judged) -> (Approved, Approved) {
    (judged.admit(None, 0).unwrap(), judged.admit(None, 0).unwrap())
}

fn main() {}
