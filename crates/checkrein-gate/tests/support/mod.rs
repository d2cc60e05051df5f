//! A small world around the gate: one tool, and a policy for it.
#![expect(dead_code, reason = "each test file uses its part of it")]

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use checkrein_contract::{BoxFuture, CallKind, Effect, Facts, Finding, Foreseen, Place, Question};
use checkrein_gate::guards::RepeatedFailures;
use checkrein_gate::{
    Approved, Concurrency, FactSource, Failure, Guard, Hook, Registry, Rendered, RunContext, Spill, Tool,
};
use checkrein_testkit::Kept;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

    fn effects(&self, input: &PayInput, place: &Place, _facts: &Facts) -> Foreseen {
        let args = json!({ "order": input.order, "amount": input.amount });
        Foreseen::of(vec![
            Effect::Tool { tool: "pay".to_owned(), server: None, args },
            Effect::read(format!("{}/{}", place.root, input.order)),
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
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let real = match question {
            Question::RealPath { path } if path.ends_with("/o-secret") => Some("/etc/shadow".into()),
            Question::RealPath { path } => Some(path.as_str().into()),
            Question::CaseFolding { .. } => Some("exact".into()),
            _ => None,
        };
        Box::pin(async move { real })
    }
}

/// The small world, and what can be seen of it.
pub(crate) struct World {
    world: checkrein_testkit::World,
    pub(crate) ran: Ran,
    pub(crate) kept: Arc<Kept>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::behaving(Behaviour::Well)
    }

    pub(crate) fn behaving(behaviour: Behaviour) -> Self {
        let ran = Ran::default();
        let mut registry = Registry::new();
        registry.add(Pay { ran: ran.clone(), behaviour }).unwrap();
        let place =
            Place { root: "/srv/shop".into(), cwd: "/srv/shop".into(), home: "/home/dev".into(), ..Place::default() };
        let kept = Arc::new(Kept::default());
        let mut world = checkrein_testkit::World::new(registry, POLICY, place).guard(RepeatedFailures);
        world.gate.facts = Arc::new(Links);
        world.gate.spill = Arc::clone(&kept) as Arc<dyn Spill>;
        Self { world, ran, kept }
    }

    #[must_use]
    pub(crate) fn hook(self, hook: impl Hook + 'static) -> Self {
        Self { world: self.world.hook(hook), ..self }
    }

    #[must_use]
    pub(crate) fn guard(self, guard: impl Guard + 'static) -> Self {
        Self { world: self.world.guard(guard), ..self }
    }
}

impl Deref for World {
    type Target = checkrein_testkit::World;

    fn deref(&self) -> &Self::Target {
        &self.world
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.world
    }
}
