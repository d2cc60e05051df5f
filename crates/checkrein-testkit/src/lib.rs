//! Tests without a model. Two ways in, one gate:
//!
//! - [`World`]: a tool, policy, hook or guard by itself. The real gate around it, a journal in memory, no session.
//! - [`Lab`] and [`Scripted`]: whole sessions through the facade, with a model that says what a test tells it. [`Record`] says
//!   what happened and proves its journal, [`Faults`] lets things fail on purpose. Feature `sessions`, on by default.
//!
//! Calls go the whole way that a model's calls go (parse, judge, admit, start, run): there is no other way to run a tool,
//! in tests neither. This crate panics where a test would: on a policy with a mistake in it, on a start that was not
//! recorded.
//!
//! # A session
//!
#![cfg_attr(feature = "sessions", doc = "```")]
#![cfg_attr(not(feature = "sessions"), doc = "```ignore")]
//! use checkrein_testkit::{Lab, Record, Scripted, assert_never_called};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Order {
//!     order: String,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let erase = checkrein::tool("erase_order", "Erases an order.", |_: Order| async { Ok::<_, String>("gone") });
//! let model = Scripted::new().calls("erase_order", json!({ "order": "o-1" })).says("I may not.");
//! let lab = Lab::new();
//! let harness = lab
//!     .harness()
//!     .tool(erase)
//!     .policy("version = 1\n[[rule]]\nid = \"keep\"\ndecision = \"deny\"\nreason = \"orders stay\"\neffect = \"tool\"\ntool = \"erase_order\"")
//!     .provider(model.clone())
//!     .build()?;
//!
//! let outcome = harness.run("Make o-1 go away.").await?;
//!
//! let record = Record::of(&harness, &outcome.session);
//! assert_never_called!(record, "erase_order");
//! assert_eq!(record.calls_of("erase_order")[0].rules, ["keep"]);
//! assert_eq!(model.requests().len(), 2, "the model was told, and went on");
//! # Ok::<(), checkrein::HarnessError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A tool by itself
//!
//! ```
//! use checkrein_contract::{BoxFuture, Code, Effect, Facts, FinishedAs, Foreseen, Place};
//! use checkrein_gate::{Approved, Failure, Registry, Rendered, RunContext, Tool};
//! use checkrein_testkit::{World, Yes};
//!
//! /// Sends a parcel back.
//! struct ReturnParcel;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Input {
//!     /// The parcel's number.
//!     parcel: u32,
//! }
//!
//! impl Tool for ReturnParcel {
//!     type Input = Input;
//!     type Output = String;
//!     const NAME: &'static str = "return_parcel";
//!     const DESCRIPTION: &'static str = "Sends a parcel back.";
//!
//!     fn effects(&self, input: &Input, _place: &Place, _facts: &Facts) -> Foreseen {
//!         let args = serde_json::json!({ "parcel": input.parcel });
//!         Foreseen::of(vec![Effect::Tool { tool: Self::NAME.to_owned(), server: None, args }])
//!     }
//!
//!     fn run<'a>(&'a self, _: &'a Approved, input: Input, _: RunContext<'a>) -> BoxFuture<'a, Result<String, Failure>> {
//!         Box::pin(async move { Ok(format!("parcel {} is on its way", input.parcel)) })
//!     }
//!
//!     fn render(&self, _: &Input, output: &String) -> Rendered {
//!         Rendered::whole(output.clone())
//!     }
//!
//!     fn examples() -> Vec<serde_json::Value> {
//!         vec![serde_json::json!({ "parcel": 7 })]
//!     }
//! }
//!
//! const POLICY: &str = r#"
//! version = 1
//! [[rule]]
//! id = "parcels"
//! decision = "ask"
//! reason = "a person looks at each parcel"
//! effect = "tool"
//! tool = "return_parcel"
//! "#;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let mut registry = Registry::new();
//! registry.add(ReturnParcel)?;
//! let place = Place { root: "/srv/shop".into(), cwd: "/srv/shop".into(), home: "/home/dev".into(), ..Place::default() };
//! let mut world = World::new(registry, POLICY, place);
//!
//! let refused = world.call("return_parcel", r#"{"parcel": 7}"#).await;
//! assert_eq!(refused.code, Some(Code::NeedsApproval));
//!
//! let approval = world.approved("return_parcel", r#"{"parcel": 7}"#).await;
//! let other = world.call_with("return_parcel", r#"{"parcel": 8}"#, Yes::Recorded(&approval)).await;
//! assert_eq!(other.code, Some(Code::ApprovalStale));
//!
//! let sent = world.call_with("return_parcel", r#"{"parcel": 7}"#, Yes::Recorded(&approval)).await;
//! assert_eq!((sent.ended, sent.text.as_str()), (FinishedAs::Ok, "parcel 7 is on its way"));
//! # Ok::<(), checkrein_gate::RegistryError>(())
//! # }).unwrap();
//! ```

#[cfg(feature = "sessions")]
mod faults;
#[cfg(feature = "sessions")]
mod lab;
mod ports;
#[cfg(feature = "sessions")]
mod record;
mod runs;
#[cfg(feature = "sessions")]
mod scripted;
mod world;

#[cfg(feature = "sessions")]
pub use faults::{Armed, Faults};
#[cfg(feature = "sessions")]
pub use lab::Lab;
#[cfg(feature = "sessions")]
pub use record::{Called, Record};
pub use runs::{Runs, never_called};
#[cfg(feature = "sessions")]
pub use scripted::Scripted;

pub use ports::{AsWritten, InMemory, Kept, NoPrograms, SpillFolder};
pub use world::{NOW, World, Yes, policy, request};
