//! Budgets: what a session may use, what it has used, and which limit stopped it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Cost, is_amount};

/// The limits of one session. On by default; each is checked before the next request and kept through resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Proposals (skill, calls or answer). *Guarantee*: no more than this many proposals are carried out; the one last
    /// request without tools that follows is not counted, runs nothing, and is marked as the harness's.
    pub steps: u32,
    /// Tool calls that were decided. *Guarantee*: a call beyond the limit is refused with `BUDGET_SPENT`, and the session
    /// stops before its next request.
    pub calls: u32,
    /// Tokens in plus out, as the provider counts them, estimated where it does not. *Guarantee*: no request is sent
    /// whose estimated input leaves no room for a short answer, and the answer's ceiling is lowered to what is left; the
    /// overshoot is at most the error of one estimate, plus the one last request.
    pub tokens: u64,
    /// Seconds of wall time while the session is being driven; waiting for a person between processes does not count.
    /// *Guarantee*: no request is sent and no call is started later than this; what runs then is held by its own limit.
    pub seconds: u64,
    /// United States dollars; absent means no limit. *Guarantee*: no request is sent whose estimated input and whose
    /// answer's ceiling, at the most that the model's price makes of them, are not covered by what is left; the overshoot is at most the error of one
    /// estimate, plus the one last request. A session with this limit does not begin while nobody knows the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        // The numbers of `task.toml`: enough for an ordinary repair, small enough that a loop ends within minutes.
        Self { steps: 40, calls: 100, tokens: 200_000, seconds: 600, usd: None }
    }
}

impl fmt::Display for Budget {
    /// `40 steps, 100 calls, 200000 tokens, 600 seconds, $2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, calls, tokens, seconds, usd } = self;
        write!(f, "{steps} steps, {calls} calls, {tokens} tokens, {seconds} seconds")?;
        usd.map_or(Ok(()), |usd| write!(f, ", ${usd}"))
    }
}

/// One limit that a person sets, written `steps=10`; also `calls`, `tokens`, `seconds`, `usd`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewLimit {
    /// Proposals.
    Steps(u32),
    /// Tool calls.
    Calls(u32),
    /// Tokens.
    Tokens(u64),
    /// Seconds.
    Seconds(u64),
    /// US dollars.
    Usd(f64),
}

impl NewLimit {
    /// Sets it; the other limits stay.
    pub fn set(self, budget: &mut Budget) {
        match self {
            Self::Steps(steps) => budget.steps = steps,
            Self::Calls(calls) => budget.calls = calls,
            Self::Tokens(tokens) => budget.tokens = tokens,
            Self::Seconds(seconds) => budget.seconds = seconds,
            Self::Usd(usd) => budget.usd = Some(usd),
        }
    }
}

impl FromStr for NewLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write one of steps, calls, tokens, seconds, usd = a number".to_owned();
        let (name, number) = text.split_once('=').ok_or_else(wrong)?;
        let limit = match name {
            "steps" => number.parse().ok().map(Self::Steps),
            "calls" => number.parse().ok().map(Self::Calls),
            "tokens" => number.parse().ok().map(Self::Tokens),
            "seconds" => number.parse().ok().map(Self::Seconds),
            "usd" => number.parse().ok().filter(|usd| is_amount(*usd)).map(Self::Usd),
            _ => None,
        };
        limit.ok_or_else(wrong)
    }
}

/// Tokens of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Tokens of the request that the provider had kept from an earlier one. They count in `input` as well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the request that the provider keeps for a later one. They count in `input` as well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written: u64,
    /// The numbers are the harness's own estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a field over so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input plus output.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Adds another exchange.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.written = self.written.saturating_add(other.written);
        self.estimated |= other.estimated;
    }
}

/// What a session has used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Proposals.
    pub steps: u32,
    /// Decided tool calls.
    pub calls: u32,
    /// Requests sent, retries included.
    pub requests: u32,
    /// Tokens.
    pub usage: Usage,
    /// Milliseconds driven.
    pub driven_ms: u64,
    /// Money.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
}

impl Spend {
    /// Adds what a sub-session used. Its time has passed here as well, and is counted already.
    pub fn add(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.calls = self.calls.saturating_add(other.calls);
        self.requests = self.requests.saturating_add(other.requests);
        self.usage.add(other.usage);
        self.cost.add(other.cost);
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `budget.steps`.
    Steps,
    /// `budget.calls`.
    Calls,
    /// `budget.tokens`.
    Tokens,
    /// `budget.seconds`.
    Seconds,
    /// `budget.usd`.
    Usd,
}

impl Limit {
    /// The key in `[budget]`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Calls => "calls",
            Self::Tokens => "tokens",
            Self::Seconds => "seconds",
            Self::Usd => "usd",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
