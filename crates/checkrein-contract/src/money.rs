//! Money: what tokens cost, in whole billionths of a US dollar, so that sums are exact and journals hold no fractions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Billionths in one dollar.
const NANO: f64 = 1e9;
/// A price per million tokens, in dollars, is a thousand times as many billionths per token.
const PER_TOKEN: f64 = NANO / 1e6;

/// What a model costs, in US dollars per million tokens, as providers print it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of requests.
    pub input: f64,
    /// Tokens of replies.
    pub output: f64,
    /// Tokens of requests that the provider had kept from an earlier one; where nobody named it they cost what others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens of requests that the provider keeps for a later one; where nobody named it they cost what others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Other prices for longer requests, the shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
}

/// What all tokens of an exchange cost whose request is longer than so many tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Tokens of a request, cached ones too, up to which it does not hold.
    pub above: u64,
    /// As [`Price::input`].
    pub input: f64,
    /// As [`Price::output`].
    pub output: f64,
    /// As [`Price::cached_input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// As [`Price::cache_write`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What costs nothing: scripts, and other agents' sessions, which somebody else pays for.
    pub const NOTHING: Self = Self::flat(0.0, 0.0);

    /// One price for each direction.
    pub const fn flat(input: f64, output: f64) -> Self {
        Self { input, output, cached_input: None, cache_write: None, tiers: Vec::new() }
    }

    /// Whether all are numbers of dollars, finite and not below zero, and each tier is above the one before it.
    pub fn is_sound(&self) -> bool {
        let mut above = 0;
        let rises = |tier: &Tier| std::mem::replace(&mut above, tier.above) < tier.above;
        self.all_rates().all(|rates| rates.is_sound()) && self.tiers.iter().all(rises)
    }

    /// What an exchange cost, in billionths of a dollar, rounded up for each kind of tokens: a sum of parts is never less
    /// than the whole. Numbers that are only estimated cost the most that they can come to: how long the request really is,
    /// and what of it the provider keeps, is not known.
    pub fn of(&self, usage: Usage) -> u64 {
        if usage.estimated {
            return self.dearest().of(usage);
        }
        let tier = self.tiers.iter().rev().find(|tier| usage.input > tier.above);
        tier.map_or_else(|| self.rates(), Tier::rates).of(usage)
    }

    /// How many tokens of a reply so many billionths pay for, however long the request is; as many as one likes where they
    /// cost nothing.
    pub fn replies_for(&self, nano_usd: u64) -> u64 {
        let each = self.dearest().output * PER_TOKEN;
        if each <= 0.0 { u64::MAX } else { whole(nano_usd as f64 / each) }
    }

    /// The same, where tokens that a provider keeps cost so many times what others do, unless somebody named their price.
    #[must_use]
    pub fn with_cache_write(mut self, times: f64) -> Self {
        self.cache_write.get_or_insert(self.input * times);
        for tier in &mut self.tiers {
            tier.cache_write.get_or_insert(tier.input * times);
        }
        self
    }

    fn rates(&self) -> Rates {
        let Self { input, output, cached_input, cache_write, tiers: _ } = *self;
        Rates { input, output, cached_input, cache_write }
    }

    fn all_rates(&self) -> impl Iterator<Item = Rates> {
        std::iter::once(self.rates()).chain(self.tiers.iter().map(Tier::rates))
    }

    /// The most that a token can cost, whatever becomes of it.
    fn dearest(&self) -> Rates {
        let highest = |rate: fn(Rates) -> f64| self.all_rates().map(rate).fold(0.0, f64::max);
        let input =
            highest(|rates| rates.input.max(rates.cached_input.unwrap_or(0.0)).max(rates.cache_write.unwrap_or(0.0)));
        Rates { input, output: highest(|rates| rates.output), cached_input: None, cache_write: None }
    }
}

impl Tier {
    fn rates(&self) -> Rates {
        let Self { above: _, input, output, cached_input, cache_write } = *self;
        Rates { input, output, cached_input, cache_write }
    }
}

/// What the kinds of tokens cost, at one length of a request.
#[derive(Clone, Copy)]
struct Rates {
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

impl Rates {
    fn is_sound(self) -> bool {
        let named = [Some(self.input), Some(self.output), self.cached_input, self.cache_write];
        named.into_iter().flatten().all(is_amount)
    }

    fn of(self, usage: Usage) -> u64 {
        let apart = [(self.cached_input, usage.cached), (self.cache_write, usage.written)];
        let apart = apart.into_iter().filter_map(|(rate, tokens)| Some((rate?, tokens)));
        let (mut cost, mut kept) = (priced(usage.output, self.output), 0_u64);
        for (rate, tokens) in apart {
            cost = cost.saturating_add(priced(tokens, rate));
            kept = kept.saturating_add(tokens);
        }
        // Parts that are more than the whole are not parts of it: then all of it is charged, and they too.
        let others = usage.input.checked_sub(kept).unwrap_or(usage.input);
        cost.saturating_add(priced(others, self.input))
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
    pub fn charge(&mut self, price: Option<&Price>, usage: Usage) {
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
