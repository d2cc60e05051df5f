//! The tools that ship: built-in ones, one file each under `builtin/`, and programs as tools from a manifest.
//! A tool opens only what was judged and starts programs only through the sandbox; it never decides whether it may run.
//! Every cut says that it cut, how much, and the exact call that gets the rest.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod atomic;
mod builtin;
mod command;
mod diff;
mod files;
mod ignored;
mod lines;
mod needs;
mod next_call;
mod observed;
mod off_thread;
mod pattern;
mod printable;
mod program;
mod replacing;
mod search;
mod target;
mod walk;
mod web;

pub use builtin::{builtin, builtin_names, instructions, verify, with_examples};
pub use command::CommandTool;
