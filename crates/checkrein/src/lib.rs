//! The facade: what a host builds agents with. The only place where the parts meet.
//!
//! ```
//! use checkrein::{Harness, schemars, serde_json::json, tool};
//! use checkrein_testkit::Scripted;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Refund {
//!     /// The order, such as o-17.
//!     order: String,
//!     /// Euros.
//!     amount: f64,
//! }
//!
//! const POLICY: &str = r#"
//! version = 1
//! [[rule]]
//! id = "small-refunds"
//! decision = "allow"
//! reason = "up to 50 is ours to give"
//! effect = "tool"
//! tool = "refund"
//! where.amount = { max = 50 }
//! "#;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let state = folder.path();
//! let refund = tool("refund", "Refunds an order.", |refund: Refund| async move {
//!     Ok::<_, String>(format!("{} euros for {}", refund.amount, refund.order))
//! });
//! let model = Scripted::new().calls("refund", json!({ "order": "o-17", "amount": 20 })).says("20 euros are on their way.");
//! let harness = Harness::builder(state).tool(refund).policy(POLICY).provider(model).build()?;
//!
//! let outcome = harness.run("The customer of o-17 wants 20 euros back.").await?;
//!
//! assert_eq!(outcome.answer.as_deref(), Some("20 euros are on their way."));
//! assert_eq!(outcome.tool_runs["refund"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With `.model("anthropic:NAME").environment(std::env::vars())` in place of `.provider(model)` the same agent asks a real
//! model. What no rule speaks of waits for a person, in this process or in another one:
//!
//! ```
//! use checkrein::approvals::Word;
//! use checkrein::contract::Status;
//! use checkrein::{Front, ResumeOptions, serde_json::json};
//! use checkrein_testkit::{Lab, Record, Scripted, assert_never_called};
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Refund { order: String, amount: f64 }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! # let refund = checkrein::tool("refund", "Refunds an order.", |_: Refund| async { Ok::<_, String>("refunded") });
//! let model = Scripted::new().calls("refund", json!({ "order": "o-17", "amount": 900 })).says("Done.");
//! let lab = Lab::new();
//! let harness = lab.harness().tool(refund).provider(model).build()?;
//!
//! let asked = harness.run("900 euros for o-17, please.").await?;
//! assert_eq!(asked.status, Status::NeedsApproval);
//! assert_never_called!(Record::of(&harness, &asked.session), "refund");
//!
//! harness.answer(&asked.approvals[0], "dana", &Word::Approve { for_ms: None })?;
//! let done = harness.resume(&asked.session, &ResumeOptions::default(), Front::default())?.drive().await?;
//! assert_eq!((done.status, done.tool_runs["refund"]), (Status::Completed, 1));
//! # Ok::<(), checkrein::HarnessError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Harness::builder`] says what is safe by default. [`Harness::begin`] makes a [`Session`] of a [`Task`], for whoever watches
//! it ([`Observer`]) or answers while it runs ([`Asker`]); [`Session::drive`] drives it until it stops; [`Harness::resume`]
//! takes it up again from its journal, days later or after a crash. `checkrein-testkit` has what tests need.
//!
//! What it does not do: read arguments or the environment, print, or know how anything looks.

pub mod approvals;
mod builder;
pub mod cassette;
mod catalogue;
mod check;
mod clock;
mod composition;
mod defaults;
mod deferral;
mod driver;
mod error;
mod home;
pub mod hook;
pub mod import;
mod keys;
mod log;
mod machine;
mod notify;
mod observer;
pub mod past;
mod person;
mod policies;
mod policy_folder;
pub mod prefix;
mod projection;
pub mod prune;
mod replace;
pub mod replay;
mod retention;
mod secrets;
pub mod serve;
mod setup;
pub mod task;
mod trust;
pub mod usage;
pub mod verify;
mod workspace;

pub use builder::HarnessBuilder;
pub use catalogue::{Catalogue, Known};
pub use check::{CheckedCall, check_call, policy_for, shipped_tools};
pub use checkrein_contract as contract;
pub use checkrein_gate as gate;
pub use checkrein_gate::tool;
pub use checkrein_journal as journal;
pub use checkrein_policy as policy;
pub use checkrein_providers as providers;
pub use checkrein_sandbox as sandbox;
pub use checkrein_sandbox::{ask_itself, launch_if_asked, within};
pub use checkrein_session as session;
pub use clock::SystemClock;
pub use composition::{Counts, Difference};
pub use deferral::{Deferral, Offer};
pub use driver::Session;
pub use error::HarnessError;
pub use home::{FolderSpill, StateFolder};
pub use keys::KeyCommands;
pub use machine::{Held, Machine, Programs};
pub use notify::Notify;
pub use observer::{Asker, Observer, Unobserved};
pub use person::person;
pub use policies::PolicyFiles;
pub use policy_folder::{PolicyFolder, models, tools};
pub use projection::{Basis, Projected, Projection};
pub use replace::replace_file;
pub use secrets::redactor;
pub use setup::{
    Extensions, Fork, ForkOptions, ForkedWorkspace, Front, Harness, HostModel, ResumeOptions, RunOptions, Touch,
    open_journal,
};
pub use task::Task;
pub use trust::trust;
pub use {schemars, serde_json};
