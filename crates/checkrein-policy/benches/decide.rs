//! What a decision costs: 20 rules beside the floor, from a plain read to a shell line with a wrapper.

use checkrein_contract::{Call, CallId, Facts, Finding, Foreseen, Identity, Layer, Place, PolicySource, Question};
use checkrein_policy::fixtures::foresee;
use checkrein_policy::{Manifest, Models, Policy, Scene, Variables, decide, foreign_tools, foresee_until_known};
use divan::{Bencher, black_box};
use serde_json::Value;

fn main() {
    divan::main();
}

fn place() -> Place {
    Place {
        root: "/home/user/project".into(),
        cwd: "/home/user/project".into(),
        home: "/home/user".into(),
        ..Place::default()
    }
}

/// Ten path rules and ten command rules, as a project might have them.
fn policy() -> Policy {
    let mut text = "version = 1\n".to_owned();
    for n in 0..10 {
        let decision = if n % 3 == 0 { "deny" } else { "allow" };
        text.push_str(&format!(
            "[[rule]]\nid = \"path-{n}\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"{}\"\npaths = [\"{{root}}/part{n}/**\"]\n",
            if n % 2 == 0 { "read" } else { "write" }
        ));
        text.push_str(&format!(
            "[[rule]]\nid = \"words-{n}\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"run\"\nwords = [\"tool{n}\", \"go\"]\n"
        ));
    }
    let source = PolicySource { layer: Layer::Project, file: "bench.toml".to_owned(), text, only_tightens: false };
    Policy::load(&[source], &Variables::new(&place(), &Identity::default())).expect("the policy loads")
}

struct Case {
    call: Call,
    foreseen: Foreseen,
    facts: Facts,
}

fn case(policy: &Policy, tools: &[Manifest], tool: &str, args: Value) -> Case {
    let call = Call { id: CallId::new("c1-1"), tool: tool.to_owned(), server: None, args };
    let place = place();
    let (foreseen, facts) = foresee_until_known(
        policy,
        |facts| foresee(&call, tools, Scene { place: &place, facts, models: Models::built_in() }),
        |question| match question {
            Question::RealPath { path } => Some(Finding::Text(path.clone())),
            _ => None,
        },
    );
    Case { call, foreseen, facts }
}

const CALLS: [(&str, &str); 4] = [
    ("read", r#"{"path": "part2/src/main.rs"}"#),
    ("write", r#"{"path": "part9/src/main.rs"}"#),
    ("bash", r#"{"command": "tool7 go --fast"}"#),
    ("bash", r#"{"command": "env A=1 timeout 5 rm -rf /home/user/project/../other && echo done"}"#),
];

/// The decision alone: effects and facts are given.
#[divan::bench(args = 0..4)]
fn decision(bencher: Bencher<'_, '_>, index: usize) {
    let (policy, tools) = (policy(), foreign_tools().expect("the manifests load"));
    let (tool, args) = CALLS[index];
    let case = case(&policy, &tools, tool, serde_json::from_str(args).expect("JSON"));
    bencher.bench_local(|| decide(&policy, black_box(&case.foreseen), &case.facts));
}

/// The decision with what the call would do.
#[divan::bench(args = 0..4)]
fn foresee_and_decide(bencher: Bencher<'_, '_>, index: usize) {
    let (policy, tools, place) = (policy(), foreign_tools().expect("the manifests load"), place());
    let (tool, args) = CALLS[index];
    let case = case(&policy, &tools, tool, serde_json::from_str(args).expect("JSON"));
    bencher.bench_local(|| {
        let scene = Scene { place: &place, facts: &case.facts, models: Models::built_in() };
        let foreseen = foresee(black_box(&case.call), &tools, scene);
        decide(&policy, &foreseen, &case.facts)
    });
}

/// Reading and checking the floor.
#[divan::bench]
fn load() -> Policy {
    let source = PolicySource {
        layer: Layer::Project,
        file: "bench.toml".to_owned(),
        text: "version = 1\n".to_owned(),
        only_tightens: false,
    };
    Policy::load(&[source], &Variables::new(&place(), &Identity::default())).expect("the policy loads")
}
