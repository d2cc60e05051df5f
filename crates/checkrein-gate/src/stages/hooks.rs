//! hooks, before: change arguments in listed order, ask, or deny. All of them run; the strictest word counts.

use std::sync::Arc;

use checkrein_contract::{Call, Code, HookNote};

use super::validate::check;
use super::{Changed, Refused, Valid};
use crate::catch::catch_async;
use crate::ports::{Before, Hook};
use crate::registry::Entry;

/// A call with its final arguments, and what the hooks said.
pub(crate) struct Hooked {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) changes: Vec<Changed>,
    pub(crate) words: Vec<Word>,
}

/// What one hook said against letting the call through.
pub(crate) struct Word {
    pub(crate) hook: String,
    pub(crate) denies: bool,
    pub(crate) reason: String,
}

pub(crate) async fn hooks(valid: Valid, hooks: &[Arc<dyn Hook>]) -> Result<Hooked, Refused> {
    let Valid { mut call, entry } = valid;
    let mut changes = Vec::new();
    let mut words = Vec::new();
    for hook in hooks {
        let name = hook.name().to_owned();
        let mut word = |denies, reason| words.push(Word { hook: name.clone(), denies, reason });
        match catch_async(|| hook.before(&call)).await {
            Ok(Ok(Before::Continue)) => {}
            Ok(Ok(Before::Ask(reason))) => word(false, reason),
            Ok(Ok(Before::Deny(reason))) => word(true, reason),
            // A hook that fails must not open anything.
            Ok(Err(failure)) => word(true, format!("the hook failed: {failure}")),
            Err(panicked) => word(true, format!("the hook panicked: {}", panicked.0)),
            Ok(Ok(Before::Change(args))) => {
                check(&call.id, &call.tool, &entry, &args).map_err(|refused| {
                    let reason = format!("hook `{name}` gave arguments that do not fit: {}", refused.decision.reason);
                    Refused::new(&call.id, &call.tool, Code::DeniedByHook, reason)
                })?;
                let old = std::mem::replace(&mut call.args, args.clone());
                changes.push(Changed { hook: name, note: HookNote { call: call.id.clone(), old, new: args } });
            }
        }
    }
    Ok(Hooked { call, entry, changes, words })
}
