//! Budgets as a ledger: what a request may use at most is reserved before it is sent, and settled when it is over.

use checkrein_contract::{Budget, Limit, Message, Status, Usage, nano_usd, usd};

use crate::state::{Phase, State};

/// The shortest answer that is worth a request, tokens. With less left, the tokens count as spent.
const SHORTEST_ANSWER: u64 = 64;

/// What a request that is on its way may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    /// Its estimated input, tokens.
    pub(crate) input: u64,
    /// The ceiling of its reply, tokens.
    pub(crate) output: u64,
}

impl State {
    /// The limit that stands against one more request, if any. `estimate` is the request's input in tokens, `now` the
    /// clock in milliseconds since 1970.
    pub(crate) fn limit_reached(&self, estimate: u64, now: u64) -> Option<Limit> {
        let (budget, spend) = (&self.budget, &self.spend);
        if spend.steps >= budget.steps {
            return Some(Limit::Steps);
        }
        if spend.calls >= budget.calls {
            return Some(Limit::Calls);
        }
        if self.tokens_left() < estimate.saturating_add(SHORTEST_ANSWER) {
            return Some(Limit::Tokens);
        }
        if self.money_for_replies(estimate).is_some_and(|tokens| tokens < SHORTEST_ANSWER) {
            return Some(Limit::Usd);
        }
        if self.driven_ms(now) >= budget.seconds.saturating_mul(1_000) {
            return Some(Limit::Seconds);
        }
        None
    }

    /// The ceiling of the next reply: the model's own, or what the budget leaves.
    pub(crate) fn reply_ceiling(&self, estimate: u64) -> u32 {
        let tokens = self.tokens_left().saturating_sub(estimate);
        let left = tokens.min(self.money_for_replies(estimate).unwrap_or(u64::MAX)).max(SHORTEST_ANSWER);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.opened.max_output)
    }

    /// The limits that hold now: those of the beginning, or what a person set later.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Calls that may still be decided.
    pub fn calls_left(&self) -> u32 {
        self.budget.calls.saturating_sub(self.spend.calls)
    }

    /// Milliseconds of driving left at this time; a started call may outlive it by its own limit.
    pub fn millis_left(&self, now: u64) -> u64 {
        self.budget.seconds.saturating_mul(1_000).saturating_sub(self.driven_ms(now))
    }

    /// Billionths of a dollar that are left; `None` without such a limit. Nothing is left of what can not be counted.
    pub fn nano_usd_left(&self) -> Option<u64> {
        let limit = nano_usd(self.budget.usd?);
        Some(if self.spend.cost.unpriced { 0 } else { limit.saturating_sub(self.spend.cost.nano_usd) })
    }

    /// A part of everything that is left at this time, for a sub-session: `percent` of each limit, and at least one step.
    /// Nothing else is spent here until what it used is settled, so the part is as good as reserved.
    pub fn share(&self, percent: u8, now: u64) -> Budget {
        let part = |left: u64| left.saturating_mul(u64::from(percent)) / 100;
        let small = |left: u32| u32::try_from(part(u64::from(left))).unwrap_or(u32::MAX).max(1);
        Budget {
            steps: small(self.budget.steps.saturating_sub(self.spend.steps)),
            calls: small(self.calls_left()),
            tokens: part(self.tokens_left()),
            seconds: part(self.millis_left(now) / 1_000).max(1),
            usd: self.nano_usd_left().map(|left| usd(part(left))),
        }
    }

    /// The first limit that these would leave reached; `None` when the session could go on.
    pub fn still_spent(&self, budget: &Budget) -> Option<Limit> {
        let under = Self { budget: budget.clone(), ..self.clone() };
        under.limit_reached(0, self.last_at)
    }

    fn tokens_left(&self) -> u64 {
        self.budget.tokens.saturating_sub(self.spend.usage.total())
    }

    /// Tokens of a reply that the money left after a request of so many pays for; `None` without a limit of money.
    fn money_for_replies(&self, estimate: u64) -> Option<u64> {
        let left = self.nano_usd_left()?;
        let Some(price) = self.opened.price() else { return Some(0) };
        let request = price.of(Usage { input: estimate, ..Usage::default() });
        Some(left.checked_sub(request).map_or(0, |left| price.replies_for(left)))
    }

    fn driven_ms(&self, now: u64) -> u64 {
        self.spend.driven_ms.saturating_add(now.saturating_sub(self.last_at))
    }

    /// Settles the request that is on its way with what it used.
    pub(crate) fn settle(&mut self, usage: Usage) {
        self.reserved = None;
        self.spend.usage.add(usage);
        self.spend.cost.charge(self.opened.price(), usage);
    }

    /// A request of which nothing more is known is charged with all that was reserved for it: the other side may have
    /// written the whole reply.
    pub(crate) fn settle_lost(&mut self) {
        if let Some(Reserved { input, output }) = self.reserved {
            self.settle(Usage { input, output, estimated: true, ..Usage::default() });
        }
    }

    /// A person set other limits; a session that the old ones ended may go on.
    pub(crate) fn set_budget(&mut self, budget: &Budget) {
        self.budget = budget.clone();
        let stopped = self.stop.take_if(|stop| stop.status == Status::BudgetExhausted).map(|stop| stop.limit);
        // The process was lost between the last request and the stop that would have followed.
        let due = || self.last.filter(|_| self.limit_reached(0, self.last_at).is_none()).map(Some);
        let Some(limit) = stopped.or_else(due) else { return };
        self.last = None;
        self.answer = None;
        self.phase = Phase::Ready;
        let limit = limit.map_or("the budget", Limit::as_str);
        let text = format!(
            "[harness] A person raised the limit ({limit}): what was said about a spent budget no longer holds, and tools \
             can be called again. Go on with the task."
        );
        self.history.push(Message::User { text, harness: true });
    }
}
