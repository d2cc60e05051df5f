//! The facade: task folders, the driver, the default lists. The only place where the parts meet.
//!
//! [`Harness::begin`] makes a [`Session`] of a [`Task`]; [`Session::drive`] drives it until it stops; [`Harness::resume`]
//! takes it up again from its journal, days later or after a crash. Fronts (the terminal, later others) watch through
//! [`Observer`] and answer through [`Asker`].
//!
//! What it does not do: read arguments or the environment, print, or know how anything looks.

pub mod approvals;
mod check;
mod clock;
mod composition;
mod defaults;
mod driver;
mod error;
mod home;
pub mod hook;
pub mod import;
mod log;
mod machine;
mod observer;
pub mod past;
mod policies;
mod policy_folder;
mod prices;
pub mod prune;
mod replace;
pub mod replay;
mod retention;
mod secrets;
mod setup;
pub mod task;
mod trust;
pub mod verify;
mod workspace;

pub use check::{CheckedCall, check_call, policy_for, shipped_tools};
pub use checkrein_contract as contract;
pub use checkrein_gate as gate;
pub use checkrein_journal as journal;
pub use checkrein_policy as policy;
pub use checkrein_sandbox as sandbox;
pub use checkrein_sandbox::{ask_itself, launch_if_asked, within};
pub use checkrein_session as session;
pub use clock::SystemClock;
pub use composition::{Counts, Difference};
pub use driver::Session;
pub use error::HarnessError;
pub use home::{FolderSpill, StateFolder};
pub use machine::{Held, Machine, Programs};
pub use observer::{Asker, Observer, Unobserved};
pub use policies::PolicyFiles;
pub use policy_folder::{PolicyFolder, models};
pub use prices::Prices;
pub use replace::replace_file;
pub use setup::{
    Extensions, Fork, ForkOptions, ForkedWorkspace, Front, Harness, ResumeOptions, RunOptions, Touch, open_journal,
};
pub use task::Task;
pub use trust::trust;
