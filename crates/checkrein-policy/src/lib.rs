//! Policy files, what a call would do, and the pure function that decides.
//!
//! Entry points: [`Policy::load`] reads layers of TOML into rules and finds every mistake in them; [`decide`] judges a
//! call's effects; [`shell`] says what a command line would do; [`Manifest`] maps the tools that others own to effects.
//!
//! Absences, which are the point: no I/O, no clock, no environment, no async runtime, no HTTP, no database, no model
//! client. Paths and addresses are looked up by the host and passed in as facts. What matching text can not see is listed
//! in [`shell`]: until a command line is plain words, it is at least *ask*.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod condition;
mod decide;
mod file;
pub mod fixtures;
mod load;
mod manifest;
pub mod paths;
mod policy;
mod rules;
pub mod shell;
mod variables;

pub use checkrein_toml::{FileError, Source};
pub use decide::decide;
pub use load::{floor, refuse_unreadable};
pub use manifest::{Manifest, Parameter, ParameterType, ToolEffect, foreign_tools};
pub use policy::Policy;
pub use variables::Variables;
