//! The recorded calls of `decisions/seed.json` against the seed policy, each its own reported test.
//!
//! Shows R1-R5, R8-R16, R19, R20, R88: one pure function over tool name and arguments decides every recorded call, and
//! wrapping, spacing, quoting, dot segments, links and absolute program paths never weaken a deny.

use checkrein_contract::{Identity, Layer, Place, PolicySource};
use checkrein_policy::fixtures::{self, Score};
use checkrein_policy::{Policy, Variables, foreign_tools};
use checkrein_toml::Source;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let place = Place {
        root: "/home/user/project".to_owned(),
        cwd: "/home/user/project".to_owned(),
        home: "/home/user".to_owned(),
    };
    let seed = PolicySource {
        layer: Layer::Project,
        file: "seed.toml".to_owned(),
        text: include_str!("../policies/seed.toml").to_owned(),
        only_tightens: false,
    };
    let policy = Policy::load(&[seed], &Variables::new(&place, &Identity::default())).expect("the seed policy loads");
    let policy: &'static Policy = Box::leak(Box::new(policy));
    let tools: &'static _ = Box::leak(Box::new(foreign_tools().expect("the built-in manifests load")));
    let place: &'static Place = Box::leak(Box::new(place));
    let text = include_str!("decisions/seed.json");
    let fixtures = fixtures::read(Source { file: "seed.json", text }).expect("the fixtures load");
    assert!(fixtures.len() >= 31, "fixtures are only ever added");

    let trials = fixtures
        .into_iter()
        .map(|fixture| {
            Trial::test(fixture.note.clone(), move || {
                let judged = fixture.judge(policy, tools, place);
                if judged.score == Score::Right {
                    return Ok(());
                }
                Err(Failed::from(format!(
                    "{:?}: expected {}, got {} ({})\n{:#?}",
                    judged.score,
                    fixture.expected,
                    judged.decision.verdict,
                    judged.decision.reason,
                    judged.decision.trace
                )))
            })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
