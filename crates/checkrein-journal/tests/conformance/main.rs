//! The conformance suite of event stores: it loops over the list, on real files on a real disk, without sleeping.
//!
//! One binary, so that SQLite is linked once and the kill tests can start it again as the process that is killed.

mod damage;
mod disk;
mod exports;
mod kill;
mod laws;
mod messages;
mod old;
mod pruning;
mod rows;
mod samples;
mod signed;
mod tamper;
mod transcripts;
