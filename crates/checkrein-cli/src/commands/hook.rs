//! `hook`: in front of other agents.

mod claude;
mod codex;
mod judge;
mod ours;
mod settings;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};

use checkrein::HarnessError;

use super::usage;
use crate::arguments::{Hook, HookAction};
use crate::context::Context;

pub(super) fn run(arguments: &Hook, context: &Context) -> Result<u8, HarnessError> {
    match &arguments.action {
        Some(HookAction::Install(arguments)) => settings::install(arguments, context),
        Some(HookAction::Uninstall(arguments)) => settings::uninstall(arguments, context),
        None => {
            let agent = arguments.agent.ok_or_else(|| usage("say whose hook it is: --for claude, or --for codex"))?;
            let caller = agent.into();
            if arguments.judge {
                judge::run(caller, arguments.policy.as_deref(), context)
            } else {
                // A panic would end the process with a code that lets the call run.
                let answered =
                    catch_unwind(AssertUnwindSafe(|| watch::run(caller, arguments.policy.as_deref(), context)));
                Ok(answered.unwrap_or_else(|_| watch::tell(caller, &caller.block("the hook panicked"))))
            }
        }
    }
}
