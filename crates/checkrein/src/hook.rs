//! In front of other agents: judges a call that Claude Code or Codex is about to make, by the same policy, and records it.
//!
//! Such a session is *watched*: its calls are proposed without a request of ours, and what is let through runs elsewhere.
//! Everything that goes wrong here is an error, and an error blocks the call ([`Caller::block`]).

mod answer;
mod caller;
mod calls;
mod payload;
mod record;

use std::path::Path;
use std::sync::Arc;

use checkrein_contract::{
    BoxFuture, Budget, Call, CallId, Code, Decision, Digest, Effect, Facts, Finding, Identity, OnAsk, Place,
    PolicySource, Question, SessionId, SessionOpened, TraceStep, Verdict, Winner,
};
use checkrein_facts::HostFacts;
use checkrein_gate::{Clock as _, DETECTORS, FactSource, find_out, redact_value};
use checkrein_journal::EventStore;
use checkrein_policy::fixtures::foresee;
use checkrein_policy::{Manifest, Models, Policy, Scene, decide};
use serde_json::Value;

pub use answer::{Answer, Word};
pub use caller::Caller;
pub use calls::Calls;
use payload::Asked;

use crate::HarnessError;
use crate::policies::PolicyFiles;
use crate::policy_folder::models_of;
use crate::setup::load_policy;
use crate::task::project_policy;

/// Longest payload that is read, bytes. A file that is written whole stands in it; what is longer is no edit but a dump.
pub const MOST_PAYLOAD: usize = 16 * 1024 * 1024;

/// Where the other agent works, and what holds there.
pub struct Watch<'a> {
    /// Whose hook it is.
    pub caller: Caller,
    /// The project: where the agent's session began. Not what the payload says, which follows the model's `cd`.
    pub root: &'a Path,
    /// The person's home.
    pub home: &'a Path,
    /// Policies of the machine and of the person.
    pub policies: &'a PolicyFiles,
    /// A policy that a person named instead of the project's own.
    pub policy: Option<PolicySource>,
    /// The journal; without one nothing is recorded (`policy check` is for that, so only tests go without).
    pub store: Option<Arc<dyn EventStore>>,
}

/// A call that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What the caller is to be told.
    pub word: Word,
    /// The decision.
    pub decision: Decision,
    /// What it rests on.
    pub facts: Facts,
}

impl Watch<'_> {
    /// Judges the call of a payload, and records it before anything is answered.
    ///
    /// # Errors
    /// [`HarnessError`] for a payload that can not be read, a policy with a mistake, a journal that takes nothing.
    pub async fn judge(&self, payload: &[u8]) -> Result<Judged, HarnessError> {
        let asked = Asked::read(self.caller, payload)?;
        let place = self.place(&asked)?;
        let (own, clock) = (
            self.policy.clone().map_or_else(|| project_policy(self.root), |one| Ok(vec![one]))?,
            crate::SystemClock::default(),
        );
        let opened = self.opened(&asked, &place, own)?;
        let policy = load_policy(&opened.policy, &opened.place, &opened.identity, &opened.variables)?;
        let opened = SessionOpened { policy_digest: policy.digest().clone(), ..opened };
        let session = self.store.as_ref().map(|store| record::Session::find(Arc::clone(store), opened)).transpose()?;
        let began = session.as_ref().and_then(record::Session::began_ms).unwrap_or_else(|| clock.now_ms());
        let scene = Judging {
            policy: &policy,
            place: &place,
            tools: self.caller.tools()?,
            models: models_of(&self.policies.commands)?,
            began,
        };
        let recorded = redact_value(asked.args.clone());
        let (mut decision, facts) = scene.judge(&asked, recorded.clone()).await;
        if recorded != asked.args {
            // What is recorded holds no secret, and is what can be judged again; what runs holds it, and is judged as well.
            let (whole, _) = scene.judge(&asked, asked.args.clone()).await;
            stricter(&mut decision, whole);
        }
        let word = self.caller.word(&asked, &decision);
        if let Some(session) = session {
            session.record(&asked, recorded, &decision, facts.clone(), &word, &clock)?;
        }
        Ok(Judged { word, decision, facts })
    }

    fn place(&self, asked: &Asked) -> Result<Place, HarnessError> {
        let text = |path: &Path| path.display().to_string();
        if !asked.cwd.starts_with('/') {
            return Err(HarnessError::Task(format!("the payload's `cwd` is `{}`, which is not absolute", asked.cwd)));
        }
        let cwd = checkrein_policy::paths::normalise(&asked.cwd);
        Ok(Place { root: text(self.root), cwd, home: text(self.home), ..Place::default() })
    }

    /// What a journal begins with. Another policy, or another project, is another session of ours.
    fn opened(&self, asked: &Asked, place: &Place, own: Vec<PolicySource>) -> Result<SessionOpened, HarnessError> {
        let place = Place { cwd: place.root.clone(), ..place.clone() };
        let policy = self.policies.with_task(&own, 0);
        let name = self.caller.name();
        let parts = serde_json::json!([name, asked.session, policy, place]).to_string();
        let id = Digest::of(parts.as_bytes());
        Ok(SessionOpened {
            session: SessionId::new(format!("s-{}", id.as_str().get(..12).unwrap_or_default())),
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            task: format!("hook-{name}"),
            parent: None,
            forked: None,
            folder: None,
            prompt: String::new(),
            system: String::new(),
            tools: Vec::new(),
            deferred: Vec::new(),
            skills: Vec::new(),
            model: format!("hook:{name}"),
            cassette: None,
            max_output: 0,
            context: serde_json::json!({ "policy": "keep_everything", "parameters": {} }),
            policy,
            policy_digest: Digest::of(b""),
            identity: Identity::default(),
            budget: Budget::default(),
            price: None,
            on_ask: OnAsk::Deny,
            stop_on: Vec::new(),
            verify: Vec::new(),
            variables: self.policies.own.named(vec![("spill".to_owned(), "/dev/null/no-spill".to_owned())], &place),
            place,
            confinement: format!("what {name} itself confines"),
            unconfined_by: None,
            confinement_required: false,
            instructions: Vec::new(),
            confined: false,
            detectors: DETECTORS.to_owned(),
        })
    }
}

struct Judging<'a> {
    policy: &'a Policy,
    place: &'a Place,
    tools: Vec<Manifest>,
    models: Models,
    began: u64,
}

impl Judging<'_> {
    async fn judge(&self, asked: &Asked, args: Value) -> (Decision, Facts) {
        let calls: Vec<Call> = asked
            .names
            .iter()
            .map(|(server, tool)| Call {
                id: CallId::new("hook"),
                tool: tool.clone(),
                server: server.clone(),
                args: args.clone(),
            })
            .collect();
        let would = |facts: &Facts| {
            let scene = Scene { place: self.place, facts, models: &self.models };
            // A name that may be read in several ways is all of them.
            let mut all = calls.iter().map(|call| foresee(call, &self.tools, scene));
            let mut foreseen = all.next().unwrap_or_default();
            for other in all {
                foreseen.effects.extend(other.effects);
                foreseen.questions.extend(other.questions);
            }
            foreseen
        };
        let (foreseen, facts) = find_out(self.policy, &CallerFacts(HostFacts::since(self.began)), would).await;
        (decide(self.policy, &foreseen, &facts), facts)
    }
}

/// What this machine says; whose servers they are, and whether their tools are what people agreed to, is the caller's own
/// matter: it speaks to them, and shows nobody else their definitions.
struct CallerFacts(HostFacts);

impl FactSource for CallerFacts {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        match question {
            Question::Definition { .. } => Box::pin(std::future::ready(Some(Finding::from("approved")))),
            _ => self.0.answer(question),
        }
    }
}

/// Takes over a stricter verdict, as the word of a guard.
fn stricter(decision: &mut Decision, whole: Decision) {
    if whole.verdict > decision.verdict {
        decision.verdict = whole.verdict;
        decision.code = if whole.verdict == Verdict::Deny { Code::Denied } else { whole.code };
        decision.reason =
            format!("with the secret that its arguments hold: {}", checkrein_gate::redact_text(&whole.reason));
        let winner = Winner::Guard { name: "secret-in-arguments".to_owned() };
        let step =
            TraceStep { effect: None, part: 0, winner, decision: whole.verdict, also: Vec::new(), silent: Vec::new() };
        decision.trace.push(step);
    }
}

/// Whether all that a call does is to act through itself, and no rule of anybody speaks of it.
fn is_left_alone(decision: &Decision) -> bool {
    !decision.trace.is_empty()
        && decision
            .trace
            .iter()
            .all(|step| matches!(step.effect, Some(Effect::Tool { .. })) && matches!(step.winner, Winner::Default))
}
