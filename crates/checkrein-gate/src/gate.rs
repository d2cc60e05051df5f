//! The gate: one place where the application can say no before a tool runs, and the only way to run one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use checkrein_contract::{
    Call, Digest, Facts, Finished, FinishedAs, Identity, Place, ProposedCall, SessionId, Spend, Verdict, digest_json,
};
use checkrein_policy::Policy;
use serde_json::json;
use tokio::time::Instant;

use crate::ports::{FactSource, Guard, Hook, RunContext, Sandbox, Spill};
use crate::redact::{CleanSpill, Redactor};
use crate::registry::Registry;
use crate::stages::{self, Judged, Refused, Started};

/// Everything the stages use. Swapping one part changes nothing else.
pub struct Gate {
    /// Which tools there are.
    pub registry: Registry,
    /// What may be done.
    pub policy: Arc<Policy>,
    /// Code of the host around calls.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Last checks; they can only refuse.
    pub guards: Vec<Arc<dyn Guard>>,
    /// Who answers questions about the world.
    pub facts: Arc<dyn FactSource>,
    /// Where programs run.
    pub sandbox: Arc<dyn Sandbox>,
    /// Where cut text goes.
    pub spill: Arc<dyn Spill>,
    /// Takes secrets out of what comes back; it knows those of the task.
    pub redactor: Redactor,
}

/// What stands around a call: given by the session, never by the model.
pub struct Scene<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Where.
    pub place: &'a Place,
    /// On whose behalf.
    pub identity: &'a Identity,
    /// What has been used.
    pub spend: &'a Spend,
    /// The tools on offer now: stage, skills.
    pub offered: &'a BTreeSet<String>,
    /// How often in a row a call with this digest ([`call_digest`]) failed; absent is never.
    pub failures: &'a BTreeMap<Digest, u32>,
    /// The harness itself asks, not the model.
    pub by_harness: bool,
    /// Somebody said that programs may run unconfined.
    pub unconfined_allowed: bool,
    /// What can not be confined is refused, not asked about.
    pub confinement_required: bool,
}

impl Scene<'_> {
    pub(crate) fn on_offer(&self, tool: &str) -> bool {
        self.offered.contains(tool)
    }

    pub(crate) fn identical_failures(&self, call: &Call) -> u32 {
        self.failures.get(&call_digest(&call.tool, &call.args)).copied().unwrap_or(0)
    }
}

/// What makes two calls the same call: tool and arguments.
pub fn call_digest(tool: &str, args: &serde_json::Value) -> Digest {
    digest_json(&json!([tool, args]))
}

impl Gate {
    /// Judges a call: parse has happened; visible, validate, hooks, foresee and decide happen here, in this order.
    ///
    /// # Errors
    /// [`Refused`] when the call leaves before it can be judged.
    pub async fn judge(&self, proposed: &ProposedCall, scene: &Scene<'_>) -> Result<Judged, Refused> {
        let visible = stages::visible(proposed, &self.registry, scene)?;
        let valid = stages::validate(visible)?;
        let hooked = stages::hooks(valid, &self.hooks).await?;
        let enforcement = self.sandbox.enforcement();
        let foreseen = stages::foresee(hooked, &self.policy, &*self.facts, scene.place, enforcement.hides).await;
        let mut judged = stages::decide(foreseen, &self.policy, &self.guards, &enforcement, scene);
        if judged.decision.verdict == Verdict::Ask {
            // A person is asked about what is there now, so it is looked at now.
            let mut content = Facts::default();
            for question in judged.content() {
                let answer = self.facts.answer(&question).await;
                content.add(question, answer);
            }
            judged.rest_on(&content);
        }
        Ok(judged)
    }

    /// Runs a started call to its end: run, check output, render. Always gives a result.
    pub async fn run(&self, started: Started, scene: &Scene<'_>, context: RunContext<'_>) -> Finished {
        let begin = Instant::now();
        let approved = started.0;
        let spill = CleanSpill { folder: context.spill, redactor: &self.redactor };
        let context = RunContext { spill: &spill, ..context };
        let ran = stages::run(&approved, &self.hooks, &self.guards, scene, context).await;
        let checked = ran.result.and_then(|value| stages::check_output(value, &approved, &self.redactor));
        let mut finished = stages::render(&approved, checked, &spill, &self.redactor);
        if ran.refused {
            finished.ended = FinishedAs::Refused;
        } else if ran.answered {
            finished.ended = FinishedAs::Answered;
        }
        finished.duration_ms = millis(begin.elapsed());
        finished
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
