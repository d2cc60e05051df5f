//! run: guards once more, then hooks around the tool, under the harness's time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use checkrein_contract::{BoxFuture, Call, CallKind, Code};
use serde_json::Value;

use super::decide::refusals;
use crate::approved::Approved;
use crate::catch::catch_async;
use crate::gate::Scene;
use crate::ports::{After, Around, Failure, Guard, GuardView, Hook, Next, RunContext};

/// How the body came out.
pub(crate) struct Ran {
    pub(crate) result: Result<Value, Failure>,
    /// A hook answered in the tool's place; nothing ran.
    pub(crate) answered: bool,
    /// A guard refused right before the run; nothing ran.
    pub(crate) refused: bool,
}

/// How long a cancelled tool may take to end by itself before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn run(
    approved: &Approved,
    hooks: &[Arc<dyn Hook>],
    guards: &[Arc<dyn Guard>],
    scene: &Scene<'_>,
    context: RunContext<'_>,
) -> Ran {
    let view = GuardView {
        call: &approved.call,
        effects: &approved.grant.effects,
        facts: &approved.grant.facts,
        identity: scene.identity,
        place: scene.place,
        spend: scene.spend,
        identical_failures: scene.identical_failures(&approved.call),
    };
    if let Some((_, code, reason)) = refusals(guards, &view).into_iter().next() {
        return Ran { result: Err(Failure::new(code, reason)), answered: false, refused: true };
    }
    let reached = AtomicBool::new(false);
    let result = match catch_async(|| around(approved, hooks, context, &reached)).await {
        Ok(result) => result,
        Err(panicked) => {
            Err(Failure::new(Code::HookFailed, format!("a hook around the call panicked: {}", panicked.0)))
        }
    };
    let answered = !reached.load(Ordering::Relaxed);
    let result = match result {
        Ok(value) => after(&approved.call, hooks, value).await,
        failed => failed,
    };
    Ran { result, answered, refused: false }
}

/// Hooks from the outermost to the innermost, then the body. Only reaching the body counts as a run.
fn around<'a>(
    approved: &'a Approved,
    hooks: &'a [Arc<dyn Hook>],
    context: RunContext<'a>,
    reached: &'a AtomicBool,
) -> BoxFuture<'a, Around> {
    match hooks.split_first() {
        None => Box::pin(async move {
            reached.store(true, Ordering::Relaxed);
            body(approved, context).await
        }),
        Some((hook, inner)) => {
            hook.around(&approved.call, Next::new(move || around(approved, inner, context, reached)))
        }
    }
}

async fn body(approved: &Approved, context: RunContext<'_>) -> Around {
    let limit_ms = approved.entry.tool.timeout_ms(&approved.call.args);
    let run = catch_async(|| approved.entry.tool.run(approved, context));
    let cancelled = async {
        context.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        done = run => match done {
            Ok(result) => result,
            Err(panicked) => Err(Failure::new(Code::ToolPanicked, "the tool broke off unexpectedly").because(panicked.0)),
        },
        () = tokio::time::sleep(Duration::from_millis(limit_ms)) => {
            Err(given_up(approved, Code::ToolTimeout, &format!("it was stopped after its limit of {limit_ms} ms")))
        }
        () = cancelled => Err(given_up(approved, Code::Cancelled, "the run was cancelled")),
    }
}

/// The end of a body that was not waited for any longer. What it had sent somewhere may still take effect there, so only a
/// call that changes nothing has failed for certain.
fn given_up(approved: &Approved, code: Code, what: &str) -> Failure {
    match approved.kind() {
        CallKind::Pure => Failure::new(code, what),
        CallKind::Idempotent | CallKind::Once => {
            Failure::new(Code::ToolOutcomeUnknown, format!("{what}, and may have taken effect"))
        }
    }
}

/// Hooks after the call, innermost first.
async fn after(call: &Call, hooks: &[Arc<dyn Hook>], mut value: Value) -> Result<Value, Failure> {
    for hook in hooks.iter().rev() {
        let failed = |what: String| Failure::new(Code::HookFailed, format!("hook `{}`: {what}", hook.name()));
        match catch_async(|| hook.after(call, &value)).await {
            Ok(Ok(After::Keep)) => {}
            Ok(Ok(After::Change(other))) => value = other,
            Ok(Ok(After::Fail(reason))) => return Err(failed(reason)),
            Ok(Err(failure)) => return Err(failed(failure.to_string())),
            Err(panicked) => return Err(failed(format!("it panicked: {}", panicked.0))),
        }
    }
    Ok(value)
}
