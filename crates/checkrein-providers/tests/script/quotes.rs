//! Quotes: what a scripted model can say about results, and that it can say it only of what the request shows.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::Session;

/// What the one step with this text says after these results.
fn says(text: &str, results: &[(&str, &str, bool)]) -> String {
    let mut session = Session::new(&format!("[[step]]\ntext = {text:?}"));
    session.show_all(results);
    session.says()
}

#[test]
fn a_quote_is_the_newest_visible_result_that_has_the_path() {
    let results = [
        ("price", r#"{"price": 1, "parts": [{"name": "bolt"}]}"#, false),
        ("price", r#"{"price": 25.5}"#, false),
        ("price", r#"{"price": 99}"#, true),
        ("price", "no JSON at all", false),
        ("other", r#"{"price": 7}"#, false),
    ];
    assert_eq!(says("It costs {{result.price.price}}.", &results), "It costs 25.5.");
    assert_eq!(says("A {{result.price.parts.0.name}}!", &results), "A bolt!");
    assert_eq!(says("{{result.price.parts.0}}", &results), r#"{"name":"bolt"}"#);
    assert_eq!(says("{{result.price}}", &results), "no JSON at all");
    assert_eq!(says("{{ result.other.price }} and {{result.price.price}}", &results), "7 and 25.5");
}

#[test]
fn newest_counts_over_several_messages() {
    let mut session = Session::new("[[step]]\ntext = \"{{result.find.n}}\"\nrepeat = 2");
    session.show("find", r#"{"n": 1}"#);
    assert_eq!(session.says(), "1");
    session.show("find", r#"{"n": 2}"#);
    assert_eq!(session.says(), "2");
}

#[test]
fn what_is_not_visible_can_not_be_quoted() {
    assert_snapshot!(says("It costs {{result.price.price}}.", &[]), @"SCRIPT_EXHAUSTED: script:script.toml: step 1 (line 2) can not quote `{{result.price.price}}`: no result is visible");
    assert_snapshot!(says("{{result.price.price}}", &[("price", "{\"price\": 1}", true), ("find", "1", false)]), @"SCRIPT_EXHAUSTED: script:script.toml: step 1 (line 2) can not quote `{{result.price.price}}`: visible results: `find`, `price` (an error)");
    assert_snapshot!(says("{{result.price.list.5}}", &[("price", "{\"list\": []}", false)]), @"SCRIPT_EXHAUSTED: script:script.toml: step 1 (line 2) can not quote `{{result.price.list.5}}`: visible results: `price`");
    assert_snapshot!(says("{{result.price}}", &[("price", "spent", true)]), @"SCRIPT_EXHAUSTED: script:script.toml: step 1 (line 2) can not quote `{{result.price}}`: visible results: `price` (an error)");
}

#[test]
fn a_quote_that_fails_moves_nothing() {
    let mut session = Session::new("[[step]]\ntext = \"{{result.find.n}}\"");
    assert!(session.says().starts_with("SCRIPT_EXHAUSTED"));
    assert_eq!(session.request.provider, Value::Null);
    assert!(session.deltas.is_empty());
}

#[test]
fn arguments_keep_the_type_of_a_whole_quote() {
    let steps = r#"
        [[step]]
        [[step.calls]]
        tool = "refund"
        args = { amount = "{{result.price.price}}", note = "for {{result.price.price}}", all = ["{{result.price.parts}}"], text = "{{result.price}}", "{{result.price}}" = 1 }
    "#;
    let mut session = Session::new(steps);
    session.show("price", r#"{"price": 25, "parts": [1, null]}"#);
    let reply = session.next().unwrap();
    let arguments: Value = serde_json::from_str(&reply.calls[0].arguments).unwrap();
    let expected = json!({
        "amount": 25,
        "note": "for 25",
        "all": [[1, null]],
        "text": "{\"price\": 25, \"parts\": [1, null]}",
        "{{result.price}}": 1,
    });
    assert_eq!(arguments, expected);
}

#[test]
fn what_is_quoted_is_not_read_for_quotes_again() {
    let results = [("a", "{{result.b}}", false), ("b", "secret", false)];
    assert_eq!(says("{{result.a}}", &results), "{{result.b}}");
}

#[test]
fn other_braces_are_plain_text() {
    let text = "fn f() { println!(\"{{}} {{name}} {{results.x}} }}\") }";
    assert_eq!(says(text, &[]), text);
    assert_eq!(says("{{{result.a}}}", &[("a", "1", false)]), "{1}");
}

/// What a context policy left out can not be quoted, and a placeholder is a result whose text is the placeholder's.
#[test]
fn a_placeholder_is_seen_as_what_it_is() {
    let steps = r#"
        [[step]]
        when = { tool_result = "price", contains = "25" }
        text = "It costs {{result.price.price}}."
        [[step]]
        when = { tool_result = "price" }
        text = "I cannot see the price any more."
        [[step]]
        else = true
        text = "I never asked."
    "#;
    let answer = |text: &str| {
        let mut session = Session::new(steps);
        session.show("price", text);
        session.says()
    };
    assert_eq!(answer(r#"{"price": 25}"#), "It costs 25.");
    assert_eq!(answer("[result of price (call c1-1) left out]"), "I cannot see the price any more.");
}
