//! What delivery costs.

use crate::money::Money;

/// Delivery of a basket that is not large enough.
const COST: Money = Money::from_cents(490);

/// From this amount on, after discounts, delivery is free.
const FREE_FROM: Money = Money::from_cents(7_500);

/// Delivery for goods of this price, discounts taken off. Nothing is not delivered.
pub fn delivery_cost(goods: Money) -> Money {
    if goods == Money::ZERO || goods >= FREE_FROM {
        Money::ZERO
    } else {
        COST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_baskets_pay_for_delivery() {
        assert_eq!(delivery_cost(Money::from_cents(1)), COST);
        assert_eq!(delivery_cost(Money::from_cents(7_499)), COST);
    }

    #[test]
    fn large_and_empty_baskets_do_not() {
        assert_eq!(delivery_cost(FREE_FROM), Money::ZERO);
        assert_eq!(delivery_cost(Money::ZERO), Money::ZERO);
    }
}
