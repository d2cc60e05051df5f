//! Amounts of money in whole cents.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Sub};

use crate::discount::Percent;

/// An amount; never negative in a basket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money {
    cents: i64,
}

impl Money {
    /// Nothing.
    pub const ZERO: Money = Money { cents: 0 };

    /// An amount of cents.
    pub const fn from_cents(cents: i64) -> Money {
        Money { cents }
    }

    /// The amount in cents.
    pub const fn cents(self) -> i64 {
        self.cents
    }

    /// This share of the amount, half a cent rounded up.
    pub fn share(self, percent: Percent) -> Money {
        let hundredths = self.cents * i64::from(percent.value());
        Money::from_cents((hundredths + 50) / 100)
    }
}

impl Add for Money {
    type Output = Money;

    fn add(self, other: Money) -> Money {
        Money::from_cents(self.cents + other.cents)
    }
}

impl Sub for Money {
    type Output = Money;

    fn sub(self, other: Money) -> Money {
        Money::from_cents(self.cents - other.cents)
    }
}

impl Mul<u32> for Money {
    type Output = Money;

    fn mul(self, times: u32) -> Money {
        Money::from_cents(self.cents * i64::from(times))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.cents / 100, self.cents % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_with_two_places() {
        assert_eq!(Money::from_cents(490).to_string(), "4.90");
        assert_eq!(Money::from_cents(5).to_string(), "0.05");
        assert_eq!(Money::from_cents(120_000).to_string(), "1200.00");
    }

    #[test]
    fn shares_round_half_a_cent_up() {
        let five = Percent::new(5);
        assert_eq!(Money::from_cents(1_010).share(five), Money::from_cents(51));
        assert_eq!(Money::from_cents(1_009).share(five), Money::from_cents(50));
        assert_eq!(Money::from_cents(1_000).share(five), Money::from_cents(50));
    }

    #[test]
    fn sums_of_nothing_are_zero() {
        assert_eq!(Vec::<Money>::new().into_iter().sum::<Money>(), Money::ZERO);
    }
}
