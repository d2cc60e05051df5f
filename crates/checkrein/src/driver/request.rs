//! One request to the model: planned, recorded, sent; its reply recorded as a proposal.

use checkrein_contract::{Actor, Body, Code, Delta, ModelReply, ProviderError, Usage, estimate_text};
use checkrein_gate::Recorder;
use checkrein_session::{Plan, group_calls, proposal};

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
        let state = &self.log.state;
        let attempt = state.next_attempt();
        let turn = if attempt == 1 { state.turn() + 1 } else { state.turn() };
        let mut plan = self.log.state.plan(&*self.context, self.clock.now_ms());
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
            Some(Err(error)) => self.failed(turn, attempt, error, lost).await,
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
        let mut came = 0_u64;
        let mut on_delta = |delta: Delta<'_>| match delta {
            Delta::Text(piece) => {
                came = came.saturating_add(estimate_text(piece));
                let shown = stream.push(piece);
                if !shown.is_empty() {
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
                if !rest.is_empty() {
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
            output: estimate_text(&reply.text)
                + reply
                    .calls
                    .iter()
                    .map(|call| estimate_text(&call.tool) + estimate_text(&call.arguments))
                    .sum::<u64>(),
            estimated: true,
            ..Usage::default()
        });
        let calls = group_calls(turn, reply, &self.gate.registry);
        self.log.record(Actor::Model, proposal(turn, reply, calls, usage))?;
        Ok(())
    }

    async fn failed(
        &mut self,
        turn: u32,
        attempt: u32,
        error: ProviderError,
        usage: Usage,
    ) -> Result<(), HarnessError> {
        let retry = error.can_retry() && attempt < MAX_ATTEMPTS;
        let code = error.code();
        let reason = self.gate.redactor.text(&error.message).into_owned();
        self.log.record(Actor::Code, Body::RequestFailed { turn, code, reason, retry, usage: Some(usage) })?;
        if retry {
            self.retry = Some(error.provider);
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
