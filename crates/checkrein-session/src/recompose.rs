//! The fold of a change of what is in force: a fork that begins, or a session that is taken up under other tools or rules.

use std::sync::Arc;

use checkrein_contract::Recomposed;
use serde_json::Value;

use crate::state::{Phase, State, hidden_by};

impl State {
    pub(crate) fn recomposed(&mut self, change: &Recomposed) {
        if let Some(place) = change.place.as_ref().filter(|place| place.root != self.opened.place.root) {
            self.moved(&self.opened.place.root.clone(), &place.root);
        }
        if change.model.is_some() {
            // What one model wants to be reminded of is nothing for another, and one that is named anew begins anew.
            self.provider = Value::Null;
            // What one took says nothing of another.
            self.overflows = 0;
            if self.room.take().is_some() {
                self.trimmed.clear();
            }
        }
        let opened = Arc::make_mut(&mut self.opened);
        opened.recompose(change);
        self.hidden = hidden_by(&opened.skills);
        self.deferred = opened.deferred.iter().cloned().collect();
        if change.forked {
            self.forked();
        }
    }

    /// The same files lie elsewhere now: what was seen of them was seen.
    fn moved(&mut self, from: &str, to: &str) {
        let there = |path: String| match path.strip_prefix(from) {
            Some(below) if below.is_empty() || below.starts_with('/') => format!("{to}{below}"),
            _ => path,
        };
        let seen = Arc::unwrap_or_clone(std::mem::take(&mut self.seen));
        self.seen = Arc::new(seen.into_iter().map(|(path, version)| (there(path), version)).collect());
    }

    /// Nobody was asked in this session yet, nothing stopped it, and a reply that was on its way never comes.
    fn forked(&mut self) {
        self.approvals.clear();
        self.asked.clear();
        self.remembered.clear();
        self.stop = None;
        self.settle_lost();
        if self.phase == Phase::Waiting {
            self.phase = Phase::Ready;
        }
    }
}
