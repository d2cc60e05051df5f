//! The library as a shop uses it: fill a basket, ask for the receipt.

use basket::{Basket, Money};

#[test]
fn a_mixed_basket_adds_up() {
    let mut basket = Basket::new();
    basket.add("filter", Money::from_cents(1_250), 2);
    basket.add("clip", Money::from_cents(99), 60);
    basket.add("seal", Money::from_cents(505), 4);

    let receipt = basket.receipt();
    assert_eq!(receipt.goods.to_string(), "104.60");
    assert_eq!(receipt.discount.to_string(), "5.94");
    assert_eq!(receipt.delivery.to_string(), "0.00");
    assert_eq!(receipt.total.to_string(), "98.66");
}
