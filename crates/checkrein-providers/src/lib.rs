//! Providers: whatever answers a model request. This crate alone speaks to models; it must not judge, run or record
//! what they propose, and it keeps nothing between requests that the next process would miss.
//!
//! - [`ScriptProvider`]: a model that follows a written script, with no network and no real time.
//! - [`WireProvider`]: a model behind a vendor's server.
//! - [`Server`]: the other end of the same wires, with a script behind it.
//! - [`Recorder`], [`CassettePlayer`]: what a model answered, written down and played.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod cassette;
mod script;
mod serve;
mod wires;

pub use cassette::{
    AnsweredBy, Came, Cassette, CassettePlayer, CassetteWriter, Changes, Digests, Flaw, Header, KindOf, Live, ReKeyed,
    Recorder, Scrub, TaskRef, Turn, Verifier, changes,
};
pub use script::{Script, ScriptProvider};
pub use serve::{Base, Exchange, Fault, Served, Server};
pub use wires::{PARSER, Patience, WireProvider, cache_write_times, key_variable, wire_kinds};
