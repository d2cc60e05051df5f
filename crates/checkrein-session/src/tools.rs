//! Tools that need the session itself. They are pure: arguments and state in, a result out. A new one is one file here and
//! one line in [`session_tools`].

mod ask_user;
mod call_tool;
mod find_tools;
mod load_skill;
mod task;

use std::sync::Arc;

use checkrein_contract::{BoxFuture, CallId, CallKind, Code, Facts, Foreseen, Place, SessionChange};
use checkrein_gate::{AnyTool, Approved, Concurrency, Definition, Failure, RunContext, Shown};
use serde_json::Value;

use crate::State;
pub(crate) use call_tool::unwrapped;
pub use call_tool::{behind, said};
pub use find_tools::name_deferred;
pub(crate) use task::would_meet;
pub use task::{Access, Delegation};

/// What a session tool answers.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionReply {
    /// A result, and what it changes.
    Result {
        /// For the model.
        text: String,
        /// For the fold.
        change: Option<SessionChange>,
    },
    /// A refusal.
    Failed {
        /// Stable code.
        code: Code,
        /// For the model.
        message: String,
    },
    /// A person must answer first.
    AskPerson {
        /// The question.
        question: String,
    },
    /// A sub-session does it.
    Delegate(Delegation),
}

/// When a session has such a tool on offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Where its task names it, or no tools at all.
    Named,
    /// Whenever there are skills.
    WithSkills,
    /// Whenever there are tools or skills that requests do not describe.
    WithUndescribed,
    /// Whenever there are tools that requests do not declare.
    WithDeferred,
}

/// A tool that is answered from the state.
pub trait SessionTool: Send + Sync {
    /// Name on offer.
    fn name(&self) -> &'static str;
    /// For the model.
    fn description(&self) -> &'static str;
    /// JSON Schema of its arguments.
    fn parameters(&self) -> Value;
    /// When a session has it on offer.
    fn wanted(&self) -> Wanted {
        Wanted::Named
    }
    /// Whether it waits for a person's words.
    fn asks(&self) -> bool {
        false
    }
    /// Whether a sub-session does what it is asked for.
    fn delegates(&self) -> bool {
        false
    }
    /// Whether a call with these arguments may overlap with its neighbours.
    fn concurrency(&self, _args: &Value) -> Concurrency {
        Concurrency::Exclusive
    }
    /// The answer. Pure.
    fn answer(&self, call: &CallId, args: &Value, state: &State) -> SessionReply;
}

/// Every session tool.
pub fn session_tools() -> Vec<Arc<dyn SessionTool>> {
    vec![
        Arc::new(ask_user::AskUser),
        Arc::new(call_tool::CallTool),
        Arc::new(find_tools::FindTools),
        Arc::new(load_skill::LoadSkill),
        Arc::new(task::Task),
    ]
}

/// The session tool of this name.
pub fn session_tool(name: &str) -> Option<Arc<dyn SessionTool>> {
    session_tools().into_iter().find(|tool| tool.name() == name)
}

/// Whether calling this tool loads a skill; such a proposal is of the kind *skill*.
pub(crate) fn loads_skill(name: &str) -> bool {
    name == load_skill::NAME
}

/// Whether a call of this tool is done by a sub-session.
pub(crate) fn delegates(name: &str) -> bool {
    session_tool(name).is_some_and(|tool| tool.delegates())
}

/// As the registry takes a session tool: its definition, no effects, and a body that nobody reaches.
pub fn registered(tool: Arc<dyn SessionTool>) -> Arc<dyn AnyTool> {
    let definition = Definition {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
        output: serde_json::json!({}),
        implementation: Value::Null,
        host_only: false,
    };
    Arc::new(Registered { definition, tool })
}

struct Registered {
    definition: Definition,
    tool: Arc<dyn SessionTool>,
}

impl AnyTool for Registered {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        CallKind::Pure
    }

    fn concurrency(&self, args: &Value) -> Concurrency {
        self.tool.concurrency(args)
    }

    fn timeout_ms(&self, _args: &Value) -> u64 {
        1_000
    }

    fn runs_programs(&self, _args: &Value) -> bool {
        false
    }

    fn effects(&self, _args: &Value, _place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::default()
    }

    fn run<'a>(&'a self, _approved: &'a Approved, _context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        let message = "the driver answers this tool from the session's state";
        Box::pin(async move { Err(Failure::new(Code::ToolFailed, message)) })
    }

    fn render(&self, _args: &Value, _value: &Value) -> Result<Shown, String> {
        Ok(Shown::default())
    }
}
