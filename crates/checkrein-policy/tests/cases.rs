//! The decision suites, each call its own reported test: `cases.jsonl`, 403 calls made from public reports of permission
//! layers deciding wrongly, against the six policies beside it; `more.jsonl`, further calls of the same kinds, written from
//! the words of those policies; and `seed.json` against the policy that ships as an example.
//!
//! Shows R1-R5, R8-R16, R19, R20, R88, R114, R115: one pure function over tool name and arguments decides every recorded call, and
//! wrapping, spacing, quoting, dot segments, links and absolute program paths never weaken a deny.

#![expect(clippy::print_stderr, reason = "the score is for people who run the tests")]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein_contract::{Layer, PolicySource};
use checkrein_policy::fixtures::{self, Fixture, Fixtures, Judge, Score, Suite, World};
use checkrein_policy::{Models, foreign_tools};
use checkrein_toml::Source;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut trials = Vec::new();
    let read = |file: &str, text: &str| fixtures::read(Source { file, text }).expect("the fixtures load");

    let Fixtures { world, all, .. } = read("cases.jsonl", include_str!("decisions/cases.jsonl"));
    assert!(all.len() >= 403, "cases are only ever added");
    let cases = Arc::new(Mutex::new(Suite::new(support::judge(world))));
    trials.extend(all.into_iter().map(|fixture| trial(fixture, &cases)));

    let Fixtures { world, all, .. } = read("more.jsonl", include_str!("decisions/more.jsonl"));
    assert!(all.len() >= 1_800, "cases are only ever added");
    let more = Arc::new(Mutex::new(Suite::new(support::judge(world))));
    trials.extend(all.into_iter().map(|fixture| trial(fixture, &more)));

    let Fixtures { all, .. } = read("seed.json", include_str!("decisions/seed.json"));
    assert!(all.len() >= 31, "fixtures are only ever added");
    let text = include_str!("../policies/seed.toml").to_owned();
    let seed = PolicySource { layer: Layer::Project, file: "seed.toml".to_owned(), text, only_tightens: false };
    let policies = BTreeMap::from([(String::new(), vec![seed])]);
    let world = World {
        root: "/home/user/project".into(),
        cwd: "/home/user/project".into(),
        home: "/home/user".into(),
        files: vec![],
        ..World::default()
    };
    let tools = foreign_tools().expect("the built-in manifests load");
    let seed = Arc::new(Mutex::new(Suite::new(Judge::new(policies, tools, Models::built_in().clone(), world))));
    trials.extend(all.into_iter().map(|fixture| trial(fixture, &seed)));

    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    for (name, suite) in [("cases", &cases), ("more", &more), ("seed", &seed)] {
        let report = &suite.lock().unwrap_or_else(PoisonError::into_inner).report;
        let count = |score| report.count(score);
        eprintln!(
            "{name}: {} of {} right, {} over-cautious, {} wrong, {} vulnerable",
            count(Score::Right),
            report.total(),
            count(Score::OverCautious),
            count(Score::Wrong),
            count(Score::Vulnerable)
        );
    }
    conclusion.exit();
}

fn trial(fixture: Fixture, suite: &Arc<Mutex<Suite>>) -> Trial {
    let suite = Arc::clone(suite);
    Trial::test(fixture.note.clone(), move || {
        let judged = suite.lock().unwrap_or_else(PoisonError::into_inner).run(&fixture);
        let judged = judged.map_err(|error| error.to_string())?.ok_or("its policy is there")?;
        if judged.score == Score::Right {
            return Ok(());
        }
        Err(Failed::from(format!(
            "{:?}: expected {}, got {} ({})\n{}\n{}",
            judged.score,
            fixture.expected,
            judged.decision.verdict,
            judged.decision.reason,
            serde_json::to_string(&fixture.call).unwrap_or_default(),
            judged
                .decision
                .trace
                .iter()
                .map(|step| format!("  {} {:?} {:?}\n", step.decision, step.effect, step.winner))
                .collect::<String>()
        )))
    })
}
