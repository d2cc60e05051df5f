//! The driver: carries out what the state says comes next, records what happened, and does nothing else.
//!
//! It names no tool. Every call takes the one way through the gate, the model's and the harness's own alike.

mod ask;
pub(crate) mod delegate;
mod group;
mod instructions;
mod narrowing;
mod notify;
mod request;
mod scene;
mod settle;
mod side_by_side;

use std::sync::Arc;
use std::time::Duration;

use checkrein_contract::{
    Actor, Body, CallId, Check, CheckRound, Code, ContextPolicy, Outcome, ProposedCall, Provider, ProviderError,
    Status, Stop,
};
use checkrein_gate::{Clock, Gate, Recorder};
use checkrein_session::{Next, State, close_unstarted};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::HarnessError;
use crate::home::{FolderSpill, StateFolder};
use crate::log::SessionLog;
use crate::machine::{Held, Machine};
use crate::notify::Notify;
use crate::observer::OnePerson;

pub(crate) use ask::{APPROVAL_MS, approval_id, pause};
pub(crate) use group::unattended;

/// Why what was on its way did not come to its end.
const INTERRUPTED: &str = "a person interrupted the run";

/// A session that can be driven.
pub struct Session {
    pub(crate) home: StateFolder,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) log: SessionLog,
    pub(crate) gate: Gate,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) context: Box<dyn ContextPolicy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spill: FolderSpill,
    pub(crate) asker: Option<OnePerson>,
    /// Who is told when it waits; nobody twice in one process.
    pub(crate) notify: Option<Notify>,
    pub(crate) cancel: CancellationToken,
    /// What the provider wants back with a retry; the journal has it only after a reply.
    pub(crate) retry: Option<Value>,
    /// Keeps other processes away.
    pub(crate) _taken: Held,
    /// The host-only tool that runs checks.
    pub(crate) checker: String,
    /// The host-only tool that reads instruction files.
    pub(crate) reader: String,
}

impl Session {
    /// The state.
    pub fn state(&self) -> &State {
        &self.log.state
    }

    /// Fires when the run is to end; what runs is ended, what has not started is closed as such.
    pub fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Drives the session until it stops, for good or until a person answers.
    ///
    /// # Errors
    /// [`HarnessError`] when the journal can not be written. Nothing has run that is not recorded as started.
    ///
    /// # Panics
    /// On a runtime without timers (`enable_time`, `enable_all`).
    pub async fn drive(&mut self) -> Result<Outcome, HarnessError> {
        // Found here, where it is the host's mistake; in a call it would look like the tool's.
        drop(tokio::time::sleep(Duration::ZERO));
        loop {
            let now = self.clock.now_ms();
            let next = self.log.state.next(now);
            if self.cancel.is_cancelled() && !matches!(next, Next::Stop(_) | Next::Stopped(_)) {
                self.cancelled()?;
                continue;
            }
            match next {
                Next::Request => {
                    // Whatever else this process drives has its turn too, also where nothing here waits.
                    tokio::task::yield_now().await;
                    self.request().await?;
                }
                Next::Decide { calls, by_harness, refused } => self.group(calls, by_harness, refused).await?,
                Next::Settle { calls } => self.settle_or_pause(&calls)?,
                Next::Ask { calls } => self.ask(&calls)?,
                Next::Check { round, checks } => self.check(round, &checks)?,
                Next::Stop(stop) => self.stop(stop)?,
                Next::Stopped(stop) => {
                    self.tell(&stop).await;
                    return Ok(self.log.state.outcome(self.log.head().hash.clone(), self.clock.now_ms()));
                }
            }
        }
    }

    fn check(&mut self, round: u32, checks: &[Check]) -> Result<(), HarnessError> {
        let round = check_round(round, checks, &self.checker);
        self.log.record(Actor::Code, Body::Check(round))?;
        Ok(())
    }

    fn stop(&mut self, mut stop: Stop) -> Result<(), HarnessError> {
        if stop.status == Status::Completed
            && let Err(error) = self.close_provider()?
        {
            stop = Stop { status: Status::Failed, code: error.code(), reason: error.message, limit: None };
        }
        self.log.record(Actor::Code, Body::Stop(stop))?;
        self.log.flush()?;
        Ok(())
    }

    /// Whether whoever answered the requests is content with how the session ended.
    fn close_provider(&mut self) -> Result<Result<(), ProviderError>, HarnessError> {
        let closed = self.provider.close(self.log.state.provider());
        if closed.is_err() || self.log.state.opened().parent.is_some() {
            return Ok(closed);
        }
        let lanes = self.lanes()?;
        Ok(self.provider.ended(&lanes))
    }

    fn cancelled(&mut self) -> Result<(), HarnessError> {
        for end in close_unstarted(&self.log.state) {
            self.log.record(Actor::Code, Body::Finished(Box::new(end)))?;
        }
        self.withdraw_questions()?;
        let reason = INTERRUPTED.to_owned();
        self.stop(Stop { status: Status::Cancelled, code: Code::Interrupted, reason, limit: None })
    }
}

/// A round of checks as calls of the harness's own.
pub(crate) fn check_round(round: u32, checks: &[Check], checker: &str) -> CheckRound {
    let calls = checks.iter().enumerate().map(|(index, check)| ProposedCall {
        id: CallId::new(format!("v{round}-{}", index + 1)),
        tool: checker.to_owned(),
        args: serde_json::to_value(check).unwrap_or_default(),
        raw: false,
        parallel: false,
        through: None,
    });
    CheckRound { round, calls: calls.collect() }
}
