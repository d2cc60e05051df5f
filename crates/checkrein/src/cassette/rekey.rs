//! New keys for answers that are kept, where tools are described otherwise than when they were recorded and nothing else is.

use std::collections::BTreeMap;
use std::path::Path;

use checkrein_contract::{Actor, Body, EVENT_VERSION, Event, Lane, first_difference};
use checkrein_providers::{Cassette, Header};
use checkrein_session::State;
use serde_json::{Value, json};

use super::origin::{digests, task_in};
use super::{load, scrub_of};
use crate::HarnessError;
use crate::setup::{Harness, Prepared, RunOptions};

/// Gives the answers of a cassette the keys that requests have now. Gives back the new cassette and the tools that are described
/// otherwise; none where the keys are what they were. Nothing is written, run or asked.
///
/// # Errors
/// [`HarnessError`] where something else is different too: task, instructions, which tools there are. Then the answers are those
/// to another question, and only a model can give new ones.
pub fn re_keyed(harness: &Harness, file: &Path) -> Result<(Cassette, Vec<String>), HarnessError> {
    let fail = |why: String| HarnessError::Task(format!("{}: {why}", file.display()));
    let old = load(file)?;
    let header = old.header();
    let task = task_in(&header.task, file.parent().unwrap_or(Path::new(".")), &harness.folder)?;
    let session = harness.machine().session_id();
    let Prepared { opened, context, redactor, .. } =
        harness.prepare(&task, &RunOptions::default(), &session, header.model.clone())?;
    let now = digests(&task, &opened)?;
    let then = &header.digests;
    for (what, then, now) in [("task.toml", &then.config, &now.config), ("the instructions", &then.system, &now.system)]
    {
        if then != now {
            return Err(fail(format!(
                "{what} changed as well, so the answers are to another question: record it anew"
            )));
        }
    }
    let scrub = scrub_of(&opened, &redactor);
    let tools =
        opened.tools.iter().map(|tool| (tool.name.clone(), scrub.hide(json!(tool)))).collect::<BTreeMap<_, _>>();
    let now_ms = harness.machine().clock(false).now_ms();
    let made = old.re_keyed(&tools, now.tools, Header::time(now_ms)).map_err(fail)?;
    // Which tools there are is told by the first request as it would be now.
    let body = Body::Session(Box::new(opened));
    let mut state = State::open(&Event { v: EVENT_VERSION, seq: 1, at: now_ms, by: Actor::Code, body })?;
    let asked = scrub.hide(json!(state.plan_again(&*context, None).request));
    let recorded = made.first_request(&Lane::main()).map(Value::Object).unwrap_or_default();
    for field in ["/system", "/tools", "/tool_choice", "/max_output_tokens"] {
        let at = |request: &Value| request.pointer(field).cloned().unwrap_or_default();
        if let Some(difference) = first_difference(&at(&recorded), &at(&asked)) {
            let (pointer, was, is) = (difference.pointer, difference.expected, difference.found);
            return Err(fail(format!(
                "{field}{pointer} of its first request changed as well: recorded {was}, now {is}: record it anew"
            )));
        }
    }
    let named = made.header().rekeyed.iter().skip(header.rekeyed.len()).flat_map(|re| re.tools.clone()).collect();
    Ok((made, named))
}
