//! The world: a gate and everything a call meets on its way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, Approvers, CallId, Code, Decision, Digest, Finished, Identity, Layer,
    Place, PolicySource, ProposedCall, RawCall, SessionId, Spend, Verdict,
};
use checkrein_gate::{
    Gate, Guard, Hook, Judged, RecordedApproval, Redactor, Refused, Registry, RunContext, Scene, parse, start,
};
use checkrein_policy::{Policy, Variables};
use tokio_util::sync::CancellationToken;

use crate::ports::{AsWritten, InMemory, Kept, NoPrograms};

/// The time in a world, milliseconds since 1970.
pub const NOW: u64 = 1_000_000;

/// What a person says when a call asks.
#[derive(Clone, Copy)]
pub enum Yes<'a> {
    /// Nothing: the call is refused.
    Nobody,
    /// Yes, to exactly this call.
    Asked,
    /// What is on record.
    Recorded(&'a RecordedApproval),
}

/// A gate and everything a call meets on its way. Every part can be looked at and changed between calls.
pub struct World {
    /// The gate.
    pub gate: Gate,
    /// The journal.
    pub journal: InMemory,
    /// Names of the tools the session may see; at first all that are registered.
    pub offered: BTreeSet<String>,
    /// How often each identical call failed before.
    pub failures: BTreeMap<Digest, u32>,
    /// Versions of the files the session has seen.
    pub seen: BTreeMap<String, Option<Digest>>,
    /// Whether programs may run although nothing confines them.
    pub unconfined_allowed: bool,
    /// What can not be confined is refused.
    pub confinement_required: bool,
    /// Whether the harness itself calls, not the model.
    pub by_harness: bool,
    /// The session.
    pub session: SessionId,
    /// Where it works.
    pub place: Place,
    /// For whom.
    pub identity: Identity,
    /// What was spent.
    pub spend: Spend,
    /// Stops running calls.
    pub cancel: CancellationToken,
    calls: u32,
}

impl World {
    /// These tools under this policy (TOML), below the floor. No hook, no guard, no program that runs, paths as they are
    /// written; set the parts of `gate` for more.
    ///
    /// # Panics
    /// Where the policy has a mistake in it.
    pub fn new(registry: Registry, policy_text: &str, place: Place) -> Self {
        let offered = registry.names().map(str::to_owned).collect();
        Self {
            gate: Gate {
                registry,
                policy: Arc::new(policy(policy_text, &Variables::new(&place, &Identity::default()))),
                hooks: Vec::new(),
                guards: Vec::new(),
                facts: Arc::new(AsWritten),
                sandbox: Arc::new(NoPrograms::default()),
                spill: Arc::new(Kept::default()),
                redactor: Redactor::default(),
            },
            journal: InMemory::default(),
            offered,
            failures: BTreeMap::new(),
            seen: BTreeMap::new(),
            unconfined_allowed: false,
            confinement_required: false,
            by_harness: false,
            session: SessionId::new("s-1"),
            place,
            identity: Identity::default(),
            spend: Spend::default(),
            cancel: CancellationToken::new(),
            calls: 1,
        }
    }

    /// With one hook more, after those that are there.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.gate.hooks.push(Arc::new(hook));
        self
    }

    /// With one guard more.
    #[must_use]
    pub fn guard(mut self, guard: impl Guard + 'static) -> Self {
        self.gate.guards.push(Arc::new(guard));
        self
    }

    /// What the gate is told of the session.
    pub fn scene(&self) -> Scene<'_> {
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

    /// The next call as a model would propose it; `arguments` is the text of its arguments, well-formed or not.
    pub fn propose(&self, tool: &str, arguments: &str) -> ProposedCall {
        let id = CallId::new(format!("c{}-1", self.calls));
        parse(id, &RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() })
    }

    /// Judges the next call, without running it.
    ///
    /// # Errors
    /// The refusal, where no decision of the policy was reached.
    pub async fn judge(&self, tool: &str, arguments: &str) -> Result<Judged, Refused> {
        self.gate.judge(&self.propose(tool, arguments), &self.scene()).await
    }

    /// A whole call. What asks is refused.
    pub async fn call(&mut self, tool: &str, arguments: &str) -> Finished {
        self.call_with(tool, arguments, Yes::Nobody).await
    }

    /// A whole call, and what a person says where it asks.
    pub async fn call_with(&mut self, tool: &str, arguments: &str, yes: Yes<'_>) -> Finished {
        self.call_while(tool, arguments, yes, || {}).await
    }

    /// A whole call, in a world where something happens between the decision and the run.
    ///
    /// # Panics
    /// Where the gate would run a call whose start is not on record.
    pub async fn call_while(
        &mut self,
        tool: &str,
        arguments: &str,
        yes: Yes<'_>,
        meanwhile: impl FnOnce(),
    ) -> Finished {
        let proposed = self.propose(tool, arguments);
        self.calls += 1;
        let judged = match self.gate.judge(&proposed, &self.scene()).await {
            Ok(judged) => judged,
            Err(refused) => return refused.finished(),
        };
        let asked =
            (matches!(yes, Yes::Asked) && judged.decision().verdict == Verdict::Ask).then(|| self.approval_of(&judged));
        let approval = match yes {
            Yes::Recorded(approval) => Some(approval),
            Yes::Asked | Yes::Nobody => asked.as_ref(),
        };
        let approved = match judged.admit(approval, NOW) {
            Ok(approved) => approved,
            Err(refused) => return refused.finished(),
        };
        meanwhile();
        let before = self.journal.events.len();
        let started = match start(vec![approved], &mut self.journal) {
            Ok(mut started) => started.remove(0),
            Err(failure) => {
                let decision = Decision {
                    verdict: Verdict::Deny,
                    code: Code::JournalUnavailable,
                    reason: failure.reason,
                    trace: Vec::new(),
                };
                return Refused { call: proposed.id, tool: tool.to_owned(), decision }.finished();
            }
        };
        assert_eq!(self.journal.events.len(), before + 1, "the start is recorded before anything runs");
        let context = RunContext {
            place: &self.place,
            identity: &self.identity,
            sandbox: &*self.gate.sandbox,
            spill: &*self.gate.spill,
            seen: &self.seen,
            cancel: &self.cancel,
        };
        let finished = self.gate.run(started, &self.scene(), context).await;
        for seen in &finished.seen {
            self.seen.insert(seen.path.clone(), seen.version.clone());
        }
        finished
    }

    /// A yes to exactly the call that this one would be.
    ///
    /// # Panics
    /// Where the call is refused before anybody would be asked.
    pub async fn approved(&self, tool: &str, arguments: &str) -> RecordedApproval {
        match self.judge(tool, arguments).await {
            Ok(judged) => self.approval_of(&judged),
            Err(refused) => panic!("nobody would be asked: {}", refused.decision.reason),
        }
    }

    fn approval_of(&self, judged: &Judged) -> RecordedApproval {
        let mut approval = RecordedApproval::new(request(&self.session, judged));
        let yes = Answer::Approved { expires_at: NOW + 1_000, uses: 1 };
        approval.record(&Actor::Person("dana".to_owned()), yes);
        approval
    }
}

/// The question a person would be asked about this call; it is open for a second.
pub fn request(session: &SessionId, judged: &Judged) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId::new("a-1"),
        session: session.clone(),
        call: judged.call().id.clone(),
        tool: judged.call().tool.clone(),
        arguments: judged.call().args.clone(),
        effects: judged.effects().to_vec(),
        reason: judged.decision().reason.clone(),
        binds: judged.binds(),
        rests_on: judged.rests_on().to_vec(),
        runs: judged.runs().clone(),
        identity: Identity::default(),
        approvers: Approvers::default(),
        policy: Digest::of(b""),
        requested_at: NOW,
        expires_at: NOW + 1_000,
    }
}

/// A project's policy (TOML), by itself.
///
/// # Panics
/// Where there is a mistake in it.
pub fn policy(text: &str, variables: &Variables) -> Policy {
    let source = PolicySource {
        layer: Layer::Project,
        file: "policy.toml".to_owned(),
        text: text.to_owned(),
        only_tightens: false,
    };
    match Policy::load(&[source], variables) {
        Ok(policy) => policy,
        Err(error) => panic!("{error}"),
    }
}
