//! I10: an approval is used at most as often as it says.

use std::collections::BTreeMap;

use checkrein_contract::{Answer, ApprovalId, Body};

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut left: BTreeMap<&ApprovalId, u32> = BTreeMap::new();
    for event in journal.events {
        match &event.body {
            Body::Approval { id, answer: Answer::Approved { uses, .. } } => {
                left.entry(id).or_insert(*uses);
            }
            Body::Approval { id, answer: Answer::Revoked { .. } | Answer::Denied { .. } } => {
                left.insert(id, 0);
            }
            Body::Started { call, approval: Some(id), .. } => match left.get_mut(id) {
                Some(uses) if *uses > 0 => *uses -= 1,
                _ => return Err(Problem::at(event, format!("{call} used approval {id}, which had no use left"))),
            },
            _ => {}
        }
    }
    Ok(())
}
