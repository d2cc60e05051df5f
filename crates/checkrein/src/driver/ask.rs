//! Asking a person: the exact call goes into the journal first, then either to the terminal or to whoever comes later.

use std::collections::BTreeSet;

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, ApprovalState, Body, CallId, Code, Digest, OnAsk, Remembered, Status,
    Stop, Verdict,
};
use checkrein_gate::{Judged, Recorder, Refused};

use super::Session;
use crate::HarnessError;
use crate::approvals::of_call;
use crate::observer::OnePerson;
use crate::setup::policy_of;

/// How long a request waits for an answer, and a yes for its use: 24 hours, in milliseconds.
pub(crate) const APPROVAL_MS: u64 = 24 * 60 * 60 * 1_000;

/// What a person said to a request, and what is to be remembered of it.
type Said = (Actor, Answer, Option<Remembered>);

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
            runs: judged.runs().clone(),
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
        for request in &requests {
            let asker = self.asker.as_ref().filter(|_| prompt);
            let asker = asker.filter(|asker| request.approvers.refuses(asker.person(), &request.identity).is_none());
            let said = asker.cloned().map(|asker| self.answered_by(&asker, request)).transpose()?.flatten();
            let Some((by, answer, remembered)) = said else {
                // Who was interrupted at the question has not put it off: the run ends.
                return if self.cancel.is_cancelled() { Ok(()) } else { self.pause(&requests) };
            };
            self.log.record(by.clone(), Body::Approval { id: request.id.clone(), answer })?;
            if let Some(remembered) = remembered {
                self.log.record(by, Body::Remembered(Box::new(remembered)))?;
                self.gate.policy = policy_of(self.log.state.opened())?;
            }
        }
        self.log.flush()?;
        Ok(())
    }

    /// What the person says to a request. Of a yes that is to be remembered they are shown what it would be as a rule; it counts
    /// once they agree to that, else they are asked anew.
    fn answered_by(&mut self, asker: &OnePerson, request: &ApprovalRequest) -> Result<Option<Said>, HarnessError> {
        loop {
            let Some((person, answer)) = asker.approval(request) else { return Ok(None) };
            let by = Actor::Person(person);
            if !matches!(answer, Answer::Approved { .. }) || !asker.wants_it_remembered() {
                return Ok(Some((by, answer, None)));
            }
            self.log.flush()?;
            let state = &self.log.state;
            let events = self.log.store().read(state.session(), 1)?;
            match of_call(state, events, request, self.log.head().clone())? {
                Ok(offer) if asker.remembers(Ok(&offer)) => return Ok(Some((by, answer, Some(offer.remembered)))),
                Ok(_) => {}
                Err(why) => {
                    asker.remembers(Err(&why));
                    return Ok(Some((by, answer, None)));
                }
            }
        }
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
    let mut seen = BTreeSet::new();
    who.retain(|words| seen.insert(words.clone()));
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

#[cfg(test)]
mod tests {
    use checkrein_contract::{Approvers, Identity, RolesAsked, SessionId};

    use super::*;

    /// Who may answer is said once, in whatever order the calls stand.
    #[test]
    fn a_pause_says_once_who_may() {
        let request = |role: &str| ApprovalRequest {
            id: ApprovalId::new("a-1"),
            session: SessionId::new("s-1"),
            call: CallId::new("c1-1"),
            tool: "pay".to_owned(),
            arguments: serde_json::Value::Null,
            effects: Vec::new(),
            reason: String::new(),
            binds: Digest::of(b""),
            rests_on: Vec::new(),
            runs: std::collections::BTreeMap::new(),
            identity: Identity::default(),
            approvers: Approvers {
                four_eyes: false,
                roles: vec![RolesAsked { rule: "r".into(), roles: vec![role.into()], people: vec!["dana".into()] }],
            },
            policy: Digest::of(b""),
            requested_at: 0,
            expires_at: 0,
        };
        let stop = pause([request("manager"), request("auditor"), request("manager")].iter());
        assert!(stop.reason.ends_with("(who may: manager (dana); auditor (dana))"), "{}", stop.reason);
    }
}
