//! The fold of remembered yeses: who may add one, and which stand.

use std::sync::Arc;

use checkrein_contract::{Actor, Answer, Digest, Remembered, RuleId};

use crate::state::State;

/// A remembered yes with where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRule {
    /// What was remembered.
    pub remembered: Remembered,
    /// The person whose yes it is.
    pub by: Actor,
    /// Since when, milliseconds since 1970.
    pub at: u64,
    /// Who took it back, and why.
    pub forgotten: Option<(Actor, String)>,
}

impl State {
    /// All remembered yeses of the session, also those that were taken back, by name.
    pub fn remembered(&self) -> impl Iterator<Item = &RecordedRule> {
        self.remembered.values()
    }

    /// Whoever said yes to the request may want it remembered, and nobody else: what it takes to say yes was asked then.
    pub(crate) fn remember(&mut self, by: &Actor, at: u64, remembered: &Remembered) -> Result<(), String> {
        let Remembered { rule, request, .. } = remembered;
        let approval = self.approvals.get(request).ok_or_else(|| format!("nobody asked for approval {request}"))?;
        let theirs = matches!(approval.answer(), Some(Answer::Approved { .. })) && approval.answered_by() == Some(by);
        if !theirs {
            return Err(format!("{by} has not said yes to {request}, so nothing of it is remembered"));
        }
        if *rule != Remembered::id(request) || self.remembered.contains_key(rule) {
            return Err(format!("{rule} is not the name of a yes to {request}, or it is remembered already"));
        }
        Arc::make_mut(&mut self.opened).remember(remembered);
        let recorded = RecordedRule { remembered: remembered.clone(), by: by.clone(), at, forgotten: None };
        self.remembered.insert(rule.clone(), recorded);
        Ok(())
    }

    /// Everybody may take one back.
    pub(crate) fn forget(&mut self, by: &Actor, rule: &RuleId, reason: &str, digest: &Digest) -> Result<(), String> {
        let standing = self.remembered.get_mut(rule).filter(|known| known.forgotten.is_none());
        let known = standing.ok_or_else(|| format!("there is no remembered yes {rule} to take back"))?;
        if !matches!(by, Actor::Person(_)) {
            return Err(format!("{by} is nobody who takes a yes back"));
        }
        known.forgotten = Some((by.clone(), reason.to_owned()));
        Arc::make_mut(&mut self.opened).forget(rule, digest);
        Ok(())
    }
}
