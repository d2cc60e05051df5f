//! Money: exact sums, and unknown is never shown as nothing.

use checkrein_contract::{Budget, Cost, NewLimit, Price, Tier, Usage, is_amount, nano_usd};
use proptest::prelude::*;
use serde_json::json;

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, estimated: false, ..Usage::default() }
}

const PRICE: Price = Price::flat(3.0, 15.0);

/// Shows R148: a million tokens cost what the price says, parts of it no less, and money buys no more than it pays for.
#[test]
fn tokens_cost_what_the_price_says() {
    assert_eq!(PRICE.of(usage(1_000_000, 0)), nano_usd(3.0));
    assert_eq!(PRICE.of(usage(0, 1_000_000)), nano_usd(15.0));
    assert_eq!(PRICE.of(usage(1, 1)), 18_000);
    assert_eq!(PRICE.replies_for(nano_usd(0.15)), 10_000);
    assert_eq!(PRICE.replies_for(14_999), 0);
    assert_eq!((Price::NOTHING.of(usage(9, 9)), Price::NOTHING.replies_for(0)), (0, u64::MAX));
    assert_eq!(Price::flat(0.000_000_4, 0.0).of(usage(1, 0)), 1, "rounded up");
    for wrong in [f64::NAN, f64::INFINITY, -0.01] {
        assert!(!is_amount(wrong) && !Price { input: wrong, ..PRICE }.is_sound(), "{wrong}");
        assert!(!Price { output: wrong, ..PRICE }.is_sound(), "{wrong}");
    }
    assert_eq!((nano_usd(f64::NAN), nano_usd(-1.0), nano_usd(f64::INFINITY)), (0, 0, u64::MAX));
}

/// A price with all that vendors have: kept tokens, and another price for long requests.
fn layered() -> Price {
    let long = Tier { above: 100_000, input: 0.5, output: 2.5, cached_input: Some(0.05), cache_write: Some(0.625) };
    Price { cached_input: Some(0.01), cache_write: Some(0.125), tiers: vec![long], ..Price::flat(0.1, 0.5) }
}

/// Shows R148: each kind of tokens costs what it costs, by the length of the request; what nobody named is charged in full.
/// The sums are worked out by hand.
#[test]
fn kept_tokens_and_long_requests_have_prices_of_their_own() {
    let kept = |input, cached, written| Usage { cached, written, ..usage(input, 1_000) };
    // 1,000 new ones at $0.10, 8,000 cached ones at $0.01, 1,000 written ones at $0.125, 1,000 of a reply at $0.50.
    assert_eq!(layered().of(kept(10_000, 8_000, 1_000)), 100_000 + 80_000 + 125_000 + 500_000);
    assert_eq!(layered().of(kept(100_000, 0, 0)), 10_000_000 + 500_000, "it is not above the line yet");
    // One token more, and all of them cost more: 1 at $0.50, 100,000 cached ones at $0.05.
    assert_eq!(layered().of(kept(100_001, 100_000, 0)), 500 + 5_000_000 + 2_500_000);
    assert_eq!(PRICE.of(kept(10_000, 8_000, 1_000)), 30_000_000 + 15_000_000, "unknown is the full price");
    let cached = Price { cached_input: Some(0.3), ..PRICE };
    assert_eq!(cached.of(kept(10_000, 8_000, 1_000)), 6_000_000 + 2_400_000 + 15_000_000);
    // A server that counts what it kept beside the rest, and not in it.
    assert_eq!(cached.of(kept(2_000, 8_000, 0)), 6_000_000 + 2_400_000 + 15_000_000);

    // What is reserved, or only estimated, costs the most that it can come to.
    let reserved = Usage { estimated: true, ..usage(1_000, 1_000) };
    assert_eq!(layered().of(reserved), 625_000 + 2_500_000);
    assert_eq!(layered().replies_for(2_500_000), 1_000);
    assert_eq!(PRICE.of(reserved), PRICE.of(usage(1_000, 1_000)));

    let written = layered().with_cache_write(2.0);
    assert_eq!(written, layered(), "what somebody named stays");
    assert_eq!(PRICE.with_cache_write(1.25).of(kept(1_000, 0, 1_000)), 3_750_000 + 15_000_000);
    let mut long = Price {
        tiers: vec![Tier { above: 9, input: 8.0, output: 9.0, cached_input: None, cache_write: None }],
        ..PRICE
    };
    assert!(long.is_sound() && layered().is_sound());
    long = long.with_cache_write(1.25);
    assert_eq!((long.cache_write, long.tiers[0].cache_write), (Some(3.75), Some(10.0)));
    for wrong in [
        Price { cached_input: Some(-0.1), ..PRICE },
        Price { cache_write: Some(f64::NAN), ..PRICE },
        Price { tiers: vec![Tier { above: 0, ..long.tiers[0].clone() }], ..PRICE },
        Price { tiers: vec![Tier { output: -1.0, ..long.tiers[0].clone() }], ..PRICE },
        Price { tiers: vec![long.tiers[0].clone(), long.tiers[0].clone()], ..PRICE },
    ] {
        assert!(!wrong.is_sound(), "{wrong:?}");
    }
}

/// A price is written as it is read, and one without more than two numbers as it always was.
#[test]
fn a_price_has_one_spelling() {
    assert_eq!(serde_json::to_value(PRICE).unwrap(), json!({ "input": 3.0, "output": 15.0 }));
    let written = serde_json::to_value(layered()).unwrap();
    assert_eq!(written["tiers"][0]["above"], 100_000);
    assert_eq!(serde_json::from_value::<Price>(written).unwrap(), layered());
}

/// Shows R148: what has no known price is said, also beside what has one.
#[test]
fn unknown_is_not_nothing() {
    let mut cost = Cost::default();
    assert!(cost.is_nothing());
    cost.charge(None, usage(0, 0));
    assert_eq!((cost.is_nothing(), cost.to_string().as_str()), (true, "$0.0000"));
    cost.charge(Some(&PRICE), usage(100, 20));
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

/// What a vendor's bill says, in thousandths of a billionth: whole numbers, worked out anew. Rates are billionths for a
/// thousand tokens.
fn bill(rates: [u64; 4], usage: Usage) -> u64 {
    let [input, output, cached, written] = rates;
    let fresh = usage.input - usage.cached - usage.written;
    fresh * input + usage.cached * cached + usage.written * written + usage.output * output
}

proptest! {
    /// Never less than the bill, and not a billionth more than rounding makes of it, whatever the tokens are; and what was
    /// reserved for the same tokens is never less than what they cost.
    #[test]
    fn never_less_than_the_bill(
        rates in prop::array::uniform4(0_u64..80_000), long in prop::array::uniform4(0_u64..80_000), above in 1_u64..300_000,
        parts in prop::array::uniform4(0_u64..200_000),
    ) {
        let dollars = |rate: u64| rate as f64 / 1_000.0;
        let [input, output, cached, written] = rates.map(dollars);
        let tier = long.map(dollars);
        let tier = Tier { above, input: tier[0], output: tier[1], cached_input: Some(tier[2]), cache_write: Some(tier[3]) };
        let price = Price { cached_input: Some(cached), cache_write: Some(written), tiers: vec![tier], ..Price::flat(input, output) };
        let [fresh, cached, written, output] = parts;
        let usage = Usage { input: fresh + cached + written, output, cached, written, estimated: false };
        let truth = bill(if usage.input > above { long } else { rates }, usage);
        let charged = price.of(usage);
        prop_assert!(charged >= truth, "{} for {}", charged, truth);
        prop_assert!(charged <= truth + 8);
        let reserved = Usage { input: usage.input, output, estimated: true, ..Usage::default() };
        prop_assert!(price.of(reserved) + 4 >= charged);
        // Without a price for what is kept, kept tokens cost what others do.
        let unnamed = Price { cached_input: None, cache_write: None, tiers: vec![], ..price };
        prop_assert!(unnamed.of(usage) >= bill([rates[0], rates[1], rates[0], rates[0]], usage));
    }

    /// Charging in parts never comes to less than charging the whole.
    #[test]
    fn parts_never_cost_less(parts in prop::collection::vec((0_u64..50_000, 0_u64..50_000), 1..8), input in 0.0..80.0, output in 0.0..200.0) {
        let price = Price::flat(input, output);
        let (mut sum, mut whole) = (Cost::default(), Usage::default());
        for (input, output) in parts {
            sum.charge(Some(&price), usage(input, output));
            whole.add(usage(input, output));
        }
        prop_assert!(sum.nano_usd >= price.of(whole));
        prop_assert!(sum.nano_usd <= price.of(whole) + 16);
    }
}
