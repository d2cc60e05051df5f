//! Asking a person: the exact call goes into the journal first, then either to the terminal or to whoever comes later.

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, ApprovalState, Body, CallId, Code, Digest, OnAsk, Status, Stop, Verdict,
};
use checkrein_gate::{Judged, Recorder, Refused};

use super::Session;
use crate::HarnessError;

/// How long a request waits for an answer, and a yes for its use: 24 hours, in milliseconds.
pub(crate) const APPROVAL_MS: u64 = 24 * 60 * 60 * 1_000;

impl Session {
    /// Records a request for every call of the group that needs one and has none; `true` when the group has to wait.
    pub(super) fn raise_asks(&mut self, outcomes: &[Result<Judged, Refused>]) -> Result<bool, HarnessError> {
        if self.log.state.opened().on_ask == OnAsk::Deny || self.log.state.reads_instructions() {
            return Ok(false);
        }
        let mut waits = false;
        for judged in outcomes.iter().flatten().filter(|judged| judged.decision().verdict == Verdict::Ask) {
            if self.log.state.approval_for(&judged.call().id).is_some() {
                continue;
            }
            let request = self.approval_request(judged);
            self.log.record(Actor::Code, Body::Ask(Box::new(request)))?;
            waits = true;
        }
        Ok(waits)
    }

    fn approval_request(&self, judged: &Judged) -> ApprovalRequest {
        let opened = self.log.state.opened();
        let now = self.clock.now_ms();
        let call = judged.call();
        ApprovalRequest {
            id: approval_id(&opened.session, &call.id, self.log.state.seq() + 1),
            session: opened.session.clone(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.args.clone(),
            effects: judged.effects().to_vec(),
            reason: judged.decision().reason.clone(),
            binds: judged.binds(),
            rests_on: judged.rests_on().to_vec(),
            identity: opened.identity.clone(),
            approvers: self.gate.policy.approvers(judged.decision()),
            policy: self.gate.policy.digest().clone(),
            requested_at: now,
            expires_at: now.saturating_add(APPROVAL_MS),
        }
    }

    /// Puts waiting requests to the person at the terminal, or pauses.
    pub(super) fn ask(&mut self, calls: &[CallId]) -> Result<(), HarnessError> {
        // The question is durable before anybody can answer it.
        self.log.flush()?;
        let prompt = self.log.state.opened().on_ask == OnAsk::Prompt;
        let requests = calls.iter().filter_map(|call| self.log.state.approval_for(call));
        let requests: Vec<ApprovalRequest> = requests.map(|approval| approval.request().clone()).collect();
        if let Some(asker) = self.asker.as_mut().filter(|_| prompt) {
            for request in &requests {
                if request.approvers.refuses(asker.person(), &request.identity).is_some() {
                    return self.pause(&requests);
                }
                let Some((person, answer)) = asker.approval(request) else {
                    return self.pause(&requests);
                };
                self.log.record(Actor::Person(person), Body::Approval { id: request.id.clone(), answer })?;
            }
            self.log.flush()?;
            return Ok(());
        }
        self.pause(&requests)
    }

    /// Takes back what nobody has answered: the calls were closed.
    pub(super) fn withdraw_questions(&mut self) -> Result<(), HarnessError> {
        let now = self.clock.now_ms();
        let open = self.log.state.approvals().filter(|approval| approval.state(now) == ApprovalState::Pending);
        let open: Vec<ApprovalId> = open.map(|approval| approval.request().id.clone()).collect();
        for id in open {
            let answer = Answer::Withdrawn { reason: "the run was cancelled".to_owned() };
            self.log.record(Actor::Code, Body::Approval { id, answer })?;
        }
        Ok(())
    }

    fn pause(&mut self, requests: &[ApprovalRequest]) -> Result<(), HarnessError> {
        self.stop(pause(requests.iter()))
    }
}

/// The stop of a session that waits for answers to these requests.
pub(crate) fn pause<'a>(requests: impl Iterator<Item = &'a ApprovalRequest>) -> Stop {
    let (mut tools, mut who): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for request in requests {
        tools.push(format!("`{}`", request.tool));
        who.extend(request.approvers.words());
    }
    let mut reason = format!("a person's yes is needed for {}", tools.join(" and "));
    who.dedup();
    if !who.is_empty() {
        reason.push_str(&format!(" (who may: {})", who.join("; ")));
    }
    Stop { status: Status::NeedsApproval, code: Code::NeedsApproval, reason, limit: None }
}

/// The name of the request that the event of this number raises.
pub(crate) fn approval_id(session: &checkrein_contract::SessionId, call: &CallId, seq: u64) -> ApprovalId {
    let digest = Digest::of(format!("{session}/{call}/{seq}").as_bytes());
    ApprovalId::new(format!("a-{}", digest.as_str().get(..10).unwrap_or_default()))
}
