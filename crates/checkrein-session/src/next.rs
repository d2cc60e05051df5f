//! What happens next. A pure function of the state.

use checkrein_contract::{ApprovalState, CallId, Check, Code, FinishedAs, Message, ProposedCall, Status, Stop, StopOn};
use checkrein_gate::guards::STOP_AT;

use crate::batch::Batch;
use crate::state::{Phase, State};

/// How often checks may fail before the session fails: the model gets to repair its work that often, less one.
const MAX_ROUNDS: u32 = 3;
/// Replies in a row that are neither calls nor an answer.
const MAX_MALFORMED: u32 = 3;

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Plan a request, send it, record the reply.
    Request,
    /// Decide these calls; run them unless one of them has to wait for a person.
    Decide {
        /// One group: they may overlap.
        calls: Vec<ProposedCall>,
        /// The harness's own checks.
        by_harness: bool,
        /// All of them are refused with this code.
        refused: Option<Code>,
    },
    /// A process was lost while these calls ran: a person has to say what became of them.
    Settle {
        /// The calls.
        calls: Vec<ProposedCall>,
    },
    /// These calls wait for an answer that is not there yet.
    Ask {
        /// The calls.
        calls: Vec<CallId>,
    },
    /// Begin a round of checks.
    Check {
        /// The number of the round, from 1.
        round: u32,
        /// What must hold.
        checks: Vec<Check>,
    },
    /// Record this stop.
    Stop(Stop),
    /// The session has stopped.
    Stopped(Stop),
}

impl State {
    /// What happens next. `now` (milliseconds since 1970) only tells whether an approval has run out.
    pub fn next(&self, now: u64) -> Next {
        if let Some(stop) = &self.stop {
            return Next::Stopped(stop.clone());
        }
        match &self.phase {
            Phase::Ending(stop) => Next::Stop(stop.clone()),
            Phase::Ready | Phase::Waiting => match self.last {
                Some(limit) => Next::Stop(Stop {
                    status: Status::BudgetExhausted,
                    code: Code::BudgetExhausted,
                    reason: format!("the budget for {limit} is spent"),
                    limit: Some(limit),
                }),
                None => Next::Request,
            },
            Phase::Calls(batch) | Phase::Checking(batch) => self.next_of(batch, now),
            Phase::Answered if self.opened.verify.is_empty() => Next::Stop(done()),
            Phase::Answered => Next::Check { round: self.rounds + 1, checks: self.opened.verify.clone() },
        }
    }

    fn next_of(&self, batch: &Batch, now: u64) -> Next {
        let unknown = self.unknown_outcomes();
        if !unknown.is_empty() {
            return Next::Settle { calls: unknown };
        }
        let waits = |call: &CallId| {
            self.approval_for(call).is_some_and(|approval| approval.state(now) == ApprovalState::Pending)
        };
        let waiting: Vec<CallId> =
            batch.current().map(|slot| slot.call.id.clone()).filter(|call| waits(call)).collect();
        if !waiting.is_empty() {
            return Next::Ask { calls: waiting };
        }
        Next::Decide {
            calls: batch.current().map(|slot| slot.call.clone()).collect(),
            by_harness: batch.by_harness,
            refused: batch.refused,
        }
    }

    /// Called when the last call of a batch has ended: where the session goes from there.
    pub(crate) fn after_batch(&mut self, batch: &Batch) -> Phase {
        if batch.instructions {
            return self.after_instructions(batch);
        }
        if batch.by_harness {
            return self.after_checks(batch);
        }
        self.history.push(batch.results());
        for slot in &batch.slots {
            let Some(ended) = &slot.ended else { continue };
            let failures = self.failures(&checkrein_gate::call_digest(&slot.call.tool, &slot.call.args));
            if failures >= STOP_AT {
                return ending(
                    Status::Failed,
                    Code::RepeatedFailure,
                    format!("the same call of `{}` failed {failures} times in a row", slot.call.tool),
                );
            }
            let code = ended.code.unwrap_or(Code::ToolFailed);
            let on = &self.opened.stop_on;
            if ended.how == FinishedAs::Refused && code.is_refusal() && on.contains(&StopOn::Deny) {
                let reason = format!("a call of `{}` was refused ({code})", slot.call.tool);
                return ending(Status::Blocked, Code::StoppedOnDeny, reason);
            }
            let failed = matches!(ended.how, FinishedAs::Failed | FinishedAs::Unknown)
                || ended.how == FinishedAs::Refused && !code.is_refusal();
            if failed && on.contains(&StopOn::Error) {
                let reason = format!("a call of `{}` failed ({code})", slot.call.tool);
                return ending(Status::Failed, Code::StoppedOnError, reason);
            }
        }
        Phase::Ready
    }

    fn after_checks(&mut self, batch: &Batch) -> Phase {
        let failed: Vec<String> = batch
            .slots
            .iter()
            .filter_map(|slot| slot.ended.as_ref())
            .filter(|ended| ended.code.is_some() || ended.how != FinishedAs::Ok)
            .map(|ended| ended.text.clone())
            .collect();
        if failed.is_empty() {
            return Phase::Ending(done());
        }
        if self.rounds >= MAX_ROUNDS {
            let first = failed.first().and_then(|text| text.lines().next()).unwrap_or_default();
            return ending(
                Status::Failed,
                Code::VerifyFailed,
                format!("{} of {} checks failed, {} times: {first}", failed.len(), batch.slots.len(), self.rounds),
            );
        }
        let text = format!(
            "[harness] The work is not done yet: {} of {} checks failed. Repair it, then answer again.\n{}",
            failed.len(),
            batch.slots.len(),
            failed.join("\n")
        );
        self.history.push(Message::User { text, harness: true });
        Phase::Ready
    }

    /// Where a malformed reply leads.
    pub(crate) fn after_malformed(&mut self, defect: Code) -> Phase {
        self.malformed += 1;
        if self.malformed >= MAX_MALFORMED {
            let reason = format!("{MAX_MALFORMED} replies in a row were neither calls nor an answer ({defect})");
            return ending(Status::Failed, Code::MalformedReplies, reason);
        }
        let text = format!(
            "[harness] Your reply could not be used: {}",
            checkrein_gate::error_text(defect, "it held neither a whole answer nor calls that could be run")
        );
        self.history.push(Message::User { text, harness: true });
        Phase::Ready
    }
}

fn done() -> Stop {
    Stop { status: Status::Completed, code: Code::Done, reason: "the model answered".to_owned(), limit: None }
}

fn ending(status: Status, code: Code, reason: String) -> Phase {
    Phase::Ending(Stop { status, code, reason, limit: None })
}
