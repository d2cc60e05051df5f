//! Context: what of a history a request shows, how large it is, and what a skill file says. It must not do I/O, keep
//! anything between requests, or change the history itself: leaving something out of a request deletes nothing.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod policies;
mod prune;
mod skills;

pub use checkrein_contract::{estimate_message, estimate_text};
pub use policies::{ContextError, POLICIES, PolicyEntry, policy};
pub use skills::{SkillError, menu, parse_skill};
