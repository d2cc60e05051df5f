//! `hook`: in front of other agents.

mod claude;
mod codex;
mod judge;
mod settings;
mod watch;

use checkrein::HarnessError;
use checkrein::hook::Caller;

use super::usage;
use crate::arguments::{Agent, Hook, HookAction};
use crate::context::Context;

pub(super) fn run(arguments: &Hook, context: &Context) -> Result<u8, HarnessError> {
    match &arguments.action {
        Some(HookAction::Install(arguments)) => settings::install(arguments, context),
        Some(HookAction::Uninstall(arguments)) => settings::uninstall(arguments, context),
        None => {
            let agent = arguments.agent.ok_or_else(|| usage("say whose hook it is: --for claude, or --for codex"))?;
            let caller = caller(agent);
            if arguments.judge {
                judge::run(caller, arguments.policy.as_deref(), context)
            } else {
                Ok(watch::run(caller, arguments.policy.as_deref(), context))
            }
        }
    }
}

pub(super) fn caller(agent: Agent) -> Caller {
    match agent {
        Agent::Claude => Caller::Claude,
        Agent::Codex => Caller::Codex,
    }
}
