//! What stands around the calls of one group: a snapshot of the state, so that the journal can be written meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use checkrein_contract::{Digest, Identity, Place, ProposedCall, SessionId, Spend};
use checkrein_gate::{Gate, RunContext, Scene, Spill, call_digest};
use checkrein_session::State;
use tokio_util::sync::CancellationToken;

/// The snapshot.
pub(super) struct Snapshot {
    session: SessionId,
    place: Place,
    identity: Identity,
    spend: Spend,
    offered: BTreeSet<String>,
    failures: BTreeMap<Digest, u32>,
    seen: Arc<BTreeMap<String, Option<Digest>>>,
    by_harness: bool,
    unconfined_allowed: bool,
    confinement_required: bool,
}

impl Snapshot {
    pub(super) fn of(state: &State, calls: &[ProposedCall], by_harness: bool) -> Self {
        let opened = state.opened();
        let digests = calls.iter().map(|call| call_digest(&call.tool, &call.args));
        Self {
            session: opened.session.clone(),
            place: opened.place.clone(),
            identity: opened.identity.clone(),
            spend: state.spend().clone(),
            offered: opened.tools.iter().map(|spec| spec.name.clone()).filter(|name| state.offers(name)).collect(),
            failures: digests.map(|digest| (digest.clone(), state.failures(&digest))).collect(),
            seen: state.seen(),
            by_harness,
            unconfined_allowed: opened.unconfined_by.is_some(),
            confinement_required: opened.confinement_required,
        }
    }

    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            session: &self.session,
            place: &self.place,
            identity: &self.identity,
            spend: &self.spend,
            offered: &self.offered,
            failures: &self.failures,
            by_harness: self.by_harness,
            unconfined_allowed: self.unconfined_allowed,
            confinement_required: self.confinement_required,
        }
    }

    pub(super) fn run_context<'a>(
        &'a self,
        gate: &'a Gate,
        spill: &'a dyn Spill,
        cancel: &'a CancellationToken,
    ) -> RunContext<'a> {
        RunContext {
            place: &self.place,
            identity: &self.identity,
            sandbox: &*gate.sandbox,
            spill,
            seen: &self.seen,
            cancel,
        }
    }
}
