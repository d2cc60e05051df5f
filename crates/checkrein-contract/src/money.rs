//! Money: what tokens cost, in whole billionths of a US dollar, so that sums are exact and journals hold no fractions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Billionths in one dollar.
const NANO: f64 = 1e9;
/// A price per million tokens, in dollars, is a thousand times as many billionths per token.
const PER_TOKEN: f64 = NANO / 1e6;

/// What a model costs, in US dollars per million tokens, as providers print it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of requests.
    pub input: f64,
    /// Tokens of replies.
    pub output: f64,
}

impl Price {
    /// What costs nothing: scripts, and other agents' sessions, which somebody else pays for.
    pub const NOTHING: Self = Self { input: 0.0, output: 0.0 };

    /// Whether both are numbers of dollars: finite, and not below zero.
    pub fn is_sound(&self) -> bool {
        is_amount(self.input) && is_amount(self.output)
    }

    /// What so many tokens cost, in billionths of a dollar, rounded up for each direction: a sum of parts is never less
    /// than the whole.
    pub fn of(&self, usage: Usage) -> u64 {
        priced(usage.input, self.input).saturating_add(priced(usage.output, self.output))
    }

    /// How many tokens of a reply so many billionths pay for; as many as one likes where they cost nothing.
    pub fn replies_for(&self, nano_usd: u64) -> u64 {
        let each = self.output * PER_TOKEN;
        if each <= 0.0 { u64::MAX } else { whole(nano_usd as f64 / each) }
    }
}

/// Whether this is an amount of money: finite, and not below zero.
pub fn is_amount(usd: f64) -> bool {
    usd.is_finite() && usd >= 0.0
}

/// Billionths in dollars.
pub fn usd(nano_usd: u64) -> f64 {
    nano_usd as f64 / NANO
}

/// Dollars in billionths, rounded down.
pub fn nano_usd(usd: f64) -> u64 {
    whole(usd * NANO)
}

fn priced(tokens: u64, per_million: f64) -> u64 {
    whole((tokens as f64 * per_million * PER_TOKEN).ceil())
}

/// The whole part; nothing for what is no amount, and the most there is for what is larger.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and such a cast saturates")]
fn whole(amount: f64) -> u64 {
    if amount.is_nan() || amount <= 0.0 { 0 } else { amount as u64 }
}

/// What was spent. Unknown is never shown as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Billionths of a US dollar, as far as prices are known.
    pub nano_usd: u64,
    /// Some tokens had no known price, so that the number is only a part of what was spent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
}

impl Cost {
    /// Nothing was spent, for certain.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what tokens cost at this price; `None` is a price that nobody knows.
    pub fn charge(&mut self, price: Option<Price>, usage: Usage) {
        match price {
            Some(price) => self.nano_usd = self.nano_usd.saturating_add(price.of(usage)),
            None => self.unpriced |= usage.total() > 0,
        }
    }

    /// Adds another sum.
    pub fn add(&mut self, other: Self) {
        self.nano_usd = self.nano_usd.saturating_add(other.nano_usd);
        self.unpriced |= other.unpriced;
    }
}

impl fmt::Display for Cost {
    /// In dollars, to a hundredth of a cent, rounded up: `$0.0123`, `at least $0.0123`, `unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.nano_usd.div_ceil(100_000);
        let (dollars, rest) = (parts / 10_000, parts % 10_000);
        match (self.unpriced, self.nano_usd) {
            (true, 0) => f.write_str("unknown"),
            (true, _) => write!(f, "at least ${dollars}.{rest:04}"),
            (false, _) => write!(f, "${dollars}.{rest:04}"),
        }
    }
}
