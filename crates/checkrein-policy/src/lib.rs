//! Policy files, what a call would do, and the pure function that decides.
//!
//! Entry points: [`Policy::load`] reads layers of TOML into rules and finds every mistake in them; [`decide`] judges a
//! call's effects; [`shell`] says what a command line would do; [`Manifest`] maps the tools that others own to effects.
//!
//! Absences, which are the point: no I/O, no clock, no environment, no async runtime, no HTTP, no database, no model
//! client. Paths and addresses are looked up by the host and passed in as facts. What can not be known of a command line
//! before it runs is named in its effects ([`shell`]), and is at least *ask*.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod approvers;
mod commands;
mod condition;
mod decide;
pub mod explain;
mod file;
pub mod fixtures;
pub mod git;
mod held;
mod lint;
mod load;
mod manifest;
mod own;
pub mod paths;
mod patterns;
mod policy;
pub mod remember;
mod rounds;
mod rules;
mod scene;
pub mod shell;
pub mod standing;
pub mod url;
mod variables;

pub use checkrein_toml::{FileError, Source};
pub use commands::{FAMILIES, Models, traced_lines};
pub use decide::decide;
pub use lint::Lint;
pub use load::{floor, refuse_unreadable};
pub use manifest::{Manifest, Parameter, ParameterType, ToolEffect, foreign_tools, is_variable, tools_of};
pub use own::OwnFolders;
pub use policy::{MOST_REAL_NAMES, Policy};
pub use rounds::{Round, Rounds, foresee_until_known};
pub use scene::Scene;
pub use variables::Variables;
