//! One group of calls: judged together, then either all wait for a person or all are carried out.

use checkrein_contract::{
    Actor, Body, CallId, Code, Decision, Facts, Finished, FinishedAs, OnAsk, ProposedCall, Status, Stop, Verdict,
};
use checkrein_gate::{Approved, Gate, Judged, Recorder, Refused, Started, error_text, start};
use checkrein_session::tools::{SessionReply, session_tool};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;

use super::Session;
use super::scene::Snapshot;
use super::side_by_side::Part;
use crate::HarnessError;

/// A call of the group after it was judged.
type Outcome = Result<Judged, Refused>;

impl Session {
    pub(super) async fn group(
        &mut self,
        calls: Vec<ProposedCall>,
        by_harness: bool,
        refused: Option<Code>,
    ) -> Result<(), HarnessError> {
        let snapshot = Snapshot::of(&self.log.state, &calls, by_harness);
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut left = if by_harness { u32::MAX } else { self.log.state.calls_left() };
        let in_time = self.log.state.millis_left(self.clock.now_ms()) > 0;
        for call in &calls {
            let outcome = match refused {
                Some(code) => Err(refusal(call, code, "the reply was cut by its length limit, so no call of it runs")),
                None if !by_harness && (left == 0 || !in_time) => {
                    Err(refusal(call, Code::BudgetSpent, "the budget of this session is spent"))
                }
                None => self.gate.judge(call, &snapshot.scene()).await.map_err(|refused| self.looked_up(refused)),
            };
            left = left.saturating_sub(1);
            self.record_decision(&outcome)?;
            outcomes.push(outcome);
        }
        if self.raise_asks(&outcomes)? {
            return Ok(());
        }
        self.carry_out(outcomes, &snapshot).await
    }

    /// Whoever guessed the arguments of what was only named is told where they are described.
    fn looked_up(&self, mut refused: Refused) -> Refused {
        if refused.decision.code == Code::InvalidArgs && self.log.state.defers(&refused.tool) {
            let names = format!("; `find_tools` with the name `{}` shows what it takes", refused.tool);
            refused.decision.reason.push_str(&names);
        }
        refused
    }

    fn record_decision(&mut self, outcome: &Outcome) -> Result<(), HarnessError> {
        let decided = |call: &CallId, tool: &str, decision: &Decision, facts: Facts, binds| Body::Decision {
            call: call.clone(),
            tool: tool.to_owned(),
            decision: decision.clone(),
            facts,
            binds,
        };
        let body = match outcome {
            Ok(judged) => {
                for changed in judged.changes() {
                    self.log.record(Actor::Hook(changed.hook.clone()), Body::Hook(changed.note.clone()))?;
                }
                let binds = (judged.decision().verdict == Verdict::Ask).then(|| judged.binds());
                decided(&judged.call().id, &judged.call().tool, judged.decision(), judged.facts().clone(), binds)
            }
            Err(refused) => decided(&refused.call, &refused.tool, &refused.decision, Facts::default(), None),
        };
        self.log.record(Actor::Code, body)?;
        Ok(())
    }

    /// Admits what may run, refuses the rest, runs, and records the ends in the order of the calls.
    async fn carry_out(&mut self, outcomes: Vec<Outcome>, snapshot: &Snapshot) -> Result<(), HarnessError> {
        let now = self.clock.now_ms();
        let mut order: Vec<Step> = Vec::with_capacity(outcomes.len());
        let mut admitted = Vec::new();
        for outcome in outcomes {
            let nobody = self.log.state.opened().on_ask == OnAsk::Deny || self.log.state.reads_instructions();
            let step = match outcome {
                Err(refused) => Step::Refused(refused),
                Ok(judged) if judged.decision().verdict == Verdict::Ask && nobody => {
                    Step::Refused(unattended(&judged.call().id, &judged.call().tool, judged.decision()))
                }
                Ok(judged) => {
                    let call = judged.call().id.clone();
                    match judged.admit(self.log.state.approval_for(&call), now) {
                        Ok(approved) => {
                            admitted.push(approved);
                            Step::Runs
                        }
                        Err(refused) => Step::Refused(refused),
                    }
                }
            };
            order.push(step);
        }
        if admitted.iter().any(|approved| session_tool(&approved.call().tool).is_some()) {
            return self.answered(order, admitted).await;
        }
        let started = start(admitted, &mut self.log)?;
        self.run_all(order, started, snapshot).await
    }

    async fn run_all(
        &mut self,
        order: Vec<Step>,
        started: Vec<Started>,
        snapshot: &Snapshot,
    ) -> Result<(), HarnessError> {
        let mut started = started.into_iter();
        let (gate, spill, cancel, log) = (&self.gate, &*self.gate.spill, &self.cancel, &mut self.log);
        let mut ends = FuturesOrdered::new();
        for step in order {
            let run: std::pin::Pin<Box<dyn Future<Output = Option<Finished>> + Send + '_>> = match step {
                Step::Refused(refused) => Box::pin(async move { Some(refused.finished()) }),
                Step::Runs => match started.next() {
                    Some(started) => {
                        Box::pin(async move { Some(run_one(gate, started, snapshot, spill, cancel).await) })
                    }
                    None => Box::pin(async { None }),
                },
            };
            ends.push_back(run);
        }
        while let Some(end) = ends.next().await {
            if let Some(finished) = end {
                log.record(Actor::Code, Body::Finished(Box::new(finished)))?;
            }
        }
        Ok(())
    }

    /// Calls of tools that are answered from the state: one alone in its group, or sub-sessions side by side.
    async fn answered(&mut self, order: Vec<Step>, admitted: Vec<Approved>) -> Result<(), HarnessError> {
        let mut admitted = admitted.into_iter();
        let mut parts = Vec::with_capacity(order.len());
        for step in order {
            let approved = match step {
                Step::Refused(refused) => {
                    parts.push(Part::Over(None, Box::new(refused.finished())));
                    continue;
                }
                Step::Runs => admitted.next(),
            };
            let Some(approved) = approved else { continue };
            let call = approved.call();
            let Some(tool) = session_tool(&call.tool) else { continue };
            let (code, text, change) = match tool.answer(&call.id, &call.args, &self.log.state) {
                SessionReply::Result { text, change } => (None, text, change),
                SessionReply::Failed { code, message } => (Some(code), error_text(code, &message), None),
                SessionReply::AskPerson { question } => return self.ask_person(&call.id.clone(), question),
                SessionReply::Delegate(delegation) => {
                    parts.push(Part::Given(approved, delegation));
                    continue;
                }
            };
            let ended = if code.is_some() { FinishedAs::Failed } else { FinishedAs::Ok };
            let text = checkrein_gate::redact_text(&text).into_owned();
            let finished = Finished { change, ..Finished::bare(call.id.clone(), call.tool.clone(), ended, code, text) };
            parts.push(Part::Over(Some(approved), Box::new(finished)));
        }
        self.side_by_side(parts).await
    }

    fn ask_person(&mut self, call: &CallId, question: String) -> Result<(), HarnessError> {
        let answer = match self.log.state.opened().on_ask {
            OnAsk::Prompt => self.asker.as_ref().and_then(|asker| asker.input(&question)),
            OnAsk::Pause | OnAsk::Deny => None,
        };
        if let Some((person, text)) = answer {
            let text = checkrein_gate::redact_text(&text).into_owned();
            self.log.record(Actor::Person(person), Body::Input { call: Some(call.clone()), text })?;
            return Ok(());
        }
        self.stop(Stop { status: Status::NeedsInput, code: Code::NeedsInput, reason: question, limit: None })
    }
}

/// What happens to one call of the group.
enum Step {
    Runs,
    Refused(Refused),
}

async fn run_one(
    gate: &Gate,
    started: Started,
    snapshot: &Snapshot,
    spill: &dyn checkrein_gate::Spill,
    cancel: &tokio_util::sync::CancellationToken,
) -> Finished {
    let context = snapshot.run_context(gate, spill, cancel);
    gate.run(started, &snapshot.scene(), context).await
}

/// The refusal of a call that would need a yes where nobody may be asked.
pub(crate) fn unattended(call: &CallId, tool: &str, decision: &Decision) -> Refused {
    let message = format!("it needs a person's yes ({}), and nobody may be asked", decision.reason);
    refusal_of(call.clone(), tool, Code::DeniedUnattended, message)
}

fn refusal(call: &ProposedCall, code: Code, message: &str) -> Refused {
    refusal_of(call.id.clone(), &call.tool, code, message.to_owned())
}

fn refusal_of(call: CallId, tool: &str, code: Code, reason: String) -> Refused {
    let decision = Decision { verdict: Verdict::Deny, code, reason, trace: Vec::new() };
    Refused { call, tool: tool.to_owned(), decision }
}
