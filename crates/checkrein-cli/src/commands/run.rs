//! `run` and `resume`: drive a session and show it.

use std::time::Instant;

use checkrein::contract::{CallId, Event, OnAsk, Outcome, Settlement};
use checkrein::usage::counted;
use checkrein::{Asker, Front, HarnessError, ResumeOptions, RunOptions, Session, task};

use super::{identity, usage};
use crate::arguments::{Resume, Run};
use crate::context::Context;
use crate::interrupts::Interrupts;
use crate::view::{JsonLines, Live, TerminalAsker, closing, projection};

pub(super) fn run(arguments: &Run, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let words = arguments.task.join(" ");
    if let [folder, _, ..] = arguments.task.as_slice()
        && task::find_folder(folder).is_ok_and(|found| found.is_some())
    {
        return Err(usage(format!(
            "{folder} is a task folder with a prompt of its own in task.toml; leave out the words after it"
        )));
    }
    let mut task = match task::find_folder(&words)? {
        Some(folder) => {
            let folder = folder.canonicalize().map_err(|error| usage(format!("{words}: {error}")))?;
            task::from_folder(&folder)?
        }
        None => task::from_words(&words, context.folder())?,
    };
    arguments.budget.iter().for_each(|limit| limit.set(&mut task.budget));
    task.identity.0.extend(identity(&arguments.identity)?);
    let on_ask = if arguments.unattended {
        Some(OnAsk::Deny)
    } else {
        // A task that says nothing is prompted for where a person sits in front of it.
        task.on_ask.or(Some(if context.interactive && !arguments.json { OnAsk::Prompt } else { OnAsk::Pause }))
    };
    let options = RunOptions {
        model: arguments.model.clone(),
        policy: arguments.policy.clone(),
        on_ask,
        unconfined: arguments.unconfined,
        record: arguments.record.clone(),
        verify: arguments.verify.clone(),
        lenient: arguments.lenient,
    };
    if arguments.dry {
        let projected = harness.project(&task, &options)?;
        if arguments.json {
            JsonLines::new(context.out()).projection(&projected);
        } else {
            projection(&mut *context.out(), &projected);
        }
        return Ok(0);
    }
    let session = harness.begin(&task, &options, front(context, arguments.json, &[]))?;
    finish(session, context, arguments.json)
}

pub(super) fn resume(arguments: &Resume, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let id = harness.store.find(&arguments.session)?;
    let person = arguments.by.clone().unwrap_or_else(|| context.person.clone());
    let settled = arguments.unknown.iter().map(|word| settlement(word)).collect::<Result<Vec<_>, _>>()?;
    let accept_changes = super::recomposed::accepted(&harness, &id, arguments.accept_changes, arguments.json, context)?;
    let options = ResumeOptions {
        person: person.clone(),
        answer: arguments.answer.clone(),
        limits: arguments.budget.clone(),
        accept_changes,
    };
    let events = harness.store.read(&id, 1)?;
    let mut session = harness.resume(&id, &options, front(context, arguments.json, &events))?;
    session.settle(&person, &settled, &arguments.note)?;
    finish(session, context, arguments.json)
}

/// `c3-1=done`.
fn settlement(text: &str) -> Result<(CallId, Settlement), HarnessError> {
    let (call, word) = text.split_once('=').unwrap_or((text, ""));
    let settlement = Settlement::ALL.into_iter().find(|known| known.as_str() == word);
    let words = Settlement::ALL.map(Settlement::as_str).join(", ");
    let wrong = || usage(format!("--unknown {text}: write CALL=WORD, with one of {words}"));
    Ok((CallId::new(call), settlement.ok_or_else(wrong)?))
}

/// Who watches and who is asked. `before` are the events of earlier processes.
pub(super) fn front(context: &Context, json: bool, before: &[Event]) -> Front {
    if json {
        return Front { observer: Box::new(JsonLines::new(context.out())), asker: None };
    }
    let mut live = Live::new(context.out(), context.terminal);
    live.remember(before);
    let asker = context.interactive.then(|| Box::new(TerminalAsker::new(context.person.clone())) as Box<dyn Asker>);
    Front { observer: Box::new(live), asker }
}

pub(super) fn finish(mut session: Session, context: &Context, json: bool) -> Result<u8, HarnessError> {
    let started = Instant::now();
    let outcome = drive(&mut session)?;
    let mut out = context.out();
    if json {
        JsonLines::new(out).outcome(&outcome, session.state().seq() + 1);
    } else {
        let took = started.elapsed();
        let counted = counted(&context.store()?.read(&outcome.session, 1)?);
        closing(&mut *out, &outcome, session.state(), counted, took, &context.program);
    }
    Ok(outcome.status.exit_code())
}

pub(super) fn drive(session: &mut Session) -> Result<Outcome, HarnessError> {
    // The first Ctrl-C or SIGTERM ends the run in order; a second one ends the program.
    let interrupts = Interrupts::listen().map_err(|error| usage(format!("signals can not be heard: {error}")))?;
    interrupts.end(session.cancel_token());
    super::block_on(async {
        tokio::select! {
            biased;
            outcome = session.drive() => outcome,
            () = interrupts.again() => Err(HarnessError::Interrupted),
        }
    })?
}
