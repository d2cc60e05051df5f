//! Whatever the text, the parser comes back: no panic, no overflow, no long wait.

mod generate;

use std::thread;

use checkrein_shell::{LONGEST, Part, Word, expand_braces, parse};
use generate::Dice;

/// Small, as threads that people start may have little.
const STACK: usize = 1024 * 1024;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    assert!(thread.join().is_ok());
}

/// Shapes which nest or repeat, each as what is repeated and what closes it.
const SHAPES: &[(&str, &str)] = &[
    ("(", ")"),
    ("((", "))"),
    ("( (", ") )"),
    ("((a) ", ")"),
    ("$((", "))"),
    ("$((1+$((", "))))"),
    ("$( (a) ", ")"),
    ("$(a ", ")"),
    ("\"$(a ", ")\""),
    ("\"${x:-", "}\""),
    ("${x:-", "}"),
    ("${x:-${x[$(", ")]}}"),
    ("${x/$(a)/", "}"),
    ("${x:$((", ")):1}"),
    ("a[$(a[", "])]=1"),
    ("a=($(", "))"),
    ("`", "`"),
    ("\\`", "\\`"),
    ("$(`", "`)"),
    ("<(a ", ")"),
    ("<((a) ", ")"),
    ("{ ", ";}"),
    ("if ", "; then a; fi"),
    ("if a; then ", "; fi"),
    ("while a; do ", "; done"),
    ("for x in a; do ", "; done"),
    ("case x in x) ", ";; esac"),
    ("f() { ", "; }"),
    ("coproc x { ", "; }"),
    ("[[ ( ", " ) ]]"),
    ("[[ a && ", " ]]"),
    ("[[ ! ", " ]]"),
    ("[[ x == @(", ") ]]"),
    ("[[ x =~ (", ") ]]"),
    ("! ", "a"),
    ("time ", "a"),
    ("$[", "]"),
    ("a <<E\n", "E\n"),
    ("a <<E ", "\nE\n"),
    ("$(a <<E\n", "\nE\n)"),
    ("$(a <<E) ", "\nE\n"),
    ("a <<-E\n\t$(", "\t)\n\tE\n"),
    ("a && ", "a"),
    ("a | ", "a"),
    ("a;", ""),
    (";", ""),
    ("a\n", ""),
    ("\\\n", ""),
    ("'", "'"),
    ("\"", "\""),
    ("$'", "'"),
    ("\\", ""),
    ("#", ""),
    ("a=", ""),
    ("a[", "]"),
    ("a[1]=", ""),
    ("{a,", "}"),
    ("{1..9}", ""),
    (">f ", ""),
    ("2>&1 ", ""),
    ("{x}>f ", ""),
    ("a \"", "\""),
    ("a '", "';"),
    ("a $(b;", ")"),
    ("(( a[b]++ + ", "1 ))"),
    ("$$(", ")"),
    ("do then ", ""),
    ("if; ", ""),
    ("\u{e9}\u{a0}", ""),
];

#[test]
fn nestings_of_any_depth() {
    on_a_small_stack(|| {
        for &(open, close) in SHAPES {
            for count in [1, 2, 10, 58, 59, 60, 61, 62, 100, 1000] {
                let text = format!("{}{}", open.repeat(count), close.repeat(count));
                let _ = parse(&text);
                let _ = parse(&format!("a {}b{}", open.repeat(count), close.repeat(count)));
                let _ = parse(&open.repeat(count));
            }
        }
    });
}

#[test]
fn the_longest_texts() {
    on_a_small_stack(|| {
        for &(open, close) in SHAPES {
            for text in [open.repeat(LONGEST / open.len()), {
                let count = LONGEST / (open.len() + close.len());
                format!("{}{}", open.repeat(count), close.repeat(count))
            }] {
                let _ = parse(&text);
            }
        }
        assert!(parse(&"a".repeat(LONGEST)).is_ok());
        assert!(parse(&"a".repeat(LONGEST + 1)).is_err());
    });
}

/// Sixty levels are read, and a hundred are not.
#[test]
fn the_limit_on_depth() {
    let nested = |count: usize| parse(&format!("{}a{}", "{ ".repeat(count), ";}".repeat(count)));
    assert!(nested(60).is_ok());
    assert_eq!(nested(61).map_err(|broken| broken.reason), Err("nested too deep".to_owned()));
}

#[test]
fn damaged_cases() {
    let cases = include_str!("data/hand-cases.jsonl").lines().chain(include_str!("data/found.jsonl").lines());
    let scripts: Vec<String> = cases
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["script"].as_str().map(str::to_owned))
        .collect();
    on_a_small_stack(move || {
        let mut dice = Dice::new(7);
        for script in scripts {
            for _ in 0..200 {
                let mut text = script.clone();
                for _ in 0..=dice.below(4) {
                    generate::damage(&mut dice, &mut text);
                }
                let _ = parse(&text);
            }
            for (at, _) in script.char_indices() {
                let _ = parse(&script[..at]);
                let _ = parse(&script[at..]);
            }
        }
    });
}

#[test]
fn random_characters() {
    on_a_small_stack(|| {
        let mut dice = Dice::new(11);
        let special: Vec<char> = "\"'\\`$(){}[]<>|&;#!=+-*?@~/:^,%\n\t a1x\r\u{a0}é\u{1f600}\0".chars().collect();
        for _ in 0..20_000 {
            let text: String =
                (0..dice.below(40)).filter_map(|_| special.get(dice.below(special.len())).copied()).collect();
            let _ = parse(&text);
        }
    });
}

#[test]
fn random_scripts() {
    on_a_small_stack(|| {
        let mut dice = Dice::new(13);
        for _ in 0..5000 {
            let _ = parse(&generate::script(&mut dice));
        }
    });
}

#[test]
fn braces_of_any_shape() {
    on_a_small_stack(|| {
        let mut dice = Dice::new(17);
        let special: Vec<char> = "{{{}}},,..ab019-+é".chars().collect();
        let word = |text: String| Word { parts: vec![Part::Bare(text)], ..Word::default() };
        for _ in 0..20_000 {
            let text: String =
                (0..dice.below(30)).filter_map(|_| special.get(dice.below(special.len())).copied()).collect();
            let words = expand_braces(&word(text), 100);
            assert!(words.is_none_or(|words| words.len() <= 100));
        }
        for text in ["{", "}", "{a,", "{a,b}", "{1..9}", ","] {
            let _ = expand_braces(&word(text.repeat(LONGEST / text.len())), 1000);
        }
    });
}
