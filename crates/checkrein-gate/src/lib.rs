//! The one way of a call: stages as types, the ports they use, redaction, and the [`Approved`] token.
//!
//! ```text
//! proposal -> parse -> visible -> validate -> hooks -> foresee -> decide -> admit -> start -> run -> check output -> render
//! ```
//!
//! [`Gate::judge`] takes a proposed call as far as its decision; [`Judged::admit`] makes the token; [`start`] records it;
//! [`Gate::run`] runs it. Refusals are values and leave as results, like successes.
//!
//! What the gate does not do: it knows no tool by name, holds no session, sends nothing to a model, and reads no clock but
//! for the limit of a running tool. Tools, hooks and the model's adapter are trusted code; what a model proposes and what
//! tools return is checked data.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod approvals;
mod approved;
mod catch;
mod dependencies;
mod detectors;
mod gate;
mod grant;
pub mod guards;
pub mod hooks;
mod ports;
mod redact;
mod registry;
mod remedy;
pub mod schema;
mod stages;

pub use approvals::RecordedApproval;
pub use approved::Approved;
pub use gate::{Gate, Scene, call_digest};
pub use grant::{CONTROL_FILES, Grant};
pub use ports::{
    After, AnyTool, Around, Before, Captured, Clock, CommandSpec, Concurrency, Connected, Definition, Denial,
    Enforcement, FactSource, Failure, FunctionTool, Guard, GuardView, Hook, HookFailure, MAX_INPUT, Next,
    RecordFailure, Recorder, Rendered, RunContext, RunOutput, Sandbox, SandboxFailure, Shown, Spill, Tool, Typed,
    input_schema, output_schema, tool,
};
pub use redact::{DETECTORS, RedactingStream, Redactor, redact_text, redact_value};
pub use registry::{Registry, RegistryError};
pub use remedy::{error_text, remedy};
pub use stages::{Changed, Judged, Refused, Started, find_out, parse, start};
