//! A sub-session: begun or taken up, driven to its stop, its answer recorded as the result of the call that asked for it.
//!
//! Its journal is its own. The call itself is recorded as started only when the sub-session is over, so that a pause or a
//! crash in between leaves a call that is simply decided again, and finds the sub-session by its name.

use std::sync::Arc;

use checkrein_contract::{
    Actor, Body, BoxFuture, Call, Code, Digest, Finished, FinishedAs, Lane, Outcome, Parent, Provider, SessionChange,
    SessionId, SessionOpened, Spend, Status, Stop, ToolSpec, without_remembered,
};
use checkrein_gate::{Approved, Recorder, Registry, error_text, start};
use checkrein_journal::JournalError;
use checkrein_policy::Policy;
use checkrein_session::State;
use checkrein_session::tools::{Access, Delegation, session_tools};

use super::Session;
use super::narrowing::narrowing;
use crate::HarnessError;
use crate::composition::inherited;
use crate::defaults::INSTRUCTIONS;
use crate::log::SessionLog;
use crate::machine::Held;
use crate::observer::Unobserved;
use crate::setup::{Parts, checker, context_of, load_policy, policy_of, reader, session_of};

/// What a sub-session is told besides.
const PART: &str = "\nThis is a part of a larger task. Your answer goes to the session that gave it to you, which sees \
                    nothing else of what you do: say in it what was found or changed, and what was not.";

/// Who answers a sub-session.
pub(crate) fn of(provider: &Arc<dyn Provider>, number: u32) -> Arc<dyn Provider> {
    provider.delegate(number).unwrap_or_else(|| Arc::clone(provider))
}

/// The registry with only these tools on offer, and what the harness checks with.
pub(crate) fn scoped(registry: &Registry, tools: &[ToolSpec]) -> Registry {
    let ours = [checker(), reader()];
    registry.scoped(|name| ours.iter().any(|own| own == name) || tools.iter().any(|tool| tool.name == name))
}

/// How a sub-session came out.
struct Came {
    lane: Lane,
    outcome: Outcome,
    spend: Spend,
}

impl Session {
    pub(super) async fn delegate(
        &mut self,
        admitted: Vec<Approved>,
        delegation: &Delegation,
    ) -> Result<(), HarnessError> {
        let Some(call) = admitted.first().map(|approved| approved.call().clone()) else { return Ok(()) };
        let came = self.come(&call, delegation).await?;
        if came.outcome.status.can_resume() && !self.cancel.is_cancelled() {
            let Outcome { status, code, reason, session, .. } = came.outcome;
            return self.stop(Stop {
                status,
                code,
                reason: format!("in its sub-session {session}: {reason}"),
                limit: None,
            });
        }
        start(admitted, &mut self.log)?;
        self.log.record(Actor::Code, Body::Finished(Box::new(finished(call, came))))?;
        Ok(())
    }

    /// The sub-session of this call, driven as far as it goes.
    async fn come(&mut self, call: &Call, delegation: &Delegation) -> Result<Came, HarnessError> {
        let session = id_of(&self.log.state.opened().session, call);
        let mut child = match self.log.store().head(&session) {
            Err(JournalError::NoSession { .. }) => {
                // What asked for the part is durable before the part is: else a crash leaves a sub-session that acts for a
                // call nobody remembers, and the model, asked again, gives the same work to another.
                self.log.flush()?;
                self.begin(session, call, delegation)?
            }
            Err(error) => return Err(error.into()),
            Ok(head) => {
                let state = State::fold(&self.log.store().read(&session, 1)?)?;
                let (ours, its) = (&self.log.state.opened().session, state.opened().parent.as_ref());
                if !its.is_some_and(|parent| parent.session == *ours && parent.call == call.id) {
                    return Err(HarnessError::Task(format!("the session {session} is none of {ours}")));
                }
                if state.stop().is_some_and(|stop| !stop.status.can_resume()) {
                    let outcome = state.outcome(head.hash, self.clock.now_ms());
                    return Ok(Came { lane: state.opened().lane(), outcome, spend: state.spend().clone() });
                }
                self.take_up(session, state.opened())?
            }
        };
        let driven = boxed(&mut child).await;
        self.asker = child.asker.take();
        let state = child.state();
        Ok(Came { lane: state.opened().lane(), outcome: driven?, spend: state.spend().clone() })
    }

    fn begin(&mut self, session: SessionId, call: &Call, delegation: &Delegation) -> Result<Self, HarnessError> {
        let state = &self.log.state;
        let parent = state.opened();
        let spill = self.spill.below(session.as_str());
        let mut variables = parent.variables.clone();
        variables.retain(|(name, _)| name != "spill");
        variables.push(("spill".to_owned(), spill.folder().display().to_string()));
        // A yes that a person wants remembered was given to this session.
        let mut policy = without_remembered(&parent.policy);
        policy.extend(narrowing(delegation));
        let loaded = load_policy(&policy, &parent.place, &parent.identity, &variables)?;
        let tools = self.tools_of(delegation);
        let opened = SessionOpened {
            session: session.clone(),
            parent: Some(Parent {
                session: parent.session.clone(),
                call: call.id.clone(),
                number: state.delegated() + 1,
                lane: parent.lane(),
            }),
            forked: None,
            task: format!("{}, of {}", parent.task, parent.session),
            prompt: delegation.prompt.clone(),
            system: format!("{INSTRUCTIONS}{PART}"),
            skills: Vec::new(),
            policy,
            policy_digest: loaded.digest().clone(),
            budget: state.share(delegation.share, self.clock.now_ms()),
            verify: Vec::new(),
            variables,
            tools,
            ..parent.clone()
        };
        let taken = self.machine.take(&self.home, &session)?;
        let (store, clock) = (Arc::clone(self.log.store()), Arc::clone(&self.clock));
        let log = SessionLog::begin(store, clock, Box::new(Unobserved), opened, self.gate.redactor.clone())?;
        self.child(log, loaded, taken)
    }

    fn take_up(&mut self, session: SessionId, opened: &SessionOpened) -> Result<Self, HarnessError> {
        let taken = self.machine.take(&self.home, &session)?;
        let change = inherited(opened, self.log.state.opened())?;
        let mut opened = opened.clone();
        change.iter().for_each(|change| opened.recompose(change));
        let policy = policy_of(&opened)?;
        let (store, clock) = (Arc::clone(self.log.store()), Arc::clone(&self.clock));
        let redactor = self.gate.redactor.clone();
        let mut log = SessionLog::resume(store, clock, Box::new(Unobserved), session, redactor, None)?;
        if let Some(change) = change {
            log.record(Actor::Code, Body::Recomposed(Box::new(change)))?;
        }
        self.child(log, policy, taken)
    }

    fn child(&mut self, log: SessionLog, policy: Arc<Policy>, taken: Held) -> Result<Self, HarnessError> {
        let opened = log.state.opened();
        let context = context_of(opened)?;
        let registry = scoped(&self.gate.registry, &opened.tools);
        let number = opened.parent.as_ref().map_or(1, |parent| parent.number);
        let mut child = session_of(Parts {
            home: self.home.clone(),
            machine: Arc::clone(&self.machine),
            log,
            registry,
            policy,
            hooks: self.gate.hooks.clone(),
            guards: self.gate.guards.clone(),
            sandbox: Arc::clone(&self.gate.sandbox),
            redactor: self.gate.redactor.clone(),
            provider: of(&self.provider, number),
            context,
            clock: Arc::clone(&self.clock),
            taken,
            asker: self.asker.take(),
        });
        child.cancel = self.cancel.clone();
        Ok(child)
    }

    /// What is on offer here, without what only this session can do, and, where nothing may be changed, what is of use
    /// there.
    fn tools_of(&self, delegation: &Delegation) -> Vec<ToolSpec> {
        let own = session_tools();
        let offered = self.log.state.opened().tools.iter().filter(|tool| self.log.state.offers(&tool.name));
        let looks = |name: &str| self.gate.registry.get(name).is_some_and(|tool| tool.looks());
        offered
            .filter(|tool| !own.iter().any(|session| session.name() == tool.name))
            .filter(|tool| delegation.may == Access::Work || looks(&tool.name))
            .cloned()
            .collect()
    }
}

/// The same call has the same sub-session, also in another process.
fn id_of(session: &SessionId, call: &Call) -> SessionId {
    let digest = Digest::of(format!("{session}/{}", call.id).as_bytes());
    SessionId::new(format!("s-{}", digest.as_str().get(..8).unwrap_or_default()))
}

/// A future that holds one of its own kind has to be put aside.
fn boxed(child: &mut Session) -> BoxFuture<'_, Result<Outcome, HarnessError>> {
    Box::pin(child.drive())
}

fn finished(call: Call, Came { lane, outcome, spend }: Came) -> Finished {
    // The model is told the lane, which is the same in every run; the id is in `change`.
    let facts = format!(
        "sub-session {lane}: {}, {} steps, {} calls, {} tokens",
        outcome.status,
        spend.steps,
        spend.calls,
        spend.usage.total()
    );
    let answer = outcome.answer.as_deref().unwrap_or_default().trim_end();
    let (code, text) = if outcome.status == Status::Completed {
        (None, format!("{answer}\n[{facts}]"))
    } else {
        let so_far = if answer.is_empty() { String::new() } else { format!("; its last words: {answer}") };
        let message = format!("{facts}: {}{so_far}", outcome.reason);
        (Some(Code::TaskUnfinished), error_text(Code::TaskUnfinished, &message))
    };
    let sources = outcome.citations.into_iter().map(|citation| citation.source).collect();
    let ended = if code.is_some() { FinishedAs::Failed } else { FinishedAs::Ok };
    let change = SessionChange::Delegated { session: outcome.session, spend };
    Finished { sources, change: Some(change), ..Finished::bare(call.id, call.tool, ended, code, text) }
}
