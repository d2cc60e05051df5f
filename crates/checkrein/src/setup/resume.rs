//! From a journal back to a session that can be driven.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_contract::{Actor, Body, Budget, NewLimit, SessionId, SessionOpened, Status, ToolSpec};
use checkrein_gate::Recorder;
use checkrein_session::State;

use super::{Front, Harness, Parts, context_of, load_policy, money_can_be_held, session_of};
use crate::HarnessError;
use crate::driver::{Session, delegate};
use crate::log::SessionLog;
use crate::secrets::redactor_of;
use crate::task::{from_folder, from_words};

/// What a person says when a session is taken up again.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    /// Who.
    pub person: String,
    /// The answer to the question that the session waits with.
    pub answer: Option<String>,
    /// Other limits.
    pub limits: Vec<NewLimit>,
}

impl Harness {
    /// Takes a session up again from its journal.
    ///
    /// # Errors
    /// [`HarnessError::Over`] when it has ended for good, [`HarnessError::Spent`] when a limit ended it and still would;
    /// others when what it needs is gone or changed.
    pub fn resume(&self, session: &SessionId, options: &ResumeOptions, front: Front) -> Result<Session, HarnessError> {
        let machine = self.machine();
        let taken = machine.take(&self.home, session)?;
        let events = self.store.read(session, 1)?;
        let state = State::fold(&events)?;
        let opened = state.opened().clone();
        let person = Actor::Person(options.person.clone());
        let budget = larger(&state, &options.limits)?.map(|budget| (person.clone(), budget));
        let folder = opened.folder.clone().map(PathBuf::from);
        let task = match &folder {
            Some(folder) => from_folder(folder)?,
            None => from_words(&opened.prompt, Path::new(&opened.place.root))?,
        };
        let mut registry = self.registry(&task)?;
        if opened.parent.is_some() {
            registry = delegate::scoped(&registry, &opened.tools);
        }
        let changed: Vec<_> = changed_tools(&opened, &registry.specs());
        if !changed.is_empty() {
            let message =
                format!("the tools of this session changed since it began: {}; start anew", changed.join(", "));
            return Err(HarnessError::Task(message));
        }
        let provider = self.provider(&opened.model, folder.as_deref().unwrap_or(&self.folder))?;
        let provider =
            opened.parent.as_ref().map_or(Arc::clone(&provider), |parent| delegate::of(&provider, parent.number));
        let policy = load_policy(&opened.policy, &opened.place, &opened.identity, &opened.variables)?;
        let context = context_of(&opened)?;
        let clock = machine.clock(provider.virtual_time());
        let (store, observer) = (Arc::clone(&self.store), front.observer);
        let environment = self.environment(&task)?;
        let redactor = redactor_of(&environment)?;
        let mut log =
            SessionLog::resume(store, Arc::clone(&clock), observer, session.clone(), redactor.clone(), budget)?;
        if let Some(text) = &options.answer {
            let Some(call) = log.state.waiting_for_input() else {
                return Err(HarnessError::Task("this session waits for no answer".to_owned()));
            };
            let text = checkrein_gate::redact_text(text).into_owned();
            log.record(person, Body::Input { call: Some(call), text })?;
        }
        let sandbox = self.sandbox(environment, opened.unconfined_by.is_some());
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
            asker: front.asker,
        }))
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

fn changed_tools(opened: &SessionOpened, now: &[ToolSpec]) -> Vec<String> {
    let before = &opened.tools;
    let mut changed: Vec<String> =
        before.iter().filter(|spec| !now.contains(spec)).map(|spec| format!("`{}`", spec.name)).collect();
    let added = now.iter().filter(|spec| !before.iter().any(|old| old.name == spec.name));
    changed.extend(added.map(|spec| format!("`{}` (new)", spec.name)));
    changed
}
