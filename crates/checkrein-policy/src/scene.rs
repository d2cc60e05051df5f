//! Where a call would happen, and what is known there.

use checkrein_contract::{Facts, Place};

use crate::Models;

/// What it takes to say what a call would do.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Where.
    pub place: &'a Place,
    /// What was found out so far. More may be asked for; foreseeing again with the answers goes on from there.
    pub facts: &'a Facts,
    /// What programs do.
    pub models: &'a Models,
}
