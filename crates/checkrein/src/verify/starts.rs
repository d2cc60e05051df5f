//! I1: each start cites the last decision before it and has one end. I2: no start without an allow or a used approval.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{Answer, ApprovalId, Body, CallId, CallKind, Settlement, Verdict};
use checkrein_gate::RecordedApproval;

use super::{Journal, Problem};

/// I1. A start of a call that was interrupted may be followed by another, of one that may not be repeated only after a
/// person said so; an end comes once, and only the last call of a session that was cut off may lack it.
pub(super) fn check_starts(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut decided: BTreeMap<&CallId, u64> = BTreeMap::new();
    let mut ended: BTreeMap<&CallId, u64> = BTreeMap::new();
    let mut once: BTreeSet<&CallId> = BTreeSet::new();
    for event in journal.events {
        match &event.body {
            Body::Decision { call, .. } => {
                decided.insert(call, event.seq);
            }
            Body::Settled { call, settlement: Settlement::Repeat, .. } => {
                once.remove(call);
            }
            Body::Started { call, kind, .. } => {
                if *kind == CallKind::Once && !once.insert(call) {
                    return Err(Problem::at(
                        event,
                        format!("{call} was started again, and nobody said that it may be"),
                    ));
                }
                if !decided.contains_key(call) {
                    return Err(Problem::at(event, format!("{call} was started without a decision")));
                }
                if ended.contains_key(call) {
                    return Err(Problem::at(event, format!("{call} was started after it had ended")));
                }
            }
            Body::Finished(finished) => {
                if let Some(earlier) = ended.insert(&finished.call, event.seq) {
                    return Err(Problem::at(event, format!("{} ended already in event {earlier}", finished.call)));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// I2.
pub(super) fn check_effects(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut decided: BTreeMap<&CallId, Verdict> = BTreeMap::new();
    let mut asked: BTreeMap<&ApprovalId, RecordedApproval> = BTreeMap::new();
    for event in journal.events {
        match &event.body {
            Body::Decision { call, decision, .. } => {
                decided.insert(call, decision.verdict);
            }
            Body::Ask(request) => {
                asked.insert(&request.id, RecordedApproval::new((**request).clone()));
            }
            Body::Approval { id, answer } => {
                // An answer that nobody asked for, or of somebody who may not give it, counts for nothing.
                if let Some(approval) = asked.get_mut(id) {
                    approval.record(&event.by, answer.clone());
                }
            }
            Body::Started { call, approval, .. } => {
                let by_person = approval.as_ref().is_some_and(|id| {
                    let approval = asked.get(id).filter(|approval| approval.request().call == *call);
                    approval.is_some_and(|approval| matches!(approval.answer(), Some(Answer::Approved { .. })))
                });
                let fine = match decided.get(call) {
                    Some(Verdict::Allow) => true,
                    Some(Verdict::Ask) => by_person,
                    Some(Verdict::Deny) | None => false,
                };
                if !fine {
                    return Err(Problem::at(event, format!("{call} was started, and nothing before allows it")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
