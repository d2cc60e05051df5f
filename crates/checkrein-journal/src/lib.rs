//! The journal: what happened in each session, one append-only hash chain a session, in a store behind one port.
//!
//! ```text
//! Event -> encode (big fields become payloads by digest) -> seal (chain) -> EventStore::append -> durable
//! EventStore::rows -> walk (chain, payload digests) -> decode -> Event
//! ```
//!
//! The chain, for whoever wants to recompute it without this crate (a stored text is the canonical JSON of an event whose
//! fields above [`INLINE_BYTES_MAX`] are replaced by `{"$blob": DIGEST, "bytes": N}`):
//!
//! ```text
//! hash(0) = SHA-256("checkrein-journal 1 " SESSION)
//! hash(n) = SHA-256(hash(n-1) as 64 hex digits, {"event":STORED TEXT,"session":SESSION} as canonical JSON)
//! ```
//!
//! [`EventStore`] is the port, [`STORES`] the list of what implements it. [`verify_chain`] and [`verify_export`] prove that
//! nothing in a chain was changed, and a [`SignedHead`] that it was not written anew as a whole. [`export_lines`] writes a
//! session for outsiders, [`read_export`] reads one, [`transcript_lines`] gives what two runs of one script have in common.
//! `docs/journal.md` says all of this for whoever writes a verifier in another language.
//!
//! What the journal does not do: it has no clock, draws no conclusion from events beyond the words of a list, redacts
//! nothing (the gate did, before anything came here), and never changes or removes an event. [`EventStore::prune`] removes
//! payloads, and notes it in the chain.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod body;
mod chain;
mod error;
mod export;
mod file;
mod key;
mod prune;
mod read;
mod signed;
mod store;
mod stores;
mod transcript;
mod verify;
mod walk;

pub use body::INLINE_BYTES_MAX;
pub use chain::Head;
pub use error::JournalError;
pub use export::{export_lines, read_export};
pub use prune::{PRUNED, Pruned, Pruning};
pub use signed::{PublicKey, SignedHead};
pub use store::{EventStore, FoundRow, SessionMeta, SessionRow, StoredRow};
pub use stores::{Keeps, MemoryStore, STORES, SqliteStore, StoreKind};
pub use transcript::{Names, transcript_lines};
pub use verify::{ChainFault, ChainProblem, ChainReport, MissingPayload, verify_chain, verify_export};
