//! The process that judges: it reads the payload, asks the policy, journals, and prints one word for the process that
//! started it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use checkrein::HarnessError;
use checkrein::hook::{Caller, Watch};

use super::super::policy_file::source;
use super::super::{block_on, usage};
use super::watch::payload;
use crate::context::Context;

pub(super) fn run(caller: Caller, policy: Option<&Path>, context: &Context) -> Result<u8, HarnessError> {
    let payload = payload().map_err(usage)?;
    let root = root(caller, context);
    let policies = context.policies()?;
    let watch = Watch {
        caller,
        root: &root,
        home: context.home(),
        policies: &policies,
        policy: policy.map(source).transpose()?,
        store: Some(context.store()?),
    };
    let judged = block_on(watch.judge(&payload))??;
    let line = serde_json::to_string(&judged.word).map_err(|error| usage(error.to_string()))?;
    writeln!(std::io::stdout(), "{line}").map_err(|error| usage(format!("standard output: {error}")))?;
    Ok(0)
}

/// Where the agent's session began: what the payload says follows the model's `cd`. Claude Code names it; Codex starts its
/// hooks there.
fn root(caller: Caller, context: &Context) -> PathBuf {
    let named = match caller {
        Caller::Claude => std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|path| path.is_absolute()),
        Caller::Codex => None,
    };
    named.unwrap_or_else(|| context.folder().to_path_buf())
}
