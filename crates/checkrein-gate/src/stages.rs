//! The stages of a call, one type and one function each, in the order they happen:
//!
//! parse, visible, validate, hooks, foresee, decide, admit, start, run (guards again, hooks around), check output, render.
//!
//! Each stage takes what the one before returned, so the order is the compiler's business. None of these types is stored:
//! after a pause or a crash a call enters at the beginning again.

mod admit;
mod check_output;
mod decide;
mod foresee;
mod hooks;
mod parse;
mod render;
mod run;
mod start;
mod validate;
mod visible;

pub use admit::Judged;
pub use foresee::find_out;
pub use parse::parse;
pub use start::{Started, start};

pub(crate) use check_output::check_output;
pub(crate) use decide::decide;
pub(crate) use foresee::{Foreseen, foresee, kept};
pub(crate) use hooks::{Hooked, hooks};
pub(crate) use render::render;
pub(crate) use run::run;
pub(crate) use validate::{Valid, validate};
pub(crate) use visible::{Visible, visible};

use checkrein_contract::{CallId, Code, Decision, HookNote, Verdict};

/// A call that leaves before it was judged, or that nobody may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The call.
    pub call: CallId,
    /// The tool it named.
    pub tool: String,
    /// As the journal records it; always *deny*.
    pub decision: Decision,
}

impl Refused {
    pub(crate) fn new(call: &CallId, tool: &str, code: Code, reason: impl Into<String>) -> Self {
        let decision = Decision { verdict: Verdict::Deny, code, reason: reason.into(), trace: Vec::new() };
        Self { call: call.clone(), tool: tool.to_owned(), decision }
    }
}

/// A note of a hook's change, with the hook's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The hook.
    pub hook: String,
    /// What it changed.
    pub note: HookNote,
}
