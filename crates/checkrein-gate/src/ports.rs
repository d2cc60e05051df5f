//! The ports: what the stages call, and what stands behind the gate implements. A port lives in the crate that calls it.

mod clock;
mod facts;
mod function;
mod guard;
mod hook;
mod recorder;
mod sandbox;
mod spill;
mod tool;

pub use clock::Clock;
pub use facts::FactSource;
pub use function::{FunctionTool, tool};
pub use guard::{Guard, GuardView};
pub use hook::{After, Around, Before, Hook, HookFailure, Next};
pub use recorder::{RecordFailure, Recorder};
pub use sandbox::{
    Captured, CommandSpec, Connected, Denial, Enforcement, MAX_INPUT, RunOutput, Sandbox, SandboxFailure,
};
pub use spill::Spill;
pub use tool::{
    AnyTool, Concurrency, Definition, Failure, Rendered, RunContext, Shown, Tool, Typed, input_schema, output_schema,
};
