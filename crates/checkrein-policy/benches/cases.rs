//! What judging the recorded cases costs, with parsing, and what long scripts cost.
//!
//! `all_cases` judges the 403 cases one after the other; divide by their number. `each_case` prints the median over the
//! cases, each the best of many rounds, since one figure for all of them hides the ordinary one.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use checkrein_contract::{Facts, Foreseen, Identity, Layer, Place, PolicySource};
use checkrein_policy::fixtures::{self, Fixture, World, foresee};
use checkrein_policy::{Manifest, Models, Policy, Scene, Variables, decide, foreign_tools, foresee_until_known, shell};
use checkrein_toml::Source;
use divan::{Bencher, black_box};

fn main() {
    each_case();
    divan::main();
}

struct Prepared {
    fixture: Fixture,
    policy: std::rc::Rc<Policy>,
    place: Place,
    facts: Facts,
}

fn tools() -> Vec<Manifest> {
    foreign_tools().expect("the manifests load")
}

fn prepared() -> Vec<Prepared> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decisions");
    let text = std::fs::read_to_string(folder.join("cases.jsonl")).expect("the cases are there");
    let cases = fixtures::read(Source { file: "cases.jsonl", text: &text }).expect("the cases load");
    let tools = tools();
    let mut loaded: BTreeMap<(String, String), std::rc::Rc<Policy>> = BTreeMap::new();
    let world: World = cases.world;
    let mut all = Vec::new();
    for fixture in cases.all {
        let place = fixture.ctx.place(&world);
        let name = fixture.policy.clone().expect("every case names its policy");
        let policy = loaded.entry((name.clone(), place.root.clone())).or_insert_with(|| {
            let path = folder.join(format!("policies/{name}.toml"));
            let text = std::fs::read_to_string(&path).expect("the policy is there");
            let source = PolicySource { layer: Layer::Project, file: name, text, only_tightens: false };
            let variables = Variables::new(&place, &Identity::default());
            Policy::load(&[source], &variables).expect("the policy loads").into()
        });
        let policy = policy.clone();
        let call = fixture.call();
        let (_, facts) = foresee_until_known(
            &policy,
            |facts| foresee(&call, &tools, Scene { place: &place, facts, models: Models::built_in() }),
            |question| fixture.ctx.answer(question, &place, &world),
        );
        all.push(Prepared { fixture, policy, place, facts });
    }
    all
}

/// Parsing, walking, deciding, with the facts that were found out.
fn judge(prepared: &Prepared, tools: &[Manifest]) {
    let scene = Scene { place: &prepared.place, facts: &prepared.facts, models: Models::built_in() };
    let foreseen: Foreseen = foresee(black_box(&prepared.fixture.call()), tools, scene);
    black_box(decide(&prepared.policy, &foreseen, &prepared.facts));
}

fn each_case() {
    let (all, tools) = (prepared(), tools());
    let mut best: Vec<(f64, &str)> = all
        .iter()
        .map(|prepared| {
            let time = || {
                let start = Instant::now();
                judge(prepared, &tools);
                start.elapsed().as_secs_f64() * 1e6
            };
            ((0..200).map(|_| time()).fold(f64::INFINITY, f64::min), prepared.fixture.note.as_str())
        })
        .collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |share: usize| best[(best.len() - 1) * share / 100];
    println!("{} cases with parsing, each the best of 200:", best.len());
    for share in [10, 50, 90, 99, 100] {
        println!("  {share:>3} of 100 within {:>8.1} us  ({})", at(share).0, at(share).1);
    }
}

#[divan::bench]
fn all_cases(bencher: Bencher<'_, '_>) {
    let (all, tools) = (prepared(), tools());
    bencher.bench_local(|| all.iter().for_each(|prepared| judge(prepared, &tools)));
}

/// Scripts of one kind, as long as can be and half as long: no worse than linear.
#[divan::bench(args = ["commands/64", "commands/32", "nested/64", "nested/32", "words/64", "words/32", "quotes/64", "quotes/32"])]
fn long_script(bencher: Bencher<'_, '_>, kind: &str) {
    let (shape, size) = kind.split_once('/').expect("a shape and a size");
    let bytes = size.parse::<usize>().expect("a number") * 1024;
    let piece = match shape {
        "commands" => "git status; ",
        "nested" => "echo $(cat <<< \"$(ls src)\") && ",
        "words" => "word ",
        _ => "\"a'$x\" ",
    };
    let mut text = if matches!(shape, "words" | "quotes") { "echo ".to_owned() } else { String::new() };
    while text.len() + piece.len() + 4 < bytes {
        text.push_str(piece);
    }
    text.push_str("true");
    let place =
        Place { root: "/srv/project".into(), cwd: "/srv/project".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    bencher.bench_local(|| shell::foresee(black_box(&text), scene));
}
