//! Budgets: what is left, and which limit comes first.

use checkrein_contract::{Budget, Limit, Usage};

use crate::state::State;

/// The shortest answer that is worth a request, tokens. With less left, the tokens count as spent.
const SHORTEST_ANSWER: u64 = 64;

impl State {
    /// The limit that stands against one more request, if any. `estimate` is the request's input in tokens, `now` the
    /// clock in milliseconds since 1970.
    pub(crate) fn limit_reached(&self, estimate: u64, now: u64) -> Option<Limit> {
        let budget = &self.opened.budget;
        let spend = &self.spend;
        if spend.steps >= budget.steps {
            return Some(Limit::Steps);
        }
        if spend.calls >= budget.calls {
            return Some(Limit::Calls);
        }
        if self.tokens_left() < estimate.saturating_add(SHORTEST_ANSWER) {
            return Some(Limit::Tokens);
        }
        if self.driven_ms(now) >= budget.seconds.saturating_mul(1_000) {
            return Some(Limit::Seconds);
        }
        None
    }

    /// The ceiling of the next reply: the model's own, or what the budget leaves.
    pub(crate) fn reply_ceiling(&self, estimate: u64) -> u32 {
        let left = self.tokens_left().saturating_sub(estimate).max(SHORTEST_ANSWER);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.opened.max_output)
    }

    /// Calls that may still be decided.
    pub fn calls_left(&self) -> u32 {
        self.opened.budget.calls.saturating_sub(self.spend.calls)
    }

    /// Milliseconds of driving left at this time; a started call may outlive it by its own limit.
    pub fn millis_left(&self, now: u64) -> u64 {
        self.opened.budget.seconds.saturating_mul(1_000).saturating_sub(self.driven_ms(now))
    }

    /// A part of everything that is left at this time, for a sub-session: `percent` of each limit, and at least one step.
    pub fn share(&self, percent: u8, now: u64) -> Budget {
        let part = |left: u64| left.saturating_mul(u64::from(percent)) / 100;
        let small = |left: u32| u32::try_from(part(u64::from(left))).unwrap_or(u32::MAX).max(1);
        Budget {
            steps: small(self.opened.budget.steps.saturating_sub(self.spend.steps)),
            calls: small(self.calls_left()),
            tokens: part(self.tokens_left()),
            seconds: part(self.millis_left(now) / 1_000).max(1),
            usd: self.opened.budget.usd.map(|usd| usd * f64::from(percent) / 100.0),
        }
    }

    fn tokens_left(&self) -> u64 {
        self.opened.budget.tokens.saturating_sub(self.spend.usage.total())
    }

    fn driven_ms(&self, now: u64) -> u64 {
        self.spend.driven_ms.saturating_add(now.saturating_sub(self.last_at))
    }

    /// A reply that never came is charged with what its request was estimated at.
    pub(crate) fn charge_lost_request(&mut self) {
        if let Some(estimate) = self.open_request.take() {
            self.spend.usage.add(Usage { input: estimate, output: 0, estimated: true });
        }
    }
}
