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

/// What a sub-session is to have of its session's budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Of what is left, in percent.
    pub percent: u8,
    /// What it was given already.
    pub given: Option<Budget>,
}

/// What is left for sub-sessions.
#[derive(Clone, Copy, Debug)]
struct Pots {
    steps: u64,
    calls: u64,
    tokens: u64,
    seconds: u64,
    nano_usd: Option<u64>,
    /// All percentages together, a hundred at least.
    asked: u64,
}

impl Pots {
    fn of(state: &State, now: u64) -> Self {
        Self {
            steps: u64::from(state.budget.steps.saturating_sub(state.spend.steps)),
            calls: u64::from(state.calls_left()),
            tokens: state.tokens_left(),
            seconds: state.millis_left(now) / 1_000,
            nano_usd: state.nano_usd_left(),
            asked: 100,
        }
    }

    /// Another part of all; it is taken out.
    fn part_of(&mut self, all: &Self, percent: u8) -> Option<Budget> {
        let percent = u64::from(percent);
        let part = |of: u64, left: u64| (of.saturating_mul(percent) / all.asked).max(1).min(left);
        let small = |of: u64, left: u64| u32::try_from(part(of, left)).unwrap_or(u32::MAX);
        let nano_usd = all.nano_usd.zip(self.nano_usd).map(|(of, left)| part(of, left));
        let budget = Budget {
            steps: small(all.steps, self.steps),
            calls: small(all.calls, self.calls),
            tokens: part(all.tokens, self.tokens),
            seconds: (all.seconds.saturating_mul(percent) / 100).max(1),
            usd: nano_usd.map(usd),
        };
        self.take(&budget);
        (budget.steps > 0 && budget.calls > 0 && budget.tokens > 0).then_some(budget)
    }

    fn take(&mut self, budget: &Budget) {
        self.steps = self.steps.saturating_sub(u64::from(budget.steps));
        self.calls = self.calls.saturating_sub(u64::from(budget.calls));
        self.tokens = self.tokens.saturating_sub(budget.tokens);
        let taken = budget.usd.map_or(0, nano_usd);
        self.nano_usd = self.nano_usd.map(|left| left.saturating_sub(taken));
    }
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

    /// Parts of everything that is left at this time, for sub-sessions at the same time, in their order: each gets its
    /// percentage of each limit, or its proportion where they ask for more than there is, and at least one step and one
    /// call. What one was given earlier it keeps. `None`: nothing is left for it.
    ///
    /// All of them together never have more steps, calls, tokens or money than is left, and nothing else is spent here
    /// until what they used is settled: the parts are as good as reserved. Their time passes at the same time.
    pub fn shares(&self, parts: &[Share], now: u64) -> Vec<Option<Budget>> {
        let asked: u64 = parts.iter().map(|part| u64::from(part.percent)).sum();
        let given = parts.iter().filter_map(|part| part.given.as_ref());
        let mut pots = Pots::of(self, now);
        let all = Pots { asked: asked.max(100), ..pots };
        given.for_each(|budget| pots.take(budget));
        let share = |part: &Share| match &part.given {
            Some(budget) => Some(budget.clone()),
            None => pots.part_of(&all, part.percent),
        };
        parts.iter().map(share).collect()
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
        let request = price.of(Usage { input: estimate, estimated: true, ..Usage::default() });
        Some(left.checked_sub(request).map_or(0, |left| price.replies_for(left)))
    }

    fn driven_ms(&self, now: u64) -> u64 {
        self.spend.driven_ms.saturating_add(now.saturating_sub(self.last_at))
    }

    /// Settles the request that is on its way with what it used.
    pub(crate) fn settle(&mut self, usage: Usage) {
        self.reserved = None;
        self.spend.usage.add(usage);
        self.spend.cost.charge(self.opened.price().as_ref(), usage);
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
