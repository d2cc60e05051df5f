//! From a journal back to a session that can be driven.

use std::path::Path;
use std::sync::Arc;

use checkrein_contract::{
    Actor, Body, Budget, Layer, NewLimit, PolicySource, Recomposed, SessionId, SessionOpened, Status,
};
use checkrein_gate::{Recorder, Registry};
use checkrein_session::State;

use super::{Front, Harness, Parts, context_of, money_can_be_held, policy_of, session_of, system};
use crate::HarnessError;
use crate::composition::{Comparison, Counts, Difference, Now, compare};
use crate::deferral::Offer;
use crate::driver::{Session, delegate};
use crate::log::SessionLog;
use crate::observer::OnePerson;
use crate::policies::DEFAULT_FILE;
use crate::secrets::without_secrets;
use crate::task::{Task, from_folder, from_words, read};

/// What a person says when a session is taken up again.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    /// Who.
    pub person: String,
    /// The answer to the question that the session waits with.
    pub answer: Option<String>,
    /// Other limits.
    pub limits: Vec<NewLimit>,
    /// Everything that is not what it was may count from here on: tools, instructions, looser rules.
    pub accept_changes: bool,
}

impl Harness {
    /// Takes a session up again from its journal. It goes on as it began, except that what is stricter now counts at once
    /// (see [`Counts`]); what counts is recorded.
    ///
    /// # Errors
    /// [`HarnessError::Over`] when it has ended for good, [`HarnessError::Spent`] when a limit ended it and still would,
    /// [`HarnessError::Recomposed`] when it can not go on as it began; others when what it needs is gone.
    pub fn resume(&self, session: &SessionId, options: &ResumeOptions, front: Front) -> Result<Session, HarnessError> {
        let machine = self.machine();
        let taken = machine.take(&self.home, session)?;
        let events = self.store.read(session, 1)?;
        let state = State::fold(&events)?;
        let mut opened = state.opened().clone();
        if opened.is_watched() {
            let message = format!("{session} is a session of another agent, which alone can go on with it");
            return Err(HarnessError::Task(message));
        }
        let person = Actor::Person(options.person.clone());
        let budget = larger(&state, &options.limits)?.map(|budget| (person.clone(), budget));
        let moved = self.moved(&opened)?;
        moved.iter().for_each(|moved| opened.recompose(moved));
        let task = task_of(&opened)?;
        let registry = self.registry(&task)?;
        let compared = self.compared(&opened, &task, &registry)?;
        let change = counted(session, compared, options)?;
        if let Some((_, change)) = &change {
            opened.recompose(change);
        }
        // What is new is not on offer until somebody said so.
        let registry = delegate::scoped(&registry, &opened.tools);
        let source = self.source_again(&opened)?;
        let (redactor, sandbox) = self.around(&task, opened.unconfined_by.is_some())?;
        let provider = self.provider_again(source, &task, &opened, &registry, &redactor)?;
        let provider =
            opened.parent.as_ref().map_or(Arc::clone(&provider), |parent| delegate::of(&provider, parent.number));
        let policy = policy_of(&opened)?;
        let context = context_of(&opened)?;
        let clock = machine.clock(provider.virtual_time());
        let (store, observer) = (Arc::clone(&self.store), front.observer);
        if change.is_some() {
            without_secrets(&opened, &redactor)?;
        }
        let mut log =
            SessionLog::resume(store, Arc::clone(&clock), observer, session.clone(), redactor.clone(), budget)?;
        for (by, change) in moved.map(|moved| (Actor::Code, moved)).into_iter().chain(change) {
            log.record(by, Body::Recomposed(Box::new(change)))?;
        }
        if let Some(text) = &options.answer {
            let Some(call) = log.state.waiting_for_input() else {
                return Err(HarnessError::Task("this session waits for no answer".to_owned()));
            };
            let text = checkrein_gate::redact_text(text).into_owned();
            log.record(person, Body::Input { call: Some(call), text })?;
        }
        Ok(session_of(Parts {
            home: self.home.clone(),
            machine,
            log,
            registry,
            policy,
            hooks: self.extensions.hooks.clone(),
            guards: self.guards(),
            sandbox,
            redactor,
            provider,
            context,
            clock,
            taken,
            asker: front.asker.map(OnePerson::new),
            notify: self.notify(),
        }))
    }

    /// What is not what it was in a session, if it were taken up now.
    ///
    /// # Errors
    /// [`HarnessError`] when its journal or what it is made of can not be read.
    pub fn differences(&self, session: &SessionId) -> Result<Vec<Difference>, HarnessError> {
        let state = State::fold(&self.store.read(session, 1)?)?;
        let over = |status: Status| !status.can_resume() && status != Status::BudgetExhausted;
        if state.stop().is_some_and(|stop| over(stop.status)) {
            return Ok(Vec::new());
        }
        let task = task_of(state.opened())?;
        let registry = self.registry(&task)?;
        Ok(self.compared(state.opened(), &task, &registry)?.differences)
    }

    fn compared(&self, opened: &SessionOpened, task: &Task, registry: &Registry) -> Result<Comparison, HarnessError> {
        let Offer { tools, deferred } = self.offer(task, registry)?;
        let now = Now {
            tools,
            deferred,
            skills: task.skills.clone(),
            system: system(task),
            variables: self.policies.own.named(opened.variables.clone(), &opened.place),
            policy: self.policies.with_task(&self.own_policy(opened, task), 0),
        };
        compare(opened, &now)
    }

    /// The policy of the project as it is now: the one that a person named with `--policy`, or the task's.
    fn own_policy(&self, opened: &SessionOpened, task: &Task) -> Vec<PolicySource> {
        let of_task = |source: &PolicySource| task.policy.iter().any(|own| own.file == source.file);
        let recorded = opened.policy.iter().filter(|source| source.layer == Layer::Project);
        let mut named: Vec<PolicySource> = Vec::new();
        for source in recorded.filter(|source| !of_task(source) && source.file != DEFAULT_FILE) {
            if named.iter().any(|known| known.file == source.file) {
                continue;
            }
            // Where it can not be found any more, its rules are those that were recorded.
            let text = read(&self.folder.join(&source.file)).unwrap_or_else(|_| source.text.clone());
            named.push(PolicySource { text, ..source.clone() });
        }
        if named.is_empty() { task.policy.clone() } else { named }
    }
}

/// What changes, and on whose word.
fn counted(
    session: &SessionId,
    compared: Comparison,
    options: &ResumeOptions,
) -> Result<Option<(Actor, Recomposed)>, HarnessError> {
    match compared.accepted {
        Some(change) if options.accept_changes => return Ok(Some((Actor::Person(options.person.clone()), change))),
        Some(_) if compared.differences.iter().any(|one| one.counts == Counts::Blocks) => {
            let differences = compared.differences.into_iter().map(|one| one.what).collect();
            return Err(HarnessError::Recomposed { session: session.to_string(), differences });
        }
        _ => {}
    }
    Ok(compared.at_once.map(|change| (Actor::Code, change)))
}

/// The task of a session, as it is now.
pub(crate) fn task_of(opened: &SessionOpened) -> Result<Task, HarnessError> {
    match &opened.folder {
        Some(folder) => from_folder(Path::new(folder)),
        None => from_words(&opened.prompt, Path::new(&opened.place.root)),
    }
}

/// The limits that a session is taken up under, where they are others than it has.
fn larger(state: &State, limits: &[NewLimit]) -> Result<Option<Budget>, HarnessError> {
    let session = state.session().to_string();
    let mut budget = state.budget().clone();
    limits.iter().for_each(|limit| limit.set(&mut budget));
    money_can_be_held(state.opened(), &budget)?;
    if let Some(stop) = state.stop().filter(|stop| !stop.status.can_resume()) {
        if stop.status != Status::BudgetExhausted {
            return Err(HarnessError::Over { session, status: stop.status });
        }
        if let Some(limit) = state.still_spent(&budget) {
            return Err(HarnessError::Spent { session, limit });
        }
    }
    Ok((!limits.is_empty()).then_some(budget))
}
