//! What a task would cost, before anything is sent: at least, as may be expected, and at most. Nothing is called and nothing is
//! recorded.

use checkrein_contract::{
    Actor, Body, Budget, Cost, EVENT_VERSION, Event, Limit, Price, SessionOpened, Usage, estimate_spec, estimate_text,
    nano_usd,
};
use checkrein_session::State;
use serde::Serialize;

use crate::HarnessError;
use crate::setup::{Harness, Prepared, RunOptions};
use crate::task::Task;

/// Tokens of an answer that says no more than that it is done.
const SHORT_ANSWER: u64 = 64;
/// As many earlier sessions are looked at, the newest.
const EARLIER: usize = 20;
/// Where there is none: so many requests, each so much longer than the one before, with replies of so many tokens. Nobody has
/// measured these; they are ordinary for work on a small repository, and shown as assumed.
const ASSUMED: (u32, u64, u64) = (10, 800, 300);

/// What a task would cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Projection {
    /// The model.
    pub model: String,
    /// Its price; `None` where nobody knows it.
    pub price: Option<Price>,
    /// Its window, tokens, where that is known.
    pub window: Option<u64>,
    /// Tokens of the first request, estimated.
    pub first_request: u64,
    /// Its instructions.
    pub instructions: u64,
    /// Its tools.
    pub tools: u64,
    /// How many tools it only names.
    pub deferred: usize,
    /// Longest reply, tokens.
    pub reply_ceiling: u32,
    /// The limits.
    pub budget: Budget,
    /// The limit that leaves no room for a first request, if one does.
    pub no_room: Option<Limit>,
    /// One short answer to the first request.
    pub low: Projected,
    /// See [`Projection::basis`].
    pub expected: Projected,
    /// All that the budget lets it use; the one last request, without tools, where a limit ends it, comes on top.
    pub ceiling: Projected,
    /// Where the expectation comes from.
    pub basis: Basis,
}

/// Requests, tokens, money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Projected {
    /// Requests.
    pub requests: u32,
    /// Tokens of requests.
    pub input: u64,
    /// Tokens of replies.
    pub output: u64,
    /// What that costs.
    pub cost: Cost,
}

/// Where an expectation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The median of earlier sessions of the same task.
    Sessions(usize),
    /// There are none: so many requests, each so much longer than the one before it, with replies of so many tokens.
    Assumed {
        /// Requests.
        requests: u32,
        /// Tokens by which a request is longer than the one before it.
        growth: u64,
        /// Tokens of a reply.
        reply: u64,
    },
}

impl Harness {
    /// What a session of this task would cost. Every mistake that would keep it from beginning is found, but for a key that
    /// is not there.
    ///
    /// # Errors
    /// [`HarnessError`], as [`Harness::begin`].
    pub fn project(&self, task: &Task, options: &RunOptions) -> Result<Projection, HarnessError> {
        let machine = self.machine();
        let model = self.model_named(task, options)?;
        let window = self.models.of(&model).window;
        let Prepared { opened, context, .. } = self.prepare(task, options, &machine.session_id(), model)?;
        let now = machine.clock(true).now_ms();
        let body = Body::Session(Box::new(opened.clone()));
        let mut state = State::open(&Event { v: EVENT_VERSION, seq: 1, at: now, by: Actor::Code, body })?;
        let no_room = state.plan(&*context, now).last;
        // The request as it is where there is room: with its tools.
        let plan = state.plan_again(&*context, None);
        let earlier = self.earlier(&opened)?;
        let sizes = Sizes {
            first: plan.estimate,
            reply: u64::from(opened.max_output),
            window: window.unwrap_or(u64::MAX),
            price: opened.price(),
            budget: &opened.budget,
        };
        let (requests, growth, reply) = ASSUMED;
        let (expected, basis) = match median(&earlier) {
            Some(used) => (sizes.projected(used), Basis::Sessions(earlier.len())),
            None => (sizes.assumed(), Basis::Assumed { requests, growth, reply }),
        };
        let low = sizes.projected((1, plan.estimate, SHORT_ANSWER.min(sizes.reply)));
        let ceiling = sizes.ceiling();
        Ok(Projection {
            price: opened.price(),
            window,
            first_request: plan.estimate,
            instructions: estimate_text(&opened.system),
            tools: plan.request.tools.iter().map(estimate_spec).sum(),
            deferred: opened.deferred.len(),
            reply_ceiling: opened.max_output,
            no_room,
            low,
            expected: if expected.total() > ceiling.total() { ceiling } else { expected },
            ceiling,
            basis,
            budget: opened.budget,
            model: opened.model,
        })
    }

    /// What earlier sessions of the same task used, the newest first. The same task is the same folder, or the same words.
    fn earlier(&self, now: &SessionOpened) -> Result<Vec<(u32, u64, u64)>, HarnessError> {
        let mut used = Vec::new();
        let mut rows = self.store.sessions()?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        for row in rows.iter().filter(|row| row.task == now.task && row.status.is_some()) {
            // A session that can not be read is nothing to learn from; `journal verify` says what is wrong with it.
            let Ok(state) =
                self.store.read(&row.id, 1).map_err(HarnessError::from).and_then(|events| Ok(State::fold(&events)?))
            else {
                continue;
            };
            let then = state.opened();
            let same = then.folder == now.folder && (now.folder.is_some() || then.prompt == now.prompt);
            if same && then.parent.is_none() && state.spend().requests > 0 {
                let spend = state.spend();
                used.push((spend.requests, spend.usage.input, spend.usage.output));
            }
            if used.len() == EARLIER {
                break;
            }
        }
        Ok(used)
    }
}

/// The middle of each column; of two middles the larger.
fn median(used: &[(u32, u64, u64)]) -> Option<(u32, u64, u64)> {
    let middle = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers.get(numbers.len() / 2).copied()
    };
    let requests = middle(used.iter().map(|one| u64::from(one.0)).collect())?;
    let input = middle(used.iter().map(|one| one.1).collect())?;
    let output = middle(used.iter().map(|one| one.2).collect())?;
    Some((u32::try_from(requests).unwrap_or(u32::MAX), input, output))
}

impl Projected {
    fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What a projection rests on.
struct Sizes<'a> {
    /// Tokens of the first request.
    first: u64,
    /// Tokens of the longest reply.
    reply: u64,
    window: u64,
    price: Option<Price>,
    budget: &'a Budget,
}

impl Sizes<'_> {
    /// What so many requests cost, each as long as the others: the length of each decides its price. Nothing is expected of
    /// what the provider may keep.
    fn projected(&self, (requests, input, output): (u32, u64, u64)) -> Projected {
        let count = u64::from(requests.max(1));
        let each = Usage { input: input.div_ceil(count), output: output.div_ceil(count), ..Usage::default() };
        let mut cost = Cost::default();
        cost.charge(self.price.as_ref(), each);
        cost.nano_usd = cost.nano_usd.saturating_mul(count);
        self.limited(requests, input, output, cost)
    }

    /// The most that so many requests can cost.
    fn at_most(&self, (requests, input, output): (u32, u64, u64)) -> Projected {
        let mut cost = Cost::default();
        cost.charge(self.price.as_ref(), Usage { input, output, estimated: true, ..Usage::default() });
        self.limited(requests, input, output, cost)
    }

    fn limited(&self, requests: u32, input: u64, output: u64, mut cost: Cost) -> Projected {
        if let Some(usd) = self.budget.usd {
            cost.nano_usd = cost.nano_usd.min(nano_usd(usd));
        }
        Projected { requests, input, output, cost }
    }

    /// A conversation that grows evenly: of n requests the input is n times the first one, and the growth n(n-1)/2 times.
    fn assumed(&self) -> Projected {
        let (requests, growth, reply) = ASSUMED;
        let of = |n: u32| {
            let (n, reply) = (u64::from(n), reply.min(self.reply));
            let input = n.saturating_mul(self.first).saturating_add(growth.saturating_mul(n * n.saturating_sub(1) / 2));
            (input, n.saturating_mul(reply))
        };
        let fits = |n: &u32| {
            let (input, output) = of(*n);
            input.saturating_add(output) <= self.budget.tokens
        };
        let n = (1..=requests.min(self.budget.steps)).rev().find(fits).unwrap_or(1);
        let (input, output) = of(n);
        self.projected((n, input, output))
    }

    /// The dearest way to spend all tokens: as much of them in replies as the steps and the room beside requests allow; or, where
    /// requests cost more, none.
    fn ceiling(&self) -> Projected {
        let (tokens, steps) = (self.budget.tokens, u64::from(self.budget.steps));
        let replies = match self.first.checked_add(self.reply).filter(|both| *both > 0) {
            Some(both) => {
                let share = u128::from(tokens) * u128::from(self.reply) / u128::from(both);
                u64::try_from(share).unwrap_or(u64::MAX)
            }
            None => tokens,
        };
        let output = replies.min(steps.saturating_mul(self.reply));
        let input = tokens.saturating_sub(output).min(steps.saturating_mul(self.window));
        let spoken = self.at_most((self.budget.steps, input, output));
        let heard = self.at_most((self.budget.steps, tokens.min(steps.saturating_mul(self.window)), 0));
        if heard.cost.nano_usd > spoken.cost.nano_usd { heard } else { spoken }
    }
}
