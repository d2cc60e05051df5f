//! The report of a session, folded from its events.

use checkrein_contract::{ApprovalState, Code, Digest, Outcome, Status, Stop};

use crate::state::State;

impl State {
    /// The outcome, as it stands. `now` (milliseconds since 1970) tells which approvals still wait.
    pub fn outcome(&self, journal_head: Digest, now: u64) -> Outcome {
        let stop = self.stop.clone().unwrap_or_else(|| Stop {
            status: Status::Cancelled,
            code: Code::Interrupted,
            reason: "the session was not driven to its end".to_owned(),
            limit: None,
        });
        let waiting = self.approvals.values().filter(|approval| approval.state(now) == ApprovalState::Pending);
        Outcome {
            status: stop.status,
            code: stop.code,
            reason: stop.reason,
            limit: stop.limit,
            session: self.opened.session.clone(),
            answer: self.answer.clone(),
            citations: self.citations.clone(),
            tool_runs: self.tool_runs.clone(),
            steps: self.spend.steps,
            usage: self.spend.usage,
            cost: self.spend.cost,
            approvals: waiting.map(|approval| approval.request().id.clone()).collect(),
            workspace: self.opened.place.root.clone(),
            journal_head,
        }
    }
}
