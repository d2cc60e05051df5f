//! What the tree looks like where the oracle can not see it: arithmetic, spans, and what a broken script leaves.

mod names;

use checkrein_shell::{Arithmetic, Kind, Part, Redirect, Script, Simple, Target, parse};
use names::Found;

fn read(text: &str) -> Script {
    parse(text).unwrap_or_else(|broken| panic!("{text}: {} at {}", broken.reason, broken.at))
}

fn first(script: &Script) -> &Kind {
    &script.statements[0].first.stages[0].kind
}

fn simple(script: &Script) -> &Simple {
    match first(script) {
        Kind::Simple(simple) => simple,
        other => panic!("{other:?}"),
    }
}

fn names(script: &Script) -> Vec<String> {
    Found::of(script).names().map(str::to_owned).collect()
}

#[test]
fn lines_in_front_of_the_broken_one_run() {
    let broken = parse("a; b &&\nc\nd; if x\n").expect_err("no `then`");
    assert_eq!(names(&broken.before), ["a", "b", "c"]);
    assert_eq!(broken.pieces.iter().flat_map(names).collect::<Vec<_>>(), ["d", "x"]);
    assert_eq!(broken.reason, "the text ends too early");
    assert_eq!(broken.at, 18);
}

#[test]
fn pieces_of_what_is_never_closed() {
    for (text, expected) in [
        ("if a; then rm -rf /; fi fi", vec!["a", "rm"]),
        ("while a; do { b | c", vec!["a", "b", "c"]),
        ("a \"$(b; c)\" && d | e 'f", vec!["b", "c", "a", "d"]),
        ("a; b; )", vec!["a", "b"]),
        ("case x in y) a;; z) b &", vec!["x", "a", "z", "b"]),
    ] {
        let broken = parse(text).expect_err(text);
        assert_eq!(broken.pieces.iter().flat_map(names).collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn too_long_or_with_a_nul() {
    assert_eq!(parse("a\0b").map_err(|broken| broken.at), Err(1));
    assert!(parse(&"a ".repeat(40_000)).is_err());
}

#[test]
fn variables_in_arithmetic() {
    let of = |text: &str| -> Arithmetic {
        match read(&format!("(({text}))")).statements.remove(0).first.stages.remove(0).kind {
            Kind::Arithmetic(expression) => expression,
            other => panic!("{other:?}"),
        }
    };
    for (text, reads, sets) in [
        ("a + b*2", vec!["a", "b"], vec![]),
        ("a = b", vec!["b"], vec!["a"]),
        ("a == b", vec!["a", "b"], vec![]),
        ("a += 1, b <<= c", vec!["a", "b", "c"], vec!["a", "b"]),
        ("a++ + --b", vec!["a", "b"], vec!["a", "b"]),
        ("a[i] = b[j[k]]", vec!["b", "i", "j", "k"], vec!["a"]),
        ("0x1f + 16#ff + 10", vec![], vec![]),
        ("\"a\" + $b + a", vec!["a"], vec![]),
        ("a <= b, c >= d, e != f", vec!["a", "b", "c", "d", "e", "f"], vec![]),
    ] {
        let found = of(text);
        assert_eq!(
            (found.reads, found.sets),
            (reads.into_iter().map(str::to_owned).collect(), sets.into_iter().map(str::to_owned).collect()),
            "{text}"
        );
    }
}

#[test]
fn places_in_the_text() {
    let text = "a `b \\`c d\\`` e";
    let script = read(text);
    let [_, Some(backquoted), Some(last)] = [0, 1, 2].map(|at| simple(&script).words.get(at)) else { panic!() };
    assert_eq!((last.span.start, last.span.end), (14, 15));
    let Part::Command(inner) = &backquoted.parts[0] else { panic!() };
    let Part::Command(innermost) = &simple(inner).words[1].parts[0] else { panic!() };
    let word = simple(innermost).words[0].span;
    assert_eq!(text.get(word.start as usize..word.end as usize), Some("c"));
}

#[test]
fn bodies_of_documents() {
    let script = read("a <<-E <<'F' | b <<G\n\tx $y\n\tE\n$z\nF\nw\nG\n");
    let stages = &script.statements[0].first.stages;
    let parts = |redirect: &Redirect| match &redirect.to {
        Target::Here(word) => word.parts.clone(),
        other => panic!("{other:?}"),
    };
    assert!(
        matches!(parts(&stages[0].redirects[0]).as_slice(), [Part::Quoted(x), Part::Parameter(_), Part::Quoted(end)] if x == "x " && end == "\n")
    );
    assert_eq!(parts(&stages[0].redirects[1]), [Part::Quoted("$z\n".to_owned())]);
    assert_eq!(parts(&stages[1].redirects[0]), [Part::Quoted("w\n".to_owned())]);
}

#[test]
fn arrays_of_declarations() {
    let script = read("declare -a x=(1 [2]=b) y=c");
    let simple = simple(&script);
    assert_eq!(simple.words.len(), 3);
    assert_eq!(simple.arrays.len(), 1);
}

#[test]
fn pipes_with_errors() {
    let script = read("a >f |& b");
    let stage = &script.statements[0].first.stages[0];
    assert!(matches!(stage.redirects[1].to, Target::Duplicate { output: true, .. }));
}
