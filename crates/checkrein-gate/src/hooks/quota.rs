//! A quota: the first so many calls of a tool may go on, the rest are denied.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use checkrein_contract::{BoxFuture, Call, CallId};

use crate::ports::{Before, Hook, HookFailure};

/// Allows the first `most` calls of one tool to go on to the policy. A call that is judged again counts once.
#[derive(Debug)]
pub struct Quota {
    name: String,
    tool: String,
    most: usize,
    seen: Mutex<BTreeSet<CallId>>,
}

impl Quota {
    /// A quota for one tool.
    pub fn new(tool: impl Into<String>, most: usize) -> Self {
        let tool = tool.into();
        Self { name: format!("quota-{tool}"), tool, most, seen: Mutex::default() }
    }
}

impl Hook for Quota {
    fn name(&self) -> &str {
        &self.name
    }

    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Before, HookFailure>> {
        Box::pin(async move {
            if call.tool != self.tool {
                return Ok(Before::Continue);
            }
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.contains(&call.id) || seen.len() < self.most {
                seen.insert(call.id.clone());
                return Ok(Before::Continue);
            }
            Ok(Before::Deny(format!("`{}` may be called {} times in this session", self.tool, self.most)))
        })
    }
}
