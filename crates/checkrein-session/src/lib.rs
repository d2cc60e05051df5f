//! A session as a pure fold of its events.
//!
//! ```text
//! apply(state, event) -> state          next(state) -> Request | Decide | Ask | Check | Stop | Stopped
//! ```
//!
//! A driver carries out what [`State::next`] says, journals what happened, and applies it. Resume is reading the journal
//! and folding it; replay is folding and comparing. Everything the model sees is made here from events alone.
//!
//! What is not here: I/O, a clock, a runtime, and the name of any tool that does something. Times come in with events.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod apply;
mod batch;
mod budget;
mod compaction;
mod history;
mod instructions;
mod next;
mod outcome;
mod proposal;
mod recompose;
mod recover;
mod remembered;
mod standing;
mod state;
pub mod tools;

pub use apply::ApplyError;
pub use budget::Share;
pub use compaction::{Came, Compaction, SUMMARISER};
pub use history::Plan;
pub use next::Next;
pub use proposal::{group_calls, proposal, raw_call};
pub use recover::{close_unstarted, recover};
pub use remembered::RecordedRule;
pub use state::State;
