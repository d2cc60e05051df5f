//! Money: exact sums, and unknown is never shown as nothing.

use checkrein_contract::{Budget, Cost, NewLimit, Price, Usage, is_amount, nano_usd};
use proptest::prelude::*;
use serde_json::json;

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, estimated: false, ..Usage::default() }
}

const PRICE: Price = Price { input: 3.0, output: 15.0 };

/// Shows R148: a million tokens cost what the price says, parts of it no less, and money buys no more than it pays for.
#[test]
fn tokens_cost_what_the_price_says() {
    assert_eq!(PRICE.of(usage(1_000_000, 0)), nano_usd(3.0));
    assert_eq!(PRICE.of(usage(0, 1_000_000)), nano_usd(15.0));
    assert_eq!(PRICE.of(usage(1, 1)), 18_000);
    assert_eq!(PRICE.replies_for(nano_usd(0.15)), 10_000);
    assert_eq!(PRICE.replies_for(14_999), 0);
    assert_eq!((Price::NOTHING.of(usage(9, 9)), Price::NOTHING.replies_for(0)), (0, u64::MAX));
    assert_eq!(Price { input: 0.000_000_4, output: 0.0 }.of(usage(1, 0)), 1, "rounded up");
    for wrong in [f64::NAN, f64::INFINITY, -0.01] {
        assert!(!is_amount(wrong) && !Price { input: wrong, ..PRICE }.is_sound(), "{wrong}");
        assert!(!Price { output: wrong, ..PRICE }.is_sound(), "{wrong}");
    }
    assert_eq!((nano_usd(f64::NAN), nano_usd(-1.0), nano_usd(f64::INFINITY)), (0, 0, u64::MAX));
}

/// Shows R148: what has no known price is said, also beside what has one.
#[test]
fn unknown_is_not_nothing() {
    let mut cost = Cost::default();
    assert!(cost.is_nothing());
    cost.charge(None, usage(0, 0));
    assert_eq!((cost.is_nothing(), cost.to_string().as_str()), (true, "$0.0000"));
    cost.charge(Some(PRICE), usage(100, 20));
    assert_eq!(cost.to_string(), "$0.0006");
    let mut unknown = Cost::default();
    unknown.charge(None, usage(1, 0));
    assert_eq!((unknown.is_nothing(), unknown.to_string().as_str()), (false, "unknown"));
    cost.add(unknown);
    assert_eq!(cost.to_string(), "at least $0.0006");
    assert_eq!(serde_json::to_value(cost).unwrap(), json!({ "nano_usd": 600_000, "unpriced": true }));
    assert_eq!(Cost { nano_usd: 12_345_678_901, unpriced: false }.to_string(), "$12.3457");
}

/// A limit is written as its name and a number, and sets nothing else.
#[test]
fn a_limit_is_a_name_and_a_number() {
    let mut budget = Budget::default();
    for text in ["steps=1", "calls=2", "tokens=3", "seconds=4", "usd=0.5"] {
        text.parse::<NewLimit>().unwrap().set(&mut budget);
    }
    assert_eq!(budget, Budget { steps: 1, calls: 2, tokens: 3, seconds: 4, usd: Some(0.5) });
    assert_eq!(budget.to_string(), "1 steps, 2 calls, 3 tokens, 4 seconds, $0.5");
    assert_eq!(Budget::default().to_string(), "40 steps, 100 calls, 200000 tokens, 600 seconds");
    for wrong in [
        "steps",
        "steps=",
        "steps=-1",
        "steps=1.5",
        "calls=x",
        "tokens=",
        "seconds=a",
        "usd=-1",
        "usd=NaN",
        "money=1",
        "",
    ] {
        let error = wrong.parse::<NewLimit>().unwrap_err();
        assert_eq!(error, "write one of steps, calls, tokens, seconds, usd = a number", "{wrong}");
    }
}

proptest! {
    /// Charging in parts never comes to less than charging the whole.
    #[test]
    fn parts_never_cost_less(parts in prop::collection::vec((0_u64..50_000, 0_u64..50_000), 1..8), input in 0.0..80.0, output in 0.0..200.0) {
        let price = Price { input, output };
        let (mut sum, mut whole) = (Cost::default(), Usage::default());
        for (input, output) in parts {
            sum.charge(Some(price), usage(input, output));
            whole.add(usage(input, output));
        }
        prop_assert!(sum.nano_usd >= price.of(whole));
        prop_assert!(sum.nano_usd <= price.of(whole) + 16);
    }
}
