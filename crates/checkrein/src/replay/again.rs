//! One event again: what the harness would record here, given the same words, results, facts, answers and times.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    Answer, ApprovalRequest, Body, CallId, CheckRound, Code, Compacted, ContextPolicy, Decision, Digest, Event,
    Finished, FinishedAs, ModelReply, OnAsk, ProposedCall, SessionOpened, Status, Stop, StopReason, Verdict,
};
use checkrein_gate::{Redactor, Refused, error_text, redact_text};
use checkrein_policy::Policy;
use checkrein_session::tools::{SessionReply, session_tool};
use checkrein_session::{Came, Next, State, proposal, raw_call};
use serde_json::Value;

use super::{Broken, checked};
use crate::driver::{approval_id, check_round, pause, unattended};
use crate::setup::{checker, context_of, reader};
use crate::verify::judged_again;

/// What is needed besides the state.
pub(super) struct Again {
    policy: Arc<Policy>,
    context: Box<dyn ContextPolicy>,
    checker: String,
    reader: String,
    /// Arguments as they are now: hooks may have changed them.
    args: BTreeMap<CallId, Value>,
    /// The last decision of each call, with what an approval of it binds.
    decided: BTreeMap<CallId, (Decision, Option<Digest>)>,
}

impl Again {
    pub(super) fn new(opened: &SessionOpened) -> Result<Self, Broken> {
        let context = context_of(opened).map_err(|error| Broken::whole("a context policy", error.to_string()))?;
        Ok(Self {
            policy: checked(opened)?,
            context,
            checker: checker(),
            reader: reader(),
            args: BTreeMap::new(),
            decided: BTreeMap::new(),
        })
    }

    /// What would be recorded here; `None` where all of it comes from outside.
    pub(super) fn body(&self, state: &mut State, event: &Event) -> Result<Option<Body>, Broken> {
        Ok(match &event.body {
            Body::Trim { .. } => Some(self.trim(state, event)),
            Body::Request { .. } => Some(self.request(state, event)?),
            Body::Compacted(found) => Some(self.compacted(state, event.at, found)?),
            Body::Proposal { .. } => Some(parsed(state, &event.body)),
            Body::Check(_) => match state.next(event.at) {
                Next::Check { round, checks } => Some(Body::Check(check_round(round, &checks, &self.checker))),
                other => return Err(Broken::whole(named(&other), "check")),
            },
            Body::Instructions(found) => Some(Body::Instructions(self.instructions(state, event.at, found)?)),
            Body::Decision { .. } => self.decision(state, event)?,
            Body::Ask(request) => self.ask(state, event.seq, request).map(|request| Body::Ask(Box::new(request))),
            Body::Started { .. } => self.started(state, &event.body),
            Body::Finished(finished) => {
                self.finished(state, finished).map(|finished| Body::Finished(Box::new(finished)))
            }
            Body::Stop(stop) => stopped(state, event.at, stop)?.map(Body::Stop),
            Body::Session(_)
            | Body::Resumed { .. }
            | Body::Recomposed(_)
            | Body::Input { .. }
            | Body::RequestFailed { .. }
            | Body::Hook(_)
            | Body::Settled { .. }
            | Body::Note(_)
            | Body::Budget { .. }
            | Body::AnswerRefused { .. }
            | Body::Remembered(_)
            | Body::Forgotten { .. }
            | Body::Approval { .. } => None,
        })
    }

    /// Takes note of an event that was applied.
    pub(super) fn applied(&mut self, body: &Body, state: &State) -> Result<(), Broken> {
        match body {
            Body::Recomposed(_) | Body::Remembered(_) | Body::Forgotten { .. } => {
                self.policy = checked(state.opened())?
            }
            Body::Proposal { calls, .. } => self.know(calls),
            Body::Check(round) | Body::Instructions(round) => self.know(&round.calls),
            Body::Hook(note) => {
                self.args.insert(note.call.clone(), note.new.clone());
            }
            Body::Decision { call, decision, binds, .. } => {
                self.decided.insert(call.clone(), (decision.clone(), binds.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    fn know(&mut self, calls: &[ProposedCall]) {
        self.args.extend(calls.iter().map(|call| (call.id.clone(), call.args.clone())));
    }

    fn trim(&self, state: &mut State, event: &Event) -> Body {
        let results = state.plan(&*self.context, event.at).trimmed;
        Body::Trim { turn: state.next_turn(), policy: self.context.name().to_owned(), results }
    }

    fn request(&self, state: &mut State, event: &Event) -> Result<Body, Broken> {
        let Body::Request { last, summarises, .. } = &event.body else { return Ok(event.body.clone()) };
        let next = state.next(event.at);
        if next != Next::Request {
            return Err(Broken::whole(named(&next), "request"));
        }
        let plan = match (state.summary_again(&*self.context), summarises) {
            (Some(plan), Some(_)) => plan,
            (Some(_), None) => return Err(Broken::whole("a request for a summary, or compacted", "request")),
            (None, Some(_)) => return Err(Broken::whole("request", "a request for a summary")),
            (None, None) => state.plan_again(&*self.context, *last),
        };
        if !plan.trimmed.is_empty() {
            return Err(Broken::whole("trim", "request"));
        }
        Ok(Body::Request {
            turn: state.next_turn(),
            attempt: state.next_attempt(),
            digest: plan.digest,
            prefix: plan.prefix,
            estimate: plan.estimate,
            max_output: plan.request.max_output_tokens,
            last: plan.last,
            summarises: plan.summarises,
        })
    }

    /// What was put away. The words that stand for it are a model's, and why there are none may lie outside.
    fn compacted(&self, state: &mut State, at: u64, found: &Compacted) -> Result<Body, Broken> {
        let next = state.next(at);
        let due = state.summary_again(&*self.context).and_then(|plan| plan.summarises);
        let due = due.filter(|_| next == Next::Request && (found.summary.is_some() != found.refused.is_some()));
        let summary = match (&found.summary, found.refused, &found.reason) {
            (Some(summary), _, _) => Some(Ok(summary.clone())),
            (None, Some(code), Some(reason)) => Some(Err((code, reason.clone()))),
            (None, _, _) => None,
        };
        let came = Came { summary, usage: found.usage, provider: found.provider.clone() };
        let upto = due.and_then(|upto| usize::try_from(upto).ok());
        let made = upto.and_then(|upto| state.compacted(self.context.name(), upto, came));
        made.map(|made| Body::Compacted(Box::new(made))).ok_or_else(|| Broken::whole(named(&next), "compacted"))
    }

    /// The files that were there are taken as they are.
    fn instructions(&self, state: &State, at: u64, found: &CheckRound) -> Result<CheckRound, Broken> {
        let next = state.next(at);
        if next != Next::Request {
            return Err(Broken::whole(named(&next), "instructions"));
        }
        let path = |call: &ProposedCall| call.args.get("file_path").and_then(Value::as_str).map(str::to_owned);
        let files: Vec<String> = found.calls.iter().filter_map(path).collect();
        let places = state.instruction_places();
        match files.iter().find(|file| !places.iter().flatten().any(|place| place == *file)) {
            Some(other) => Err(Broken::whole(format!("one of {places:?}"), other)),
            None => Ok(state.instruction_round(&files, &self.reader)),
        }
    }

    fn decision(&self, state: &State, event: &Event) -> Result<Option<Body>, Broken> {
        let Body::Decision { call, tool, decision, facts, binds } = &event.body else { return Ok(None) };
        let (calls, refused, by_harness) = match state.next(event.at) {
            Next::Decide { calls, refused, by_harness } => (calls, refused, by_harness),
            // The rest of a group, one of which waits already: it was decided before the question was raised.
            Next::Ask { .. } => return Ok(None),
            other => return Err(Broken::whole(named(&other), "decision")),
        };
        let Some(proposed) = calls.iter().find(|known| known.id == *call) else {
            let group: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            return Err(Broken::whole(format!("a decision on {}", group.join(" or ")), format!("one on {call}")));
        };
        let decision = if decision.trace.is_empty() {
            // Refused before the rules were asked. Of that, what follows from the state is made again.
            let offered = by_harness
                || state.opened().tools.iter().any(|spec| spec.name == proposed.tool) && state.offers(&proposed.tool);
            let code = refused.or((!offered && decision.code != Code::BudgetSpent).then_some(Code::UnknownTool));
            let Some(code) = code else { return Ok(None) };
            Decision { verdict: Verdict::Deny, code, ..decision.clone() }
        } else {
            judged_again(&self.policy, decision, facts)
        };
        let (call, tool, facts, binds) = (call.clone(), tool.clone(), facts.clone(), binds.clone());
        Ok(Some(Body::Decision { call, tool, decision, facts, binds }))
    }

    fn ask(&self, state: &State, seq: u64, found: &ApprovalRequest) -> Option<ApprovalRequest> {
        let (decision, binds) = self.decided.get(&found.call)?;
        let opened = state.opened();
        let session = opened.session_at(seq);
        Some(ApprovalRequest {
            id: approval_id(session, &found.call, seq),
            session: session.clone(),
            effects: decision.trace.iter().filter_map(|step| step.effect.clone()).collect(),
            reason: decision.reason.clone(),
            binds: binds.clone().unwrap_or_else(|| found.binds.clone()),
            identity: opened.identity.clone(),
            policy: opened.policy_digest.clone(),
            ..found.clone()
        })
    }

    fn started(&self, state: &State, found: &Body) -> Option<Body> {
        let Body::Started { call, tool, kind, key, .. } = found else { return None };
        let (decision, _) = self.decided.get(call)?;
        let asked = (decision.verdict == Verdict::Ask).then(|| state.approval_for(call)).flatten();
        let approval = asked.map(|approval| approval.request().id.clone());
        Some(Body::Started { call: call.clone(), tool: tool.clone(), kind: *kind, approval, key: key.clone() })
    }

    /// A result, where it is made from nothing but the log: a refusal, an answer of the session itself, the words around an
    /// error.
    fn finished(&self, state: &State, found: &Finished) -> Option<Finished> {
        if state.opened().is_watched() {
            // Told in the words of the agent that asked.
            return None;
        }
        let (decision, _) = self.decided.get(&found.call)?;
        let kept = |made: Finished| Finished { duration_ms: found.duration_ms, ..made };
        if found.ended == FinishedAs::Refused && decision.verdict == Verdict::Deny {
            let (call, tool) = (found.call.clone(), found.tool.clone());
            return Some(kept(Refused { call, tool, decision: decision.clone() }.finished()));
        }
        let denies = state.opened().on_ask == OnAsk::Deny || state.reads_instructions();
        if found.ended == FinishedAs::Refused && decision.verdict == Verdict::Ask && denies {
            return Some(kept(unattended(&found.call, &found.tool, decision).finished()));
        }
        let asked = state.approval_for(&found.call).and_then(|approval| approval.answer());
        if let (FinishedAs::Refused, Some(Answer::Denied { reason })) = (found.ended, asked)
            && !reason.is_empty()
        {
            let decision =
                Decision { code: Code::DeniedByPerson, reason: reason.clone(), trace: Vec::new(), ..decision.clone() };
            return Some(kept(Refused { call: found.call.clone(), tool: found.tool.clone(), decision }.finished()));
        }
        if let Some(tool) =
            session_tool(&found.tool).filter(|_| matches!(found.ended, FinishedAs::Ok | FinishedAs::Failed))
        {
            let args = self.args.get(&found.call)?;
            let (text, code, change) = match tool.answer(&found.call, args, state) {
                SessionReply::Result { text, change } => (redact_text(&text).into_owned(), None, change),
                SessionReply::Failed { code, message } => (error_text(code, &message), Some(code), None),
                SessionReply::AskPerson { .. } | SessionReply::Delegate(_) => return None,
            };
            return Some(Finished { text, code, change, ..found.clone() });
        }
        let message = error_message(found.code?, &found.text)?;
        Some(Finished { text: error_text(found.code?, &message), ..found.clone() })
    }
}

/// The reply behind a proposal, parsed again. Whether calls may overlap is the word of their tools.
fn parsed(state: &State, found: &Body) -> Body {
    let Body::Proposal { turn, text, calls, usage, provider, defect, .. } = found else { return found.clone() };
    let turn = if state.opened().is_watched() { *turn } else { state.turn() };
    let reply = ModelReply {
        text: text.clone(),
        calls: calls.iter().map(raw_call).collect(),
        stop: if defect.is_some() { StopReason::Length } else { StopReason::End },
        usage: Some(*usage),
        virtual_ms: 0,
        provider: provider.clone(),
    };
    let again = reply.calls.iter().zip(calls).enumerate().map(|(index, (raw, call))| ProposedCall {
        parallel: call.parallel,
        ..state.understood(CallId::new(format!("c{turn}-{}", index + 1)), raw)
    });
    let again = again.collect();
    // What only the host knew for a secret is out of the journal already.
    proposal(turn, &reply, again, *usage, &Redactor::default())
}

/// The stop that follows from the state. What a person, a model or a sub-session brought about is taken as it is.
fn stopped(state: &State, at: u64, found: &Stop) -> Result<Option<Stop>, Broken> {
    match (state.next(at), found.status) {
        // Whoever answers the requests has the last word: a script says so when a step of it was not used.
        (Next::Stop(due), Status::Failed) if due.status == Status::Completed => Ok(None),
        (Next::Stop(due), _) => Ok(Some(due)),
        (Next::Ask { calls }, Status::NeedsApproval) => {
            let requests = calls.iter().filter_map(|call| state.approval_for(call)).map(|asked| asked.request());
            Ok(Some(pause(requests)))
        }
        (_, Status::NeedsApproval | Status::NeedsInput | Status::Cancelled) => Ok(None),
        (due, _) => Err(Broken::whole(named(&due), format!("stop as {}", found.status))),
    }
}

/// What comes next, as the `type` of its line.
fn named(next: &Next) -> String {
    match next {
        Next::Request => "request".to_owned(),
        Next::Decide { calls, .. } => {
            let calls: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("decision on {}", calls.join(" and "))
        }
        Next::Ask { calls } => {
            let calls: Vec<&str> = calls.iter().map(CallId::as_str).collect();
            format!("an answer to what was asked about {}", calls.join(" and "))
        }
        Next::Settle { calls } => {
            let calls: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("a word on what became of {}", calls.join(" and "))
        }
        Next::Check { .. } => "check".to_owned(),
        Next::Stop(stop) | Next::Stopped(stop) => format!("stop as {}", stop.status),
    }
}

/// The message inside the one shape of errors, where the text has it.
fn error_message(code: Code, text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    if value.get("code").and_then(Value::as_str) != Some(code.as_str()) || value.get("is_error").is_none() {
        return None;
    }
    value.get("message").and_then(Value::as_str).map(str::to_owned)
}
