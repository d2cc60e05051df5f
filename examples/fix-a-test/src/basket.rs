//! Baskets and their receipts.

use crate::delivery::delivery_cost;
use crate::discount::quantity_discount;
use crate::money::Money;

/// One article in a basket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub article: String,
    /// Price of one piece.
    pub unit_price: Money,
    /// How many pieces.
    pub quantity: u32,
}

impl Line {
    /// What the pieces cost without a discount.
    pub fn full_price(&self) -> Money {
        self.unit_price * self.quantity
    }

    /// What the quantity takes off.
    pub fn discount(&self) -> Money {
        self.full_price().share(quantity_discount(self.quantity))
    }
}

/// What somebody wants to buy.
#[derive(Clone, Debug, Default)]
pub struct Basket {
    lines: Vec<Line>,
}

/// What it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// All lines, without discounts.
    pub goods: Money,
    /// All discounts.
    pub discount: Money,
    /// Delivery.
    pub delivery: Money,
    /// What is to be paid.
    pub total: Money,
}

impl Basket {
    /// An empty basket.
    pub fn new() -> Basket {
        Basket::default()
    }

    /// Puts pieces in. The same article at the same price shares a line, so that all of them count for the discount.
    pub fn add(&mut self, article: &str, unit_price: Money, quantity: u32) {
        let same = |line: &&mut Line| line.article == article && line.unit_price == unit_price;
        match self.lines.iter_mut().find(same) {
            Some(line) => line.quantity += quantity,
            None => self.lines.push(Line {
                article: article.to_string(),
                unit_price,
                quantity,
            }),
        }
    }

    /// Its lines, in the order they came.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What it costs now.
    pub fn receipt(&self) -> Receipt {
        let goods: Money = self.lines.iter().map(Line::full_price).sum();
        let discount: Money = self.lines.iter().map(Line::discount).sum();
        let delivery = delivery_cost(goods - discount);
        Receipt {
            goods,
            discount,
            delivery,
            total: goods - discount + delivery,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_article_shares_a_line() {
        let mut basket = Basket::new();
        basket.add("hose", Money::from_cents(890), 1);
        basket.add("filter", Money::from_cents(1_250), 1);
        basket.add("hose", Money::from_cents(890), 2);
        assert_eq!(basket.lines().len(), 2);
        assert_eq!(basket.lines()[0].quantity, 3);
    }

    #[test]
    fn an_empty_basket_costs_nothing() {
        assert_eq!(Basket::new().receipt().total, Money::ZERO);
    }
}
