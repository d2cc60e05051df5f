//! Scripts as deep and as long as can be: the walk ends, on an ordinary thread's stack, and says what it did not look at.
//!
//! Shows R1: text from outside never brings the decision down.

use checkrein_contract::{Effect, Facts, Foreseen, Place};
use checkrein_policy::{Models, Scene, shell};

fn foresee(text: &str) -> Foreseen {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    shell::foresee(text, Scene { place: &place, facts: &facts, models: Models::built_in() })
}

fn denied(foreseen: &Foreseen) -> bool {
    foreseen.effects.iter().any(|effect| matches!(effect, Effect::Run(run) if run.program == "rm"))
}

fn unknown(foreseen: &Foreseen) -> bool {
    foreseen.effects.iter().any(|effect| matches!(effect, Effect::Unknown { .. }))
}

/// `layers` scripts inside each other, each in `wraps` subshells.
fn onion(layers: usize, wraps: usize) -> String {
    let mut text = "rm -rf x".to_owned();
    for layer in 0..layers {
        let (open, close) = ("( ".repeat(wraps), " )".repeat(wraps));
        text = format!("{open}\nbash <<'E{layer}'\n{text}\nE{layer}\n{close}");
    }
    text
}

#[test]
fn scripts_in_scripts_in_subshells_end() {
    assert!(denied(&foresee(&onion(3, 5))), "a few layers are looked through");
    for (layers, wraps) in [(5, 50), (11, 50), (30, 10), (60, 1), (200, 0)] {
        let foreseen = foresee(&onion(layers, wraps));
        let said = unknown(&foreseen) || denied(&foreseen);
        assert!(said, "{layers} layers of {wraps}: what is too deep is not taken for nothing");
    }
}

#[test]
fn substitutions_functions_and_loops_end() {
    let nested =
        |open: &str, close: &str, times: usize| format!("echo {}ls{}", open.repeat(times), close.repeat(times));
    for text in [
        nested("$(echo ", ")", 50),
        nested("\"$(echo ", ")\"", 50),
        nested("<(cat ", ")", 50),
        nested("${x:-", "}", 50),
        "f() { f; }; f".to_owned(),
        "f() { g; }; g() { f; }; f".to_owned(),
        (0..40).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n + 1, n + 1)).collect::<String>() + "f0",
        (0..30).map(|n| format!("for i{n} in a b c d; do ")).collect::<String>() + "ls; " + &"done; ".repeat(30),
        "while true; do ".repeat(40) + "cd ..; rm x; " + &"done; ".repeat(40),
        "if true; then ".repeat(50) + "x=1; " + &"else x=2; fi; ".repeat(50),
        format!("x=a; {} echo $x", "x=$x$x; ".repeat(60)),
        format!("x=({}); echo ${{x[@]}}", "a ".repeat(10_000)),
        format!("echo {}", "{a,b}".repeat(30)),
        format!("eval {}", "eval ".repeat(500)),
        format!("env {}ls", "env ".repeat(2_000)),
        format!("timeout 1 {}ls", "timeout 1 ".repeat(2_000)),
        format!("{} ls", "time ".repeat(2_000)),
        format!("find . {} -exec ls {{}} +", "-exec find . -exec ls {} + ".repeat(300)),
    ] {
        foresee(&text);
    }
}

#[test]
fn the_longest_scripts_end() {
    for piece in [
        "rm x; ",
        "cd a; ",
        "x=$y; ",
        "a | ",
        "$(",
        "`",
        "((",
        "[[ a && ",
        "cat <<E\n",
        "'",
        "\"$(",
        "${x/",
        "f() { ",
        "case x in ",
        "{a,",
        "\\",
        "> x ",
        "a && ",
    ] {
        let text = piece.repeat(shell_limit() / piece.len());
        foresee(&text);
        foresee(&format!("{text}{text}"));
    }
}

fn shell_limit() -> usize {
    64 * 1024
}
