//! Every rule against what its own pattern describes: a rule whose keyword, boundary or window does not fit its pattern finds
//! nothing, and nobody would notice.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::bytes_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::rules;
use crate::redact::Redactor;

/// Texts made from each pattern.
const TRIES: usize = 20;
/// As few may fail by chance: a value without a digit, with a usual word, with too little entropy.
const ENOUGH: usize = 3;

#[test]
fn every_rule_finds_what_it_describes() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut silent = Vec::new();
    for rule in &rules::all().rules {
        assert!(rule.compiled().is_some(), "{}", rule.name);
        // The end of a text stands for whatever may follow.
        let pattern = rule.pattern().replace("|:?$)", ")").replace("|$)", ")").replace(r"\b", "");
        let texts = bytes_regex(&format!("(?-u){pattern}")).unwrap();
        let found = (0..TRIES).filter(|_| {
            let bytes = texts.new_tree(&mut runner).unwrap().current();
            let text = String::from_utf8_lossy(&bytes);
            Redactor::default().text(&format!("a {text} b")).contains(&format!("[redacted:{}]", rule.name))
        });
        let found = found.count();
        if found < ENOUGH {
            silent.push(format!("{} {found}", rule.name));
        }
    }
    assert!(silent.is_empty(), "{silent:?}");
    assert!(rules::all().rules.len() > 190, "lines that could not be read are missing");
}
