//! Sub-sessions at the same time: all are begun or taken up in the order of their calls, each with its part of the budget
//! reserved; then all are driven, each to its own stop; then their answers are recorded as results, in the order of the
//! calls again. So nothing that is recorded here depends on which of them was first.
//!
//! A call is recorded as started only when its sub-session is over: a pause or a crash in between leaves a call that is
//! simply decided again, and finds its sub-session where it stands.

use checkrein_contract::{
    Actor, Body, BoxFuture, Call, Code, Finished, FinishedAs, Lane, Outcome, SessionChange, Spend, Status, Stop,
};
use checkrein_gate::{Approved, Recorder, error_text, start};
use checkrein_session::Share;
use checkrein_session::tools::Delegation;
use futures_util::future::join_all;

use super::Session;
use super::delegate::Beginning;
use crate::HarnessError;

/// A call of a group, on its way to its end.
pub(super) enum Part {
    /// It is over: never started, or answered from the state.
    Over(Option<Approved>, Box<Finished>),
    /// A sub-session does it.
    Given(Approved, Delegation),
}

/// The sub-session of a part.
enum Sub {
    /// Nothing of the budget is left for it.
    NoRoom,
    /// It was over already.
    Over(Box<Came>),
    /// It has to be driven.
    Goes(Box<Session>),
}

/// How a sub-session came out.
struct Came {
    /// What models and recordings know it by: an id is another in every run.
    lane: Lane,
    outcome: Outcome,
    spend: Spend,
    /// It was driven just now.
    child: Option<Box<Session>>,
}

impl Session {
    /// Drives the sub-sessions among these and records every end.
    pub(super) async fn side_by_side(&mut self, parts: Vec<Part>) -> Result<(), HarnessError> {
        if parts.iter().any(|part| matches!(part, Part::Given(..))) {
            // What asked for them is durable before any of them does anything: nobody else would find them again.
            self.log.flush()?;
        }
        let subs = self.subs(&parts)?;
        let mut came = join_all(subs.into_iter().map(come)).await.into_iter();
        let mut paused: Vec<Outcome> = Vec::new();
        for part in parts {
            let (approved, finished) = match part {
                Part::Over(approved, finished) => (approved, finished),
                Part::Given(approved, _) => {
                    let (call, came) = (approved.call().clone(), came.next().transpose()?.flatten());
                    match self.ended(call, came)? {
                        Ok(finished) => (Some(approved), Box::new(finished)),
                        Err(outcome) => {
                            paused.push(outcome);
                            continue;
                        }
                    }
                }
            };
            start(approved.into_iter().collect(), &mut self.log)?;
            self.log.record(Actor::Code, Body::Finished(finished))?;
        }
        let Some(first) = paused.first() else { return Ok(()) };
        let reasons: Vec<String> =
            paused.iter().map(|paused| format!("in its sub-session {}: {}", paused.session, paused.reason)).collect();
        // The sub-sessions have told what they wait for.
        self.notify = None;
        self.stop(Stop { status: first.status, code: first.code, reason: reasons.join("; "), limit: None })
    }

    /// The sub-session of each part that has one, in order. All are there before any of them goes on.
    fn subs(&self, parts: &[Part]) -> Result<Vec<Sub>, HarnessError> {
        let mut given: Vec<(&Call, &Delegation)> = Vec::new();
        let (mut known, mut shares) = (Vec::new(), Vec::new());
        for part in parts {
            let Part::Given(approved, delegation) = part else { continue };
            let (session, found) = self.known(approved.call())?;
            let has = found.as_ref().map(|(_, state)| state.budget().clone());
            shares.push(Share { percent: delegation.share, given: has });
            known.push((session, found));
            given.push((approved.call(), delegation));
        }
        let budgets = self.log.state.shares(&shares, self.clock.now_ms());
        let numbers = self.log.state.delegated() + 1..;
        let mut subs = Vec::with_capacity(given.len());
        let all = given.into_iter().zip(known).zip(budgets).zip(numbers);
        for ((((call, delegation), (session, known)), budget), number) in all {
            subs.push(match (known, budget) {
                (Some((head, state)), _) if state.stop().is_some_and(|stop| !stop.status.can_resume()) => {
                    let outcome = state.outcome(head.hash, self.clock.now_ms());
                    let lane = state.opened().lane();
                    Sub::Over(Box::new(Came { lane, outcome, spend: state.spend().clone(), child: None }))
                }
                (Some((_, state)), _) => Sub::Goes(Box::new(self.take_up(session, state.opened())?)),
                (None, Some(budget)) => {
                    let beginning = Beginning { session, call, delegation, number, budget };
                    Sub::Goes(Box::new(self.begin(beginning)?))
                }
                (None, None) => Sub::NoRoom,
            });
        }
        Ok(subs)
    }

    /// The end of the call, or how its sub-session stands where it waits.
    fn ended(&self, call: Call, came: Option<Came>) -> Result<Result<Finished, Outcome>, HarnessError> {
        let Some(Came { lane, outcome, spend, child }) = came else { return Ok(Ok(no_room(call))) };
        if !outcome.status.can_resume() {
            return Ok(Ok(finished(call, &lane, outcome, spend)));
        }
        if !self.cancel.is_cancelled() {
            return Ok(Err(outcome));
        }
        // One that waited for an answer when the run was cancelled waits no more.
        if let Some(mut child) = child {
            child.withdraw_questions()?;
            child.log.flush()?;
        }
        Ok(Ok(finished(call, &lane, outcome, spend)))
    }
}

/// Drives a sub-session as far as it goes; nothing where there is none.
async fn come(sub: Sub) -> Result<Option<Came>, HarnessError> {
    let mut child = match sub {
        Sub::NoRoom => return Ok(None),
        Sub::Over(came) => return Ok(Some(*came)),
        Sub::Goes(child) => child,
    };
    let outcome = boxed(&mut child).await?;
    let (lane, spend) = (child.state().opened().lane(), child.state().spend().clone());
    Ok(Some(Came { lane, outcome, spend, child: Some(child) }))
}

/// A future that holds one of its own kind has to be put aside.
fn boxed(child: &mut Session) -> BoxFuture<'_, Result<Outcome, HarnessError>> {
    Box::pin(child.drive())
}

fn no_room(call: Call) -> Finished {
    let message = "nothing of this session's budget is left for it";
    let text = error_text(Code::TaskUnfinished, message);
    Finished::bare(call.id, call.tool, FinishedAs::Failed, Some(Code::TaskUnfinished), text)
}

fn finished(call: Call, lane: &Lane, outcome: Outcome, spend: Spend) -> Finished {
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
