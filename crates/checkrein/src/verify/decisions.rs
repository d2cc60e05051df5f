//! I3: each decision, computed again from the log and the policy in it, is the one that was logged.

use checkrein_contract::{Body, Foreseen, TraceStep, Winner};
use checkrein_policy::decide;

use super::{Journal, Problem};
use crate::setup::load_policy;

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let opened = journal.opened;
    let policy = load_policy(&opened.policy, &opened.place, &opened.identity, &opened.variables);
    let policy = policy.map_err(|error| Problem { seq: 1, problem: error.to_string() })?;
    if *policy.digest() != opened.policy_digest {
        return Err(Problem { seq: 1, problem: "the policy is not the one its digest names".to_owned() });
    }
    for event in journal.events {
        let Body::Decision { call, decision, facts, .. } = &event.body else { continue };
        if decision.trace.is_empty() {
            // Refused before it could be judged: there is nothing to compute.
            continue;
        }
        let again = decide(&policy, &foreseen(&decision.trace), facts);
        let from_policy: Vec<_> = decision
            .trace
            .iter()
            .filter(|step| step.effect.is_some() || step.winner == Winner::NoEffect)
            .cloned()
            .collect();
        if again.trace != from_policy {
            return Err(Problem::at(event, format!("the policy judges {call} otherwise than the log says")));
        }
        if again.verdict > decision.verdict {
            return Err(Problem::at(
                event,
                format!("{call} was logged as {}, but it is {}", decision.verdict, again.verdict),
            ));
        }
        let added = decision.trace.len() > from_policy.len();
        if !added && again.verdict != decision.verdict {
            return Err(Problem::at(
                event,
                format!("{call} was logged as {}, but it is {}", decision.verdict, again.verdict),
            ));
        }
    }
    Ok(())
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
