//! `verify`: the three forms of a check, and that only the harness may ask.

use checkrein_contract::{CallKind, Check, Code, Deed, Effect, Facts, Run};
use serde_json::{Value, json};

use crate::support::{World, next_call};

fn args(check: &Check) -> Value {
    serde_json::to_value(check).unwrap()
}

fn run(words: &[&str]) -> Value {
    args(&Check::Run { run: words.iter().map(|word| (*word).to_owned()).collect() })
}

/// Shows R205: a check is run by a machine, and passes or fails with the reason.
#[tokio::test]
async fn every_form_passes_or_says_why_not() {
    let mut world = World::new();
    world.file("out.txt", "all done\n");
    world.file("out.json", r#"{"n": {"count": 3.0, "name": "x"}}"#);
    let file = |file: &str, contains: &str| args(&Check::File { file: file.into(), contains: contains.into() });
    let json = |json: &str, pointer: &str, equals: Value| {
        args(&Check::Json { json: json.into(), pointer: pointer.into(), equals })
    };
    for (check, expected) in [
        (run(&["test", "-f", "out.txt"]), "passed: test -f out.txt"),
        (
            run(&["bash", "-c", "echo no; echo why >&2; exit 101"]),
            "failed: bash -c echo no; echo why >&2; exit 101: exit code 101\nno\nwhy",
        ),
        (run(&["bash", "-c", "kill -9 $$"]), "failed: bash -c kill -9 $$: ended by signal 9 (KILL)"),
        (file("out.txt", "done"), "passed: out.txt contains \"done\""),
        (file("out.txt", "more"), "failed: out.txt contains \"more\": the text is not in it"),
        (file("none.txt", "x"), "failed: none.txt contains \"x\": there is no `none.txt`"),
        (json("out.json", "/n/count", json!(3)), "passed: out.json /n/count equals 3"),
        (
            json("out.json", "/n", json!({"name": "x", "count": 3})),
            "passed: out.json /n equals {\"count\":3,\"name\":\"x\"}",
        ),
        (json("out.json", "/n/name", json!("y")), "failed: out.json /n/name equals \"y\": it is \"x\""),
        (json("out.json", "/m", json!(1)), "failed: out.json /m equals 1: nothing stands there"),
        (
            json("out.txt", "/m", json!(1)),
            "failed: out.txt /m equals 1: it is not JSON: expected value at line 1 column 1",
        ),
    ] {
        let finished = world.call("verify", check.clone()).await;
        let code = expected.starts_with("failed: ").then_some(Code::VerifyFailed);
        assert_eq!((finished.text.as_str(), finished.code), (expected, code), "{check}");
        assert_eq!(world.value()["passed"], expected.starts_with("passed: "));
    }
}

/// Shows R69, R71: of a long output the end is shown, and the whole can be read.
#[tokio::test]
async fn a_long_output_shows_its_end() {
    let mut world = World::new();
    let finished = world.call("verify", run(&["bash", "-c", "seq 2000; exit 1"])).await;
    assert!(finished.cut && finished.text.ends_with("1999\n2000") && finished.text.len() < 4_500);
    assert!(
        finished.text.contains("[stdout cut: the first 4893 of 8893 bytes are left out; all of it: "),
        "{}",
        finished.text
    );
    let (tool, args) = next_call(&finished.text).unwrap();
    assert!(world.text(&tool, args).await.starts_with("1: 1\n"));
}

#[tokio::test]
async fn what_is_no_check_is_none() {
    let mut world = World::new();
    for check in [json!({}), json!({"file": "a"}), json!({"run": ["true"], "file": "a", "contains": "b"})] {
        assert_eq!(world.error("verify", check.clone()).await.0, Code::InvalidArgs, "{check}");
        let effects = world.registry().get("verify").unwrap().effects(&check, &world.place, &Facts::default()).effects;
        assert!(matches!(effects.as_slice(), [Effect::Unknown { .. }]), "{check}");
    }
    let (code, _) = world.error("verify", run(&["no-such-program"])).await;
    assert_eq!(code, Code::SandboxUnavailable);
}

/// Shows R112: what a task makes the harness run is a call as well, with effects that the policy sees.
#[tokio::test]
async fn a_check_is_judged_like_any_call() {
    let mut world = World::new();
    let tool = world.registry().get("verify").unwrap();
    assert!(tool.definition().host_only);
    let check = run(&["cargo", "test"]);
    assert!(tool.runs_programs(&check));
    let effects = tool.effects(&check, &world.place, &Facts::default()).effects;
    let Some(Effect::Run(Run { program, argv, deeds, .. })) = effects.first() else { panic!("{effects:?}") };
    assert_eq!((program.as_str(), argv.as_slice()), ("cargo", ["cargo", "test"].map(str::to_owned).as_slice()));
    assert_eq!((deeds.as_slice(), tool.kind(&check)), ([Deed::Code].as_slice(), CallKind::Idempotent));
    let check = json!({"file": "a.txt", "contains": "x"});
    assert!(!tool.runs_programs(&check), "looking into a file needs no sandbox");
    let path = world.path("a.txt").to_str().unwrap().to_owned();
    assert_eq!(
        (tool.effects(&check, &world.place, &Facts::default()).effects, tool.kind(&check)),
        (vec![Effect::read(path)], CallKind::Pure)
    );
    assert_eq!(world.error("verify", run(&["sudo", "true"])).await.0, Code::Denied);
    assert_eq!(world.error("verify", json!({"file": ".env", "contains": "x"})).await.0, Code::Denied);
}
