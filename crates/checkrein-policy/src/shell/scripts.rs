//! The small languages that programs take on their command line: what a script in one of them would do.

pub(super) mod awk;
mod conditional;
pub(super) mod find;
pub(super) mod jq;
pub(super) mod sed;
pub(super) mod test;
