//! I3: each decision, computed again from the log and the policy in it, is the one that was logged.

use std::sync::Arc;

use checkrein_contract::{Body, Decision, Facts, Foreseen, SessionOpened, TraceStep, Winner};
use checkrein_policy::{Policy, decide};

use super::{Journal, Problem};
use crate::setup::policy_of;

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut opened = journal.opened.clone();
    let mut policy = in_force(&opened, 1)?;
    for event in journal.events {
        match &event.body {
            Body::Recomposed(change) => opened.recompose(change),
            Body::Remembered(yes) => opened.remember(yes),
            Body::Forgotten { rule, policy_digest, .. } => opened.forget(rule, policy_digest),
            _ => {}
        }
        if matches!(event.body, Body::Recomposed(_) | Body::Remembered(_) | Body::Forgotten { .. }) {
            policy = in_force(&opened, event.seq)?;
        }
        let Body::Decision { call, decision, facts, .. } = &event.body else { continue };
        if decision.trace.is_empty() {
            // Refused before it could be judged: there is nothing to compute.
            continue;
        }
        let again = judged_again(&policy, decision, facts);
        if again.trace != decision.trace {
            return Err(Problem::at(event, format!("the policy judges {call} otherwise than the log says")));
        }
        if again.verdict != decision.verdict {
            return Err(Problem::at(
                event,
                format!("{call} was logged as {}, but it is {}", decision.verdict, again.verdict),
            ));
        }
    }
    Ok(())
}

/// The policy that this event puts in force.
fn in_force(opened: &SessionOpened, seq: u64) -> Result<Arc<Policy>, Problem> {
    let policy = policy_of(opened).map_err(|error| Problem { seq, problem: error.to_string() })?;
    if *policy.digest() != opened.policy_digest {
        return Err(Problem { seq, problem: "the policy is not the one its digest names".to_owned() });
    }
    Ok(policy)
}

/// The decision again: what the policy says of the same effects and facts, and what hooks, guards and the lack of a sandbox
/// added to it, which the log alone knows. They only tighten, so the strictest word of all is the verdict.
pub(crate) fn judged_again(policy: &Policy, logged: &Decision, facts: &Facts) -> Decision {
    let mut again = decide(policy, &foreseen(&logged.trace), facts);
    for step in logged.trace.iter().filter(|step| !is_of_policy(step)) {
        if step.decision > again.verdict {
            // The words of whoever tightened it: code and reason of the first that was as strict as the outcome.
            again.verdict = step.decision;
            (again.code, again.reason) = (logged.code, logged.reason.clone());
        }
        again.trace.push(step.clone());
    }
    again
}

fn is_of_policy(step: &TraceStep) -> bool {
    step.effect.is_some() || step.winner == Winner::NoEffect
}

/// What was judged, as the trace holds it: each effect, and the simple command it belongs to.
pub(crate) fn foreseen(trace: &[TraceStep]) -> Foreseen {
    let mut foreseen = Foreseen::default();
    for step in trace {
        if let Some(effect) = &step.effect {
            foreseen.effects.push(effect.clone());
            foreseen.parts.push(step.part);
        }
    }
    foreseen
}
