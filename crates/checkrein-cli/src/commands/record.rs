//! `record`: a session's calls as fixtures, ours or another agent's.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use checkrein::HarnessError;
use checkrein::hook::{Caller, Watch};
use checkrein::past::{Past, fixtures};
use serde_json::{Value, json};

use super::policy_file::{read, source};
use super::{block_on, usage};
use crate::arguments::Record;
use crate::context::Context;
use crate::view::{printable, recorded_call};

pub(super) fn run(arguments: &Record, context: &Context) -> Result<u8, HarnessError> {
    let lines = match arguments.agent {
        Some(agent) => theirs(arguments, agent.into(), context)?,
        None => {
            let store = context.store()?;
            let session = store.find(&arguments.session)?;
            let past = Past::read(&*store, &[session])?;
            let recorded = fixtures(&past)?;
            for call in recorded.left.iter().filter_map(|at| past.calls().get(*at)) {
                let why = "its session had moved, or acted for somebody else; a file has one world";
                context.complain(&format!("not recorded: {}: {why}", printable(&recorded_call(call))));
            }
            recorded.lines
        }
    };
    let mut out = context.out();
    for line in lines {
        _ = writeln!(out, "{line}");
    }
    Ok(0)
}

/// The calls of another agent's session file, with the decisions that the policy gives them now.
fn theirs(arguments: &Record, caller: Caller, context: &Context) -> Result<Vec<String>, HarnessError> {
    let calls = caller.calls(&read(Path::new(&arguments.session))?);
    for left in &calls.left {
        context.complain(&format!("{}: {}", arguments.session, printable(left)));
    }
    let Some(root) = calls.root.as_ref().filter(|_| !calls.payloads.is_empty()).map(PathBuf::from) else {
        return Err(usage("there is no tool call in this file"));
    };
    let policies = context.policies()?;
    let watch = Watch {
        caller,
        root: &root,
        home: context.home(),
        policies: &policies,
        policy: arguments.policy.as_deref().map(source).transpose()?,
        store: None,
    };
    let world = json!({ "root": root, "cwd": root, "home": context.home() });
    let mut lines = vec![json!({ "format": "checkrein-calls-1", "world": world }).to_string()];
    for (number, payload) in calls.payloads.iter().enumerate() {
        let judged = match block_on(watch.judge(payload.to_string().as_bytes()))? {
            Ok(judged) => judged,
            Err(error) => {
                context.complain(&format!("call {}: {error}", number + 1));
                continue;
            }
        };
        let effects: Vec<Value> =
            judged.decision.trace.iter().filter_map(|step| step.effect.as_ref()).map(|effect| json!(effect)).collect();
        let args = checkrein::gate::redact_value(payload["tool_input"].clone());
        lines.push(
            json!({
                "note": format!("{} {}", payload["session_id"].as_str().unwrap_or_default(), number + 1),
                "call": { "tool": payload["tool_name"], "args": args },
                "expected": judged.decision.verdict,
                "effects": effects,
                "facts": judged.facts,
            })
            .to_string(),
        );
    }
    Ok(lines)
}
