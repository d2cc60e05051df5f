//! The stores there are: one file each below, one entry each in the list.
//!
//! The conformance suite loops over the list, so a new store is tested by being added. Whoever picks a store names it by
//! its entry; nothing else in the journal knows one by name.

mod memory;
mod sqlite;

use std::path::Path;

pub use memory::MemoryStore;
pub use sqlite::SqliteStore;

use crate::{EventStore, JournalError};

/// How long a store keeps what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// On disk: across processes, crashes and power loss.
    OnDisk,
    /// As long as the handle: for simulations and tests.
    WhileOpen,
}

/// One entry of the list.
#[derive(Clone, Copy)]
pub struct StoreKind {
    /// Its name.
    pub name: &'static str,
    /// How long it keeps what it was given.
    pub keeps: Keeps,
    /// Opens it at a place, which one that keeps nothing ignores.
    pub open: fn(&Path) -> Result<Box<dyn EventStore>, JournalError>,
}

/// Every store, the default one first.
pub const STORES: &[StoreKind] = &[
    StoreKind { name: "sqlite", keeps: Keeps::OnDisk, open: |path| Ok(Box::new(SqliteStore::open(path)?)) },
    StoreKind { name: "memory", keeps: Keeps::WhileOpen, open: |_| Ok(Box::new(MemoryStore::default())) },
];
