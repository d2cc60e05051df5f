//! A small world around the gate: two tools, a policy, a journal in memory. Tools run through the one way and no other.
#![expect(dead_code, reason = "each test file uses its part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, Body, BoxFuture, CallId, CallKind, Digest, Effect, Finished, Foreseen,
    Identity, Layer, Place, PolicySource, ProposedCall, Question, RawCall, SessionId, Spend,
};
use checkrein_gate::guards::RepeatedFailures;
use checkrein_gate::{
    Approved, CommandSpec, Concurrency, Enforcement, FactSource, Failure, Gate, Guard, Hook, Judged, RecordFailure,
    RecordedApproval, Recorder, Refused, Registry, Rendered, RunContext, RunOutput, Sandbox, SandboxFailure, Scene,
    Spill, Tool, parse, start,
};
use checkrein_policy::{Policy, Variables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Counts what really ran.
#[derive(Clone, Default)]
pub(crate) struct Ran(Arc<AtomicU32>);

impl Ran {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool that pays money back. What it does is counted.
pub(crate) struct Pay {
    pub(crate) ran: Ran,
    pub(crate) behaviour: Behaviour,
}

/// How the body behaves.
#[derive(Clone, Copy, Default)]
pub(crate) enum Behaviour {
    #[default]
    Well,
    Hangs,
    Panics,
    WrongOutput,
    Huge,
    Leaks,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PayInput {
    /// Order id.
    pub(crate) order: String,
    /// Euros.
    #[schemars(range(min = 0.01))]
    pub(crate) amount: f64,
    /// A note for the customer.
    #[serde(default)]
    pub(crate) note: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct PayOutput {
    /// The receipt.
    pub(crate) receipt: String,
    /// Only there to be wrong.
    #[schemars(range(max = 10))]
    pub(crate) attempts: u32,
}

impl Tool for Pay {
    type Input = PayInput;
    type Output = PayOutput;
    const NAME: &'static str = "pay";
    const DESCRIPTION: &'static str = "Pays money back for an order.";

    fn kind(&self, _input: &PayInput) -> CallKind {
        CallKind::Once
    }

    fn concurrency(&self, input: &PayInput) -> Concurrency {
        if input.amount < 1.0 { Concurrency::Parallel } else { Concurrency::Exclusive }
    }

    fn timeout_ms(&self, _input: &PayInput) -> u64 {
        1_000
    }

    fn effects(&self, input: &PayInput, place: &Place) -> Foreseen {
        let args = json!({ "order": input.order, "amount": input.amount });
        Foreseen::of(vec![
            Effect::Tool { tool: "pay".to_owned(), server: None, args },
            Effect::Read { path: format!("{}/{}", place.root, input.order) },
        ])
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        input: PayInput,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<PayOutput, Failure>> {
        Box::pin(async move {
            self.ran.0.fetch_add(1, Ordering::SeqCst);
            let receipt = match self.behaviour {
                Behaviour::Hangs => std::future::pending().await,
                Behaviour::Panics => panic!("the till is on fire"),
                Behaviour::Huge => "x".repeat(1_000_000),
                Behaviour::Leaks => format!("token ghp_{}", "a1B2".repeat(9)),
                Behaviour::Well | Behaviour::WrongOutput => format!("paid {} for {}", input.amount, input.order),
            };
            let attempts = if matches!(self.behaviour, Behaviour::WrongOutput) { 99 } else { 1 };
            Ok(PayOutput { receipt, attempts })
        })
    }

    fn render(&self, _input: &PayInput, output: &PayOutput) -> Rendered {
        Rendered::whole(output.receipt.clone())
    }

    fn examples() -> Vec<Value> {
        vec![json!({ "order": "o-1", "amount": 5 })]
    }
}

/// A guard that refuses everything, for this reason.
pub(crate) struct Refuses(pub(crate) &'static str);

impl Guard for Refuses {
    fn name(&self) -> &str {
        "refuses"
    }

    fn refuse(&self, _view: &checkrein_gate::GuardView<'_>) -> Result<Option<String>, String> {
        Ok(Some(self.0.to_owned()))
    }
}

/// The policy of the small world: small payments are free, larger ones ask, others are denied.
pub(crate) const POLICY: &str = r#"
version = 1
[[rule]]
id = "small"
decision = "allow"
reason = "small change"
effect = "tool"
tool = "pay"
where.amount = { max = 10 }
[[rule]]
id = "large"
decision = "ask"
reason = "a person approves larger sums"
effect = "tool"
tool = "pay"
where.amount = { min = 10.01, max = 100 }
[[rule]]
id = "huge"
decision = "deny"
reason = "nobody pays this much"
effect = "tool"
tool = "pay"
where.amount = { min = 100.01 }
[[rule]]
id = "orders"
decision = "allow"
reason = "orders may be read"
effect = "read"
paths = ["{root}/**"]
"#;

/// Links of the world: `o-secret` is a link to a secret.
pub(crate) struct Links;

impl FactSource for Links {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        let Question::RealPath { path } = question;
        let real = if path.ends_with("/o-secret") { "/etc/shadow".to_owned() } else { path.clone() };
        Box::pin(async move { Some(real) })
    }
}

/// Nothing runs programs in these tests.
pub(crate) struct NoPrograms {
    pub(crate) confines: bool,
}

impl Sandbox for NoPrograms {
    fn enforcement(&self) -> Enforcement {
        Enforcement { confines: self.confines, words: "nothing runs here".to_owned() }
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        command: CommandSpec,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        Box::pin(async move { Err(SandboxFailure::NoProgram { program: command.argv.concat() }) })
    }
}

/// Keeps what was cut in memory.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Mutex<BTreeMap<String, Vec<u8>>>);

impl Spill for Kept {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        self.0.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        Some(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/spill").join(name)
    }
}

/// A journal in memory that can be told to fail.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) events: Vec<(Actor, Body)>,
    pub(crate) flushed: usize,
    pub(crate) broken: bool,
}

impl Recorder for Memory {
    fn record(&mut self, by: Actor, body: Body) -> Result<(), RecordFailure> {
        if self.broken {
            return Err(RecordFailure { reason: "the disk is full".to_owned() });
        }
        self.events.push((by, body));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordFailure> {
        self.flushed = self.events.len();
        Ok(())
    }
}

/// The whole small world.
pub(crate) struct World {
    pub(crate) gate: Gate,
    pub(crate) ran: Ran,
    pub(crate) kept: Arc<Kept>,
    pub(crate) journal: Memory,
    pub(crate) offered: BTreeSet<String>,
    pub(crate) failures: BTreeMap<Digest, u32>,
    pub(crate) unconfined: bool,
    pub(crate) by_harness: bool,
    pub(crate) session: SessionId,
    pub(crate) place: Place,
    pub(crate) identity: Identity,
    pub(crate) spend: Spend,
    pub(crate) cancel: CancellationToken,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::behaving(Behaviour::Well)
    }

    pub(crate) fn behaving(behaviour: Behaviour) -> Self {
        let ran = Ran::default();
        let mut registry = Registry::new();
        registry.add(Pay { ran: ran.clone(), behaviour }).unwrap();
        let place = Place { root: "/srv/shop".into(), cwd: "/srv/shop".into(), home: "/home/dev".into() };
        let kept = Arc::new(Kept::default());
        Self {
            gate: Gate {
                registry,
                policy: Arc::new(policy(POLICY, &place)),
                hooks: Vec::new(),
                guards: vec![Arc::new(RepeatedFailures)],
                facts: Arc::new(Links),
                sandbox: Arc::new(NoPrograms { confines: false }),
                spill: Arc::clone(&kept) as Arc<dyn Spill>,
            },
            ran,
            kept,
            journal: Memory::default(),
            offered: BTreeSet::from(["pay".to_owned()]),
            failures: BTreeMap::new(),
            unconfined: false,
            by_harness: false,
            session: SessionId::new("s-1"),
            place,
            identity: Identity::default(),
            spend: Spend::default(),
            cancel: CancellationToken::new(),
        }
    }

    #[must_use]
    pub(crate) fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.gate.hooks.push(Arc::new(hook));
        self
    }

    #[must_use]
    pub(crate) fn guard(mut self, guard: impl Guard + 'static) -> Self {
        self.gate.guards.push(Arc::new(guard));
        self
    }

    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            session: &self.session,
            place: &self.place,
            identity: &self.identity,
            spend: &self.spend,
            offered: &self.offered,
            failures: &self.failures,
            by_harness: self.by_harness,
            unconfined_allowed: self.unconfined,
        }
    }

    pub(crate) fn propose(&self, tool: &str, arguments: &str) -> ProposedCall {
        parse(CallId::new("c1-1"), &RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() })
    }

    pub(crate) async fn judge(&self, tool: &str, arguments: &str) -> Result<Judged, Refused> {
        self.gate.judge(&self.propose(tool, arguments), &self.scene()).await
    }

    /// The whole way; what asks is not answered.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> Finished {
        self.call_with(tool, arguments, None).await
    }

    /// The whole way, with an approval at hand.
    pub(crate) async fn call_with(
        &mut self,
        tool: &str,
        arguments: &str,
        approval: Option<&RecordedApproval>,
    ) -> Finished {
        let judged = match self.judge(tool, arguments).await {
            Ok(judged) => judged,
            Err(refused) => return refused.finished(),
        };
        let approved = match judged.admit(approval, NOW) {
            Ok(approved) => approved,
            Err(refused) => return refused.finished(),
        };
        let started = match start(vec![approved], &mut self.journal) {
            Ok(mut started) => started.remove(0),
            Err(failure) => {
                let refused = Refused {
                    call: CallId::new("c1-1"),
                    tool: tool.to_owned(),
                    decision: checkrein_contract::Decision {
                        verdict: checkrein_contract::Verdict::Deny,
                        code: checkrein_contract::Code::JournalUnavailable,
                        reason: failure.reason,
                        trace: Vec::new(),
                    },
                };
                return refused.finished();
            }
        };
        let seen = BTreeMap::new();
        let context = RunContext {
            place: &self.place,
            identity: &self.identity,
            sandbox: &*self.gate.sandbox,
            spill: &*self.kept,
            seen: &seen,
            cancel: &self.cancel,
        };
        self.gate.run(started, &self.scene(), context).await
    }

    /// A request for approval of this very call, answered with yes.
    pub(crate) async fn approved(&self, tool: &str, arguments: &str) -> RecordedApproval {
        let judged = self.judge(tool, arguments).await.unwrap();
        let mut approval = RecordedApproval::new(request(&self.session, &judged));
        approval.record(Answer::Approved { expires_at: NOW + 1_000, uses: 1 });
        approval
    }
}

/// The time in these tests, milliseconds since 1970.
pub(crate) const NOW: u64 = 1_000_000;

pub(crate) fn request(session: &SessionId, judged: &Judged) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId::new("a-1"),
        session: session.clone(),
        call: judged.call().id.clone(),
        tool: judged.call().tool.clone(),
        arguments: judged.call().args.clone(),
        effects: judged.effects().to_vec(),
        reason: judged.decision().reason.clone(),
        binds: judged.binds().clone(),
        identity: Identity::default(),
        policy: Digest::of(b""),
        requested_at: NOW,
        expires_at: NOW + 1_000,
    }
}

pub(crate) fn policy(text: &str, place: &Place) -> Policy {
    let source = PolicySource {
        layer: Layer::Project,
        file: "policy.toml".to_owned(),
        text: text.to_owned(),
        only_tightens: false,
    };
    Policy::load(&[source], &Variables::new(place, &Identity::default())).unwrap()
}
