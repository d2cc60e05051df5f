//! One request to the model: planned, recorded, sent; its reply recorded as a proposal. Where the conversation does not fit,
//! its beginning is put away first, which may take a request of the harness's own.

use checkrein_contract::{
    Actor, Body, Code, Delta, ModelReply, ProviderError, ProviderFault, Usage, estimate_reply, estimate_text,
};
use checkrein_gate::Recorder;
use checkrein_session::{Came, Compaction, Plan, group_calls, proposal};

use super::{INTERRUPTED, Session};
use crate::HarnessError;

/// Attempts at one request.
const MAX_ATTEMPTS: u32 = 4;
/// First wait before a retry when the other side names none, milliseconds; doubled for each further one.
const FIRST_WAIT_MS: u64 = 500;
/// Longest wait before a retry, milliseconds.
const LONGEST_WAIT_MS: u64 = 60_000;

impl Session {
    pub(super) async fn request(&mut self) -> Result<(), HarnessError> {
        if self.finds_instructions().await? {
            return Ok(());
        }
        let now = self.clock.now_ms();
        let mut plan = match self.log.state.compaction(&*self.context, now) {
            Some(Compaction::List(mut event)) => {
                // What a failed request for a summary brought back.
                event.provider = self.retry.take().unwrap_or_default();
                self.log.record(Actor::Code, Body::Compacted(event))?;
                return Ok(());
            }
            Some(Compaction::Ask(plan)) => *plan,
            None => self.log.state.plan(&*self.context, now),
        };
        let (turn, attempt) = (self.log.state.next_turn(), self.log.state.next_attempt());
        if !plan.trimmed.is_empty() {
            let results = std::mem::take(&mut plan.trimmed);
            let policy = self.context.name().to_owned();
            self.log.record(Actor::Code, Body::Trim { turn, policy, results })?;
        }
        self.log.record(
            Actor::Code,
            Body::Request {
                turn,
                attempt,
                digest: plan.digest.clone(),
                prefix: plan.prefix.clone(),
                estimate: plan.estimate,
                max_output: plan.request.max_output_tokens,
                last: plan.last,
                summarises: plan.summarises,
            },
        )?;
        // Everything that the model is about to see is durable before it sees it.
        self.log.flush()?;
        if let Some(provider) = self.retry.take() {
            plan.request.provider = provider;
        }
        let (reply, came) = self.send(&plan).await;
        let lost = Usage { input: plan.estimate, output: came, estimated: true, ..Usage::default() };
        match reply {
            Some(Ok(reply)) => self.replied(turn, &plan, &reply).await,
            Some(Err(error)) => self.failed(attempt, &plan, error, lost).await,
            // Cancelled while waiting; the drive loop closes the session.
            None => {
                let (code, reason) = (Code::Interrupted, INTERRUPTED.to_owned());
                self.log
                    .record(Actor::Code, Body::RequestFailed { turn, code, reason, retry: true, usage: Some(lost) })?;
                Ok(())
            }
        }
    }

    /// Sends the request. Beside the reply, how much of it was seen to come, estimated in tokens.
    async fn send(&mut self, plan: &Plan) -> (Option<Result<ModelReply, ProviderError>>, u64) {
        let redactor = &self.gate.redactor;
        let mut stream = redactor.stream();
        let observer = &mut self.log.observer;
        // A summary is for the model alone; people see it in the event.
        let shows = plan.summarises.is_none();
        let mut came = 0_u64;
        let mut on_delta = |delta: Delta<'_>| match delta {
            Delta::Text(piece) => {
                came = came.saturating_add(estimate_text(piece));
                let shown = stream.push(piece);
                if shows && !shown.is_empty() {
                    observer.text(&shown);
                }
            }
            Delta::Void => {
                stream = redactor.stream();
                observer.void();
            }
        };
        let reply = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            reply = self.provider.complete(&plan.request, &mut on_delta) => Some(reply),
        };
        match &reply {
            Some(Ok(_)) => {
                let rest = stream.finish();
                if shows && !rest.is_empty() {
                    self.log.observer.text(&rest);
                }
            }
            Some(Err(_)) | None => self.log.observer.void(),
        }
        (reply, came)
    }

    async fn replied(&mut self, turn: u32, plan: &Plan, reply: &ModelReply) -> Result<(), HarnessError> {
        if reply.virtual_ms > 0 {
            self.clock.sleep(reply.virtual_ms).await;
        }
        let usage = reply.usage.unwrap_or_else(|| Usage {
            input: plan.estimate,
            output: estimate_reply(&reply.text, reply.calls.iter().map(|call| (&*call.tool, &*call.arguments))),
            estimated: true,
            ..Usage::default()
        });
        if let Some(upto) = plan.summarises {
            return self.summarised(upto, plan, reply, usage);
        }
        let calls = group_calls(turn, reply, &self.gate.registry, &self.log.state);
        self.log.record(Actor::Model, proposal(turn, reply, calls, usage, &self.gate.redactor))?;
        Ok(())
    }

    /// Puts the beginning of the conversation away behind the summary that came, or behind a list where it is none.
    fn summarised(&mut self, upto: u64, plan: &Plan, reply: &ModelReply, usage: Usage) -> Result<(), HarnessError> {
        let came = Came::of(reply, plan.request.max_output_tokens, usage, &self.gate.redactor);
        let upto = usize::try_from(upto).unwrap_or(usize::MAX);
        if let Some(event) = self.log.state.compacted(self.context.name(), upto, came) {
            self.log.record(Actor::Code, Body::Compacted(Box::new(event)))?;
        }
        Ok(())
    }

    async fn failed(
        &mut self,
        attempt: u32,
        plan: &Plan,
        error: ProviderError,
        usage: Usage,
    ) -> Result<(), HarnessError> {
        let turn = self.log.state.turn();
        // What is too long is sent again only if it gets shorter; a summary is not worth that.
        let shorter = error.fault == ProviderFault::TooLong
            && plan.summarises.is_none()
            && plan.last.is_none()
            && self.log.state.may_show_less();
        let retry = shorter || error.can_retry() && attempt < MAX_ATTEMPTS;
        let code = error.code();
        let reason = self.gate.redactor.text(&error.message).into_owned();
        self.log.record(Actor::Code, Body::RequestFailed { turn, code, reason, retry, usage: Some(usage) })?;
        if retry || plan.summarises.is_some() {
            self.retry = Some(error.provider);
        }
        if retry && !shorter {
            let backoff = FIRST_WAIT_MS.saturating_mul(1 << (attempt - 1));
            // The other side's own wait is honoured, up to a bound; ours only fills in where it names none.
            let wait = error.retry_after_ms.unwrap_or(backoff).min(LONGEST_WAIT_MS);
            tokio::select! {
                () = self.cancel.cancelled() => {}
                () = self.clock.sleep(wait) => {}
            }
        }
        Ok(())
    }
}
