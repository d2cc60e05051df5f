//! Where programs run: what stands behind the gate's `Sandbox` port. Of all crates this one alone starts processes.
//! Each backend says honestly what it holds back. None decides whether a program may run: that is what the `Approved`
//! stands for that it demands.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod after;
mod asked;
mod capture;
mod cgroup;
mod confined;
mod egress;
mod environment;
mod git_settings;
mod given;
mod group;
mod host;
mod itself;
mod launcher;
mod plan;
mod probe;
mod prove;
mod reports;
mod repositories;
mod running;
mod search;
mod tree;
mod unconfined;
mod view;
mod watch;

pub use asked::ask_program;
pub use capture::MAX_SPILL_BYTES;
pub use confined::{Confined, Settings};
pub use environment::Environment;
pub use itself::{ask_itself, within};
pub use launcher::launch_if_asked;
pub use plan::{Layer, Limits};
pub use probe::{Found, Lack};
pub use prove::{Outcome, Proof};
pub use search::{find_program, odd_name, search_path};
pub use unconfined::Unconfined;
