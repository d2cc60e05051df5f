//! Fork: a new session whose journal begins with the first events of another.
//!
//! The events are copied, under the same numbers, so that the fork is whole by itself: it is verified, exported, replayed and
//! resumed like any session, also where the one it comes from is gone. Its first event names that one, with the hash of the
//! last event that was copied. What comes behind them says what is in force in the fork: a place of its own, and the model and
//! rules that a person chose. No approval of the other session counts; what it left open is treated as on resume.

use std::path::{Path, PathBuf};

use checkrein_contract::{
    Actor, Body, CallId, CassetteMode, Digest, EVENT_VERSION, Effect, Event, Forked, Layer, Place, PolicySource,
    Recomposed, SessionChange, SessionId, SessionOpened, without_remembered,
};
use checkrein_journal::SessionMeta;
use checkrein_session::{Next, State};
use serde_json::Value;

use super::model::{absolute_file, project_of};
use super::moved::{is_own, placed, variables};
use super::{AFTER_COPY, Harness, policy_of, shown};
use crate::HarnessError;
use crate::secrets::{redactor_of, without_secrets};
use crate::task::{from_folder, read};
use crate::workspace::copy;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct ForkOptions {
    /// Who forks.
    pub person: String,
    /// The last event that counts in the fork; `None`: all of them.
    pub upto: Option<u64>,
    /// Another model.
    pub model: Option<String>,
    /// Another policy of the project.
    pub policy: Option<PathBuf>,
    /// What the person says to the model first of all.
    pub words: Option<String>,
}

/// A fork that was made.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The new session.
    pub session: SessionId,
    /// The one it comes from.
    pub from: SessionId,
    /// The last event of that one that counts here.
    pub seq: u64,
    /// How many events that one has.
    pub events: u64,
    /// Where it works.
    pub workspace: ForkedWorkspace,
    /// Calls of the other session that came later and may have changed what lies there.
    pub later: Vec<Touch>,
    /// What comes next: the kind of step, in a word or two.
    pub next: String,
}

/// Where a fork works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkedWorkspace {
    /// In a fresh copy of the task folder: nothing had been changed yet.
    Fresh,
    /// In a copy of what the other session has now.
    Copy,
    /// In the same folder.
    Same,
}

/// A call that may have changed something.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
}

impl Harness {
    /// Makes a fork. It is durable when this returns, and goes on with [`Harness::resume`].
    ///
    /// # Errors
    /// [`HarnessError`] where it can not be cut there, with the events where it can.
    pub fn fork(&self, from: &SessionId, options: &ForkOptions) -> Result<Fork, HarnessError> {
        let machine = self.machine();
        let events = self.store.read(from, 1)?;
        let total = u64::try_from(events.len()).unwrap_or(u64::MAX);
        let seq = options.upto.unwrap_or(total);
        let kept = usize::try_from(seq).ok().and_then(|upto| events.get(..upto)).filter(|kept| !kept.is_empty());
        let Some(kept) = kept else {
            return Err(HarnessError::NotFound(format!(
                "session {from} has the events 1 to {total}: {seq} is none of them"
            )));
        };
        let rest = events.get(kept.len()..).unwrap_or_default();
        let state = State::fold(kept)?;
        can_be_cut(from, kept, rest, &state, options.words.is_some())?;
        let session = machine.session_id();
        let row = self.store.rows(from, seq, 1)?.into_iter().next();
        let hash = row.and_then(|row| Digest::parse(&row.hash));
        let hash = hash.ok_or_else(|| HarnessError::NotFound(format!("event {seq} of session {from} has no hash")))?;
        let mut change = Recomposed { forked: true, ..Recomposed::default() };
        change.changes.push(format!("forked from {from} behind event {seq} of {total}"));
        self.chosen(options, state.opened(), &mut change)?;
        let _taken = machine.take(&self.home, &session)?;
        let workspace = self.workspace(&session, &state, kept, &mut change)?;
        let later = match workspace {
            ForkedWorkspace::Fresh => Vec::new(),
            ForkedWorkspace::Copy | ForkedWorkspace::Same => {
                let before = touches(kept);
                touches(&events).into_iter().filter(|touch| !before.contains(touch)).collect()
            }
        };
        // Read after the workspace was copied: what was copied is older than the fork.
        let at = machine.clock(false).now_ms();
        let forked = Forked { session: from.clone(), seq, hash, before: None };
        let redactor = redactor_of(&self.host())?;
        let words = options.words.as_ref().map(|words| redactor.text(words).into_owned());
        let journal = journal_of(&session, kept, forked, at, change, &options.person, words);
        let state = State::fold(&journal)?;
        let opened = state.opened();
        without_secrets(opened, &redactor)?;
        let meta = SessionMeta { created_at: at, task: opened.task.clone(), model: opened.model.clone() };
        self.store.create(&session, &meta, &journal)?;
        let next = next_of(&state, at);
        Ok(Fork { session, from: from.clone(), seq, events: total, workspace, later, next })
    }

    /// What a person chose for the fork. Every mistake of it is found before anything is copied.
    fn chosen(
        &self,
        options: &ForkOptions,
        opened: &SessionOpened,
        change: &mut Recomposed,
    ) -> Result<(), HarnessError> {
        if let Some(model) = &options.model {
            let model = absolute_file(model, Some(&self.folder));
            self.live(&model, &self.folder, &project_of(opened))?;
            change.price = self.models.priced(&model, None);
            change.changes.push(format!("the model is {model} instead of {}", opened.model));
            change.model = Some(model);
        }
        if let Some(path) = &options.policy {
            let file = path.display().to_string();
            change.changes.push(format!("the policy of the project is {file}"));
            let own = PolicySource { layer: Layer::Project, file, text: read(path)?, only_tightens: false };
            change.policy = Some(crate::past::layers(&opened.policy, Some(&own), None));
        }
        // Whoever said yes said it to the other session.
        let policy = change.policy.take().unwrap_or_else(|| opened.policy.clone());
        let kept = without_remembered(&policy);
        if kept.len() < policy.len() {
            change.changes.push("the yeses that were remembered there do not count".to_owned());
        }
        change.policy = (kept != opened.policy).then_some(kept);
        let mut then = opened.clone();
        then.recompose(change);
        let policy = policy_of(&then)?;
        change.policy_digest = change.policy.is_some().then(|| policy.digest().clone());
        Ok(())
    }

    /// The workspace of the fork, made; and what follows from where it is.
    fn workspace(
        &self,
        session: &SessionId,
        state: &State,
        kept: &[Event],
        change: &mut Recomposed,
    ) -> Result<ForkedWorkspace, HarnessError> {
        let opened = state.opened();
        let copied = is_own(opened);
        let how = if !copied {
            ForkedWorkspace::Same
        } else {
            let (old, new) = (opened.place.root.clone(), shown(&self.home.workspace(session)));
            let how = match &opened.folder {
                Some(folder) if touches(kept).is_empty() => {
                    let folder = Path::new(folder);
                    copy(folder, Path::new(&new), &from_folder(folder)?.control_files)?;
                    ForkedWorkspace::Fresh
                }
                _ => {
                    copy(Path::new(&old), Path::new(&new), &[])?;
                    ForkedWorkspace::Copy
                }
            };
            std::thread::sleep(AFTER_COPY);
            change.place = Some(Place { moved_from: None, ..placed(&opened.place, &new) });
            how
        };
        let place = change.place.as_ref().unwrap_or(&opened.place);
        change.variables = Some(self.policies.own.named(variables(opened, &self.home, session), place));
        change.fresh = how == ForkedWorkspace::Fresh;
        let mut then = opened.clone();
        then.recompose(change);
        // A rule may not fit another place; better now than at the next call.
        policy_of(&then)?;
        Ok(how)
    }
}

/// The events of the fork.
fn journal_of(
    session: &SessionId,
    kept: &[Event],
    mut forked: Forked,
    at: u64,
    change: Recomposed,
    person: &str,
    words: Option<String>,
) -> Vec<Event> {
    let mut events = kept.to_vec();
    if let Some(Body::Session(opened)) = events.first_mut().map(|event| &mut event.body) {
        forked.before = opened.forked.take().map(Box::new);
        opened.session = session.clone();
        opened.forked = Some(forked);
        // What the fork is answered is no part of that recording.
        opened.cassette.take_if(|cassette| matches!(cassette.mode, CassetteMode::Record | CassetteMode::Verify));
    }
    let by = Actor::Person(person.to_owned());
    let words = words.map(|text| Body::Input { call: None, text });
    let bodies = std::iter::once(Body::Recomposed(Box::new(change))).chain(words);
    for body in bodies {
        let seq = u64::try_from(events.len()).unwrap_or(u64::MAX).saturating_add(1);
        events.push(Event { v: EVENT_VERSION, seq, at, by: by.clone(), body });
    }
    events
}

/// Whether a session can be cut there, and what to type instead.
fn can_be_cut(
    session: &SessionId,
    kept: &[Event],
    later: &[Event],
    state: &State,
    words: bool,
) -> Result<(), HarnessError> {
    let no = |message: String| Err(HarnessError::Task(message));
    let opened = state.opened();
    if opened.is_watched() {
        return no(format!("{session} is a session of another agent, which alone can go on with it"));
    }
    if let Some(parent) = &opened.parent {
        return no(format!("{session} is a sub-session: fork the session that gave it its part, {}", parent.session));
    }
    let seq = state.seq();
    if words && !state.takes_words() {
        let mut then = state.clone();
        let next = later.iter().find(|event| then.apply(event).is_ok() && then.takes_words());
        let where_to = next.map_or_else(String::new, |event| format!("; fork at {session}@{}", event.seq));
        return no(format!("at event {seq} calls are on their way, and words come after their results{where_to}"));
    }
    let over = match state.next(u64::MAX) {
        Next::Stopped(stop) => !stop.status.can_resume(),
        Next::Stop(_) => true,
        _ => false,
    };
    if over && !words {
        let last = kept.iter().rev().find(|event| matches!(event.body, Body::Request { .. }));
        let before = last.map_or(1, |event| event.seq.saturating_sub(1).max(1));
        return no(format!(
            "at event {seq} nothing comes any more: fork before its last reply ({session}@{before}), or add words that it \
             goes on with"
        ));
    }
    Ok(())
}

/// The calls that were started and may have changed something, since the workspace was as it is given to a session.
fn touches(events: &[Event]) -> Vec<Touch> {
    let mut known: Vec<Touch> = Vec::new();
    let mut changing: Vec<&CallId> = Vec::new();
    let mut found: Vec<Touch> = Vec::new();
    let add = |known: &[Touch], found: &mut Vec<Touch>, call: &CallId| {
        if let Some(touch) = known.iter().find(|touch| touch.call == *call)
            && !found.contains(touch)
        {
            found.push(touch.clone());
        }
    };
    for event in events {
        match &event.body {
            Body::Proposal { calls, .. } => known.extend(calls.iter().map(|call| Touch {
                call: call.id.clone(),
                tool: call.tool.clone(),
                args: call.args.clone(),
            })),
            Body::Check(round) | Body::Instructions(round) => known.extend(round.calls.iter().map(|call| Touch {
                call: call.id.clone(),
                tool: call.tool.clone(),
                args: call.args.clone(),
            })),
            Body::Decision { call, decision, .. }
                if decision.trace.iter().filter_map(|step| step.effect.as_ref()).any(may_change) =>
            {
                changing.push(call);
            }
            Body::Started { call, .. } if changing.contains(&call) => add(&known, &mut found, call),
            Body::Finished(finished) if matches!(finished.change, Some(SessionChange::Delegated { .. })) => {
                add(&known, &mut found, &finished.call);
            }
            Body::Recomposed(change) if change.fresh => found.clear(),
            _ => {}
        }
    }
    found
}

/// Whether more may be otherwise after this than before.
fn may_change(effect: &Effect) -> bool {
    match effect {
        Effect::Write { incidental, .. } => !incidental,
        Effect::Run(run) => !run.modelled || !run.deeds.is_empty(),
        Effect::Delete { .. } | Effect::Metadata { .. } | Effect::Tool { .. } | Effect::Unknown { .. } => true,
        Effect::Read { .. } | Effect::List { .. } | Effect::ReadTree(_) | Effect::Connect(_) => false,
    }
}

fn next_of(state: &State, now: u64) -> String {
    match state.next(now) {
        Next::Request => format!("request {} to the model", state.turn().saturating_add(1)),
        Next::Decide { calls, .. } | Next::Settle { calls } => {
            let calls: Vec<String> = calls.iter().map(|call| format!("{} ({})", call.tool, call.id)).collect();
            calls.join(" and ")
        }
        Next::Check { .. } => "the checks".to_owned(),
        Next::Ask { .. } | Next::Stop(_) | Next::Stopped(_) => "the end".to_owned(),
    }
}
