//! A second implementation of the rules, slow and plain, written from what the documentation says; and random policies,
//! effects and facts on which the engine and it must agree.
//!
//! Shows R1, R2, R11, R12: every rule kind, the layers and the order of evaluation mean what is written of them, and
//! what no rule speaks of is never allowed.

#[path = "twin/description.rs"]
mod description;
#[path = "twin/generate.rs"]
mod generate;
#[path = "twin/judging.rs"]
mod judging;
#[path = "twin/names.rs"]
mod names;
#[path = "twin/rules.rs"]
mod rules;

use checkrein_contract::{
    Effect, Facts, Finding, Foreseen, Identity, Place, PolicySource, Question, TraceStep, Winner,
};
use checkrein_policy::{Policy, Variables, decide};
use description::File;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};

fn place() -> Place {
    Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() }
}

/// What judged an effect, as the twin says it.
fn by(step: &TraceStep) -> String {
    match &step.winner {
        Winner::Rule(rule) => rule.rule.clone(),
        Winner::Default => "default".to_owned(),
        Winner::NotUnderstood => "not understood".to_owned(),
        Winner::RestsOn { .. } => "rests on".to_owned(),
        Winner::Incidental => "incidental".to_owned(),
        Winner::Own => "own".to_owned(),
        Winner::NoEffect => "no effect".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The answers that matter for people who read a failure: those that are not what is expected anyway.
fn shown(files: &[File], effects: &[Effect], facts: &Facts) -> String {
    let layers = files.iter().map(|file| format!("# {:?} {}\n{}", file.layer, file.only_tightens, file.source().text));
    let odd = facts.iter().filter(|(question, answer)| match (question, answer) {
        (Question::RealPath { path }, Some(Finding::Text(real))) => path != real,
        (Question::Holds { tree, .. }, _) => effects.iter().any(|effect| effect.path() == Some(&tree.root)),
        (Question::Matches { pattern }, _) => effects.iter().any(|effect| effect.path() == Some(pattern)),
        (Question::Definition { server: of, .. }, _) => {
            effects.iter().any(|effect| matches!(effect, Effect::Tool { server: Some(server), .. } if server == of))
        }
        (Question::Addresses { host }, _) => {
            effects.iter().any(|effect| matches!(effect, Effect::Connect(to) if to.host == *host))
        }
        _ => true,
    });
    let facts: Vec<String> = odd.map(|(question, answer)| format!("{question:?}: {answer:?}")).collect();
    format!("{}\n{effects:#?}\n{}", layers.collect::<String>(), facts.join("\n"))
}

fn agree(files: &[File], effects: Vec<Effect>, facts: &Facts) -> Result<(), TestCaseError> {
    let sources: Vec<PolicySource> = files.iter().map(File::source).collect();
    let policy = Policy::load(&sources, &Variables::new(&place(), &Identity::default()))
        .map_err(|error| TestCaseError::fail(format!("{error}\n{}", shown(files, &effects, facts))))?;
    let foreseen = Foreseen::of(effects);
    let engine = decide(&policy, &foreseen, facts);
    let (verdict, steps) = judging::decide(files, &foreseen, facts);
    let engine_steps: Vec<_> = engine.trace.iter().map(|step| (step.decision, by(step))).collect();
    prop_assert_eq!(engine_steps, steps, "{}", shown(files, &foreseen.effects, facts));
    prop_assert_eq!(engine.verdict, verdict, "{}", shown(files, &foreseen.effects, facts));
    Ok(())
}

#[test]
fn the_engine_decides_as_written() {
    let config =
        ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: RngSeed::Fixed(15), ..Default::default() };
    let all = generate::topics()
        .prop_flat_map(|topics| (generate::files(topics.clone()), generate::effects(topics), generate::facts()));
    let ran = TestRunner::new(config).run(&all, |(files, effects, facts)| agree(&files, effects, &facts));
    if let Err(TestError::Fail(reason, _)) = &ran {
        panic!("{reason}");
    }
    ran.expect("enough cases are made");
}
