//! The fold: one event, one step. An event that does not follow from those before it is an error, not a guess.

use std::sync::Arc;

use checkrein_contract::{
    ApprovalRequest, Body, CallId, Citation, Code, Compacted, Decision, Event, Finished, FinishedAs, Limit, Message,
    ProposalKind, ProposedCall, SessionChange, Settlement, Stop, ToolCallPart, Usage, Verdict,
};
use checkrein_gate::{RecordedApproval, call_digest};
use serde_json::Value;
use thiserror::Error;

use crate::batch::{Batch, Ended};
use crate::budget::Reserved;
use crate::state::{Phase, State};
use crate::tools::said;

/// An event that does not follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("event {seq} does not follow from those before it: {reason}")]
pub struct ApplyError {
    /// The event.
    pub seq: u64,
    /// Why.
    pub reason: String,
}

impl State {
    /// Applies one event.
    ///
    /// # Errors
    /// [`ApplyError`]; the state must not be used any more then.
    pub fn apply(&mut self, event: &Event) -> Result<(), ApplyError> {
        let wrong = |reason: String| ApplyError { seq: event.seq, reason };
        if event.seq != self.seq + 1 {
            return Err(wrong(format!("its number should be {}", self.seq + 1)));
        }
        self.step(event).map_err(wrong)?;
        self.seq = event.seq;
        // What a person does between two processes is not time that the session was driven.
        let waited = matches!(
            event.body,
            Body::Resumed { .. }
                | Body::Recomposed(_)
                | Body::Approval { .. }
                | Body::AnswerRefused { .. }
                | Body::Remembered(_)
                | Body::Forgotten { .. }
                | Body::Input { .. }
                | Body::Settled { .. }
                | Body::Budget { .. }
                | Body::Note(_)
        );
        if !waited {
            self.spend.driven_ms = self.spend.driven_ms.saturating_add(event.at.saturating_sub(self.last_at));
        }
        self.last_at = event.at;
        Ok(())
    }

    fn step(&mut self, Event { by, body, at, .. }: &Event) -> Result<(), String> {
        match body {
            Body::Session(_) => Err("a session begins once".to_owned()),
            Body::Resumed { .. } => self.resumed(),
            Body::Recomposed(change) => {
                self.recomposed(change);
                Ok(())
            }
            Body::Input { call, text } => self.input(call.as_ref(), text),
            Body::Request { turn, attempt, estimate, max_output, last, summarises, .. } => {
                let reserved = Reserved { input: *estimate, output: u64::from(*max_output) };
                self.requested(*turn, *attempt, reserved, *last, *summarises)
            }
            Body::RequestFailed { retry, code, reason, usage, .. } => {
                self.request_failed(*retry, *code, reason, *usage)
            }
            Body::Proposal { kind, text, calls, usage, provider, defect, .. } => {
                self.proposed(*kind, text, calls, *usage, provider, *defect)
            }
            Body::Check(round) => self.check(round.round, &round.calls),
            Body::Instructions(round) => self.instructions(round),
            Body::Hook(_) | Body::Note(_) | Body::AnswerRefused { .. } => Ok(()),
            Body::Decision { call, tool, decision, binds, .. } => {
                self.refused(tool, decision);
                self.decided(call, tool, decision.verdict, binds.as_ref())
            }
            Body::Ask(request) => self.ask(request),
            Body::Approval { id, answer } => {
                let approval = self.approvals.get_mut(id).ok_or_else(|| format!("nobody asked for approval {id}"))?;
                approval.record(by, answer.clone());
                Ok(())
            }
            Body::Remembered(remembered) => self.remember(by, *at, remembered),
            Body::Forgotten { rule, reason, policy_digest } => self.forget(by, rule, reason, policy_digest),
            Body::Started { call, approval, kind, tool, .. } => {
                if let Some(id) = approval {
                    let approval = self.approvals.get_mut(id).ok_or_else(|| format!("there is no approval {id}"))?;
                    approval.record_use();
                }
                self.tool_runs.entry(tool.clone()).or_default();
                let kind = *kind;
                self.slot(call, |slot| slot.started = Some(kind))
            }
            Body::Settled { call, settlement, note } => self.settled(call, *settlement, note),
            Body::Finished(finished) => self.finished(finished),
            Body::Trim { results, .. } => {
                self.trimmed.extend(results.iter().map(|result| result.call.clone()));
                Ok(())
            }
            Body::Compacted(event) => self.compacted_to(event),
            Body::Budget { budget } => {
                self.set_budget(budget);
                Ok(())
            }
            Body::Stop(stop) => self.stopped(stop),
        }
    }

    fn slot(&mut self, call: &CallId, change: impl FnOnce(&mut crate::batch::Slot)) -> Result<(), String> {
        let (Phase::Calls(batch) | Phase::Checking(batch)) = &mut self.phase else {
            return Err(format!("no call is on its way, so not {call} either"));
        };
        change(batch.slot_mut(call).ok_or_else(|| format!("{call} is no call of this proposal"))?);
        Ok(())
    }

    fn resumed(&mut self) -> Result<(), String> {
        self.settle_lost();
        if self.phase == Phase::Waiting {
            self.phase = Phase::Ready;
        }
        if let Some(stop) = self.stop.take_if(|stop| !stop.status.can_resume()) {
            return Err(format!("the session ended as {} and can not be resumed", stop.status));
        }
        self.stop = None;
        Ok(())
    }

    fn input(&mut self, call: Option<&CallId>, text: &str) -> Result<(), String> {
        match call {
            Some(call) => {
                self.inputs.insert(call.clone(), text.to_owned());
            }
            None if !self.takes_words() => return Err("words of a person while calls are on their way".to_owned()),
            None => {
                self.history.push(Message::User { text: text.to_owned(), harness: false });
                // Whatever was to come next, the model answers to this first.
                self.phase = Phase::Ready;
                self.last = None;
            }
        }
        Ok(())
    }

    fn requested(
        &mut self,
        turn: u32,
        attempt: u32,
        reserved: Reserved,
        last: Option<Limit>,
        summarises: Option<u64>,
    ) -> Result<(), String> {
        if !matches!(self.phase, Phase::Ready | Phase::Waiting) {
            return Err("a request while calls are on their way".to_owned());
        }
        self.settle_lost();
        self.turn = turn;
        self.attempt = attempt;
        self.spend.requests += 1;
        self.reserved = Some(reserved);
        if summarises.is_none() {
            self.requested_upto = self.history.messages().len();
            self.folders_looked_into();
        }
        self.summarising = summarises;
        self.last = last;
        self.phase = Phase::Waiting;
        Ok(())
    }

    fn request_failed(&mut self, retry: bool, code: Code, reason: &str, usage: Option<Usage>) -> Result<(), String> {
        if retry && code == Code::ContextOverflow {
            self.overflowed();
        }
        if let Some(reserved) = self.reserved {
            self.settle(usage.unwrap_or(Usage {
                input: reserved.input,
                output: 0,
                estimated: true,
                ..Usage::default()
            }));
        }
        if !retry && self.summarising.is_some() {
            // The session goes on without it.
            self.summary_failed = Some((code, reason.to_owned()));
            self.phase = Phase::Ready;
        } else if !retry && self.last.is_none() {
            self.phase = Phase::Ending(Stop {
                status: checkrein_contract::Status::Failed,
                code,
                reason: reason.to_owned(),
                limit: None,
            });
        } else if !retry {
            // The last request of a spent budget: its failure does not change why the session ends.
            self.phase = Phase::Ready;
        }
        Ok(())
    }

    fn proposed(
        &mut self,
        kind: ProposalKind,
        text: &str,
        calls: &[ProposedCall],
        usage: Usage,
        provider: &Value,
        defect: Option<Code>,
    ) -> Result<(), String> {
        if self.phase != Phase::Waiting && !(self.phase == Phase::Ready && self.opened.is_watched()) {
            return Err("a reply without a request".to_owned());
        }
        if self.summarising.is_some() {
            return Err("a proposal, where a summary was asked for".to_owned());
        }
        self.settle(usage);
        self.attempt = 0;
        self.overflows = 0;
        self.provider = provider.clone();
        if self.last.is_some() {
            // Nothing of the last reply is carried out; its text is the answer. Calls of it would stand without results
            // in the next request, where a person raises the limit, and no model takes such a request.
            if !text.is_empty() {
                // The provider's own form of it would name them too.
                let provider = if calls.is_empty() { provider.clone() } else { Value::Null };
                self.history.push(Message::Assistant { text: text.to_owned(), calls: Vec::new(), provider });
                self.answer = Some(text.to_owned());
            }
            self.phase = Phase::Ready;
            return Ok(());
        }
        let parts = calls.iter().map(|call| {
            let (tool, args) = said(call);
            ToolCallPart { id: call.id.clone(), tool: tool.to_owned(), args: args.into_owned() }
        });
        let message = Message::Assistant { text: text.to_owned(), calls: parts.collect(), provider: provider.clone() };
        self.spend.steps += 1;
        for call in calls {
            self.tool_runs.entry(call.tool.clone()).or_default();
        }
        if kind == ProposalKind::Malformed && calls.is_empty() {
            if !text.is_empty() {
                self.history.push(message);
            }
            self.phase = self.after_malformed(defect.unwrap_or(Code::ReplyTruncated));
            return Ok(());
        }
        self.history.push(message);
        self.malformed = 0;
        self.phase = if kind == ProposalKind::Answer {
            self.answer = Some(text.to_owned());
            Phase::Answered
        } else {
            Phase::Calls(Batch::new(calls.to_vec(), false, defect))
        };
        Ok(())
    }

    fn compacted_to(&mut self, event: &Compacted) -> Result<(), String> {
        let asked = self.phase == Phase::Waiting && self.summarising == Some(event.upto);
        match event.usage {
            Some(usage) if asked => self.settle(usage),
            Some(_) => return Err("a summary that nobody asked for".to_owned()),
            None if matches!(self.phase, Phase::Ready | Phase::Waiting) => self.settle_lost(),
            None => return Err("the conversation changes while calls are on their way".to_owned()),
        }
        if event.usage.is_some() || !event.provider.is_null() {
            self.provider = event.provider.clone();
        }
        self.put_away(event)?;
        self.turn = event.turn;
        (self.attempt, self.summarising, self.summary_failed) = (0, None, None);
        self.phase = Phase::Ready;
        Ok(())
    }

    /// The model takes less than was shown: from here on half of it.
    fn overflowed(&mut self) {
        let Some(reserved) = self.reserved else { return };
        let shown = reserved.input.saturating_sub(self.frame_tokens());
        self.room = Some(self.room.unwrap_or(u64::MAX).min(shown / 2));
        self.overflows += 1;
    }

    /// What the rules refused holds as long as they do.
    fn refused(&mut self, tool: &str, decision: &Decision) {
        let refused = (tool.to_owned(), decision.reason.clone());
        let by_rule = decision.verdict == Verdict::Deny && decision.code == Code::Denied;
        if by_rule && !self.refusals.contains(&refused) {
            self.refusals.push(refused);
        }
    }

    fn check(&mut self, round: u32, calls: &[ProposedCall]) -> Result<(), String> {
        if self.phase != Phase::Answered {
            return Err("checks come after an answer".to_owned());
        }
        self.rounds = round;
        self.phase = Phase::Checking(Batch::new(calls.to_vec(), true, None));
        Ok(())
    }

    fn decided(
        &mut self,
        call: &CallId,
        tool: &str,
        verdict: Verdict,
        binds: Option<&checkrein_contract::Digest>,
    ) -> Result<(), String> {
        let mut first = false;
        let mut by_harness = false;
        if let Phase::Checking(_) = self.phase {
            by_harness = true;
        }
        self.slot(call, |slot| {
            first = slot.decided.is_none();
            slot.decided = Some(verdict);
            slot.binds = binds.cloned();
        })?;
        if first && !by_harness {
            self.spend.calls += 1;
            self.tool_runs.entry(tool.to_owned()).or_default();
        }
        Ok(())
    }

    fn ask(&mut self, request: &ApprovalRequest) -> Result<(), String> {
        self.slot(&request.call, |_| {})?;
        self.asked.insert(request.call.clone(), request.id.clone());
        self.approvals.insert(request.id.clone(), RecordedApproval::new(request.clone()));
        Ok(())
    }

    fn settled(&mut self, call: &CallId, settlement: Settlement, note: &str) -> Result<(), String> {
        let mut open = false;
        self.slot(call, |slot| {
            open = slot.is_interrupted() && slot.settled.is_none();
            match settlement {
                Settlement::Repeat => slot.started = None,
                Settlement::Done | Settlement::Failed | Settlement::Unknown => {
                    slot.settled = Some((settlement, note.to_owned()));
                }
            }
        })?;
        if !open {
            return Err(format!("what became of {call} is no question"));
        }
        if settlement == Settlement::Repeat {
            // Its yes is used up: where it needs one, a person is asked for another.
            self.asked.remove(call);
        }
        Ok(())
    }

    fn finished(&mut self, finished: &Finished) -> Result<(), String> {
        let ended = Ended { how: finished.ended, code: finished.code, text: finished.text.clone() };
        let mut call = None;
        self.slot(&finished.call, |slot| {
            slot.ended = Some(ended);
            call = Some(call_digest(&slot.call.tool, &slot.call.args));
        })?;
        if matches!(finished.ended, FinishedAs::Ok | FinishedAs::Failed | FinishedAs::Unknown) {
            *self.tool_runs.entry(finished.tool.clone()).or_default() += 1;
        }
        let well = finished.code.is_none() && matches!(finished.ended, FinishedAs::Ok | FinishedAs::Answered);
        if let Some(digest) = call {
            if well {
                self.failures.remove(&digest);
            } else if finished.code != Some(Code::BudgetSpent) {
                *self.failures.entry(digest).or_default() += 1;
            }
        }
        match &finished.change {
            Some(SessionChange::SkillLoaded { skill }) => {
                self.loaded.insert(skill.clone());
            }
            Some(SessionChange::Delegated { spend, .. }) => {
                self.delegated += 1;
                self.spend.add(spend);
            }
            None => {}
        }
        for seen in &finished.seen {
            Arc::make_mut(&mut self.seen).insert(seen.path.clone(), seen.version.clone());
        }
        let by_harness = matches!(self.phase, Phase::Checking(_));
        if !by_harness {
            self.enters(&finished.seen);
        }
        for source in finished.sources.iter().filter(|_| !by_harness) {
            if !self.citations.iter().any(|citation| citation.source == *source) {
                self.citations.push(Citation { source: source.clone(), call: finished.call.clone() });
            }
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Ready);
        self.phase = match phase {
            Phase::Calls(batch) | Phase::Checking(batch) if batch.is_over() => self.after_batch(&batch),
            other => other,
        };
        Ok(())
    }

    fn stopped(&mut self, stop: &Stop) -> Result<(), String> {
        if self.stop.is_some() {
            return Err("the session has stopped already".to_owned());
        }
        self.settle_lost();
        if self.phase == Phase::Waiting {
            self.phase = Phase::Ready;
        }
        self.stop = Some(stop.clone());
        Ok(())
    }
}
