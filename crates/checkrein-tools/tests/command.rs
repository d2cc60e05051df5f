//! Command tools: any program as a tool, with real programs.

use std::os::unix::fs::symlink;

use checkrein_contract::{CallKind, Code, Effect, Facts};
use checkrein_gate::Concurrency;
use serde_json::{Value, json};

use crate::support::World;

/// A world with a tool `shop` that runs this bash script with the order and the customer as `$1` and `$2`.
fn shop(keys: &str, script: &str) -> World {
    let world = World::with_command(&format!(
        r#"
version = 1
name = "shop"
description = "Looks after orders."
argv = ["./tool", "script.sh", "{{order}}", "{{identity.customer}}"]
{keys}
[params.order]
type = "string"
required = true
description = "order id"
[params.deep]
type = "boolean"
default = false
"#
    ));
    world.file("script.sh", script);
    // The workspace has a program of this name as well, which a model could have written there.
    symlink("/bin/false", world.path("tool")).unwrap();
    symlink("/bin/bash", world.task().join("tool")).unwrap();
    world
}

async fn order(world: &mut World, order: &str) -> String {
    world.text("shop", json!({ "order": order })).await
}

/// Shows R61: JSON in, JSON out; an argument stays one word, whatever it holds.
#[tokio::test]
async fn arguments_are_words_and_the_output_is_json() {
    let script = r#"printf '{"order": "%s", "customer": "%s", "n": %d}\n' "$1" "$2" $#"#;
    let mut world = shop("", script);
    for id in ["o-1", "o 1; echo x", "$(reboot)", "-rf", "{order}", ""] {
        let text = order(&mut world, id).await;
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, json!({"order": id, "customer": "c-17", "n": 2}));
        assert_eq!(text, value.to_string(), "compact");
        assert_eq!(world.value(), value, "the value is what the program said");
    }
    assert_eq!(world.error("shop", json!({"order": "a\u{0}"})).await.0, Code::InvalidArgs);
}

/// Shows R169: a program that can use one gets an idempotency key; it runs in the project, from the task's folder.
#[tokio::test]
async fn a_program_knows_its_key_and_its_place() {
    let mut world = shop("output = \"text\"", r#"pwd; printf %s "$CHECKREIN_IDEMPOTENCY_KEY""#);
    let first = order(&mut world, "o-1").await;
    let (place, key) = first.split_once('\n').unwrap();
    assert_eq!((place, key.len()), (world.place.root.as_str(), 64));
    assert_ne!(order(&mut world, "o-1").await, first, "another call has another key");
}

/// Shows R51, R52, R60, R169: what is no result has a code, and the program's own words as far as they fit.
#[tokio::test]
async fn what_is_no_result_says_why() {
    for (keys, script, code, message) in [
        (
            "",
            "echo '{'",
            Code::InvalidToolOutput,
            "`shop` must print one JSON value: EOF while parsing an object at line 2 column 0. It ended without an error, so what it does may be done already",
        ),
        (
            "",
            "echo '1 2'",
            Code::InvalidToolOutput,
            "`shop` must print one JSON value: trailing characters at line 1 column 3. It ended without an error, so what it does may be done already",
        ),
        (
            "",
            "true",
            Code::InvalidToolOutput,
            "`shop` must print one JSON value: it printed nothing. It ended without an error, so what it does may be done already",
        ),
        (
            "",
            "seq 200000",
            Code::InvalidToolOutput,
            "`shop` printed 1288895 bytes; a result has at most 1000000. It ended without an error, so what it does may be done already",
        ),
        ("", "echo no such order >&2; exit 4", Code::ToolFailed, "`shop`: exit code 4: no such order"),
        ("", "exit 4", Code::ToolFailed, "`shop`: exit code 4"),
        (
            "",
            r#"echo '{"error": "no such order", "n": 1}'; echo noise >&2; exit 4"#,
            Code::ToolFailed,
            "`shop`: exit code 4: no such order",
        ),
        ("", r#"echo '{"error": {"n": 1}}'; exit 4"#, Code::ToolFailed, "`shop`: exit code 4: {\"n\":1}"),
        (
            "",
            "echo paid; kill -11 $$",
            Code::ToolOutcomeUnknown,
            "`shop`: ended by signal 11 (SEGV), and may have taken effect",
        ),
        ("kind = \"pure\"", "kill -11 $$", Code::ToolFailed, "`shop`: ended by signal 11 (SEGV)"),
        (
            "timeout_s = 1",
            "sleep 600",
            Code::ToolOutcomeUnknown,
            "`shop` was ended after its limit of 1 s, and may have taken effect",
        ),
        ("kind = \"pure\"", "true", Code::InvalidToolOutput, "`shop` must print one JSON value: it printed nothing"),
        ("timeout_s = 1\nkind = \"pure\"", "sleep 600", Code::ToolTimeout, "`shop` was ended after its limit of 1 s"),
    ] {
        let mut world = shop(keys, script);
        assert_eq!(world.error("shop", json!({"order": "o-1"})).await, (code, message.to_owned()), "{script}");
    }
    let mut world = shop("", r"printf '\033[31m' >&2; seq 2000 >&2; exit 1");
    let (_, message) = world.error("shop", json!({"order": "o-1"})).await;
    assert!(message.starts_with("`shop`: exit code 1: [7398 bytes left out] "), "{message}");
    assert!(message.ends_with("1999\n2000") && message.len() < 1_700);
}

/// Shows R69: a long result is cut, and says how much is missing.
#[tokio::test]
async fn a_long_result_is_cut() {
    let mut world = shop("", r#"printf '"'; for i in $(seq 40000); do printf é; done; printf '"'"#);
    let finished = world.call("shop", json!({"order": "o-1"})).await;
    assert!(finished.cut && finished.text.starts_with("\"éé"));
    assert!(finished.text.contains("é\n[24004 bytes left out here; the whole is in a file: `read` {"));
    assert!(finished.text.ends_with("éé\""));
    assert_eq!(world.value().as_str().unwrap().chars().count(), 40_000, "the value is whole");
}

/// Shows R136: kind, limit and concurrency are what the manifest says, and by default the strictest.
#[tokio::test]
async fn the_manifest_says_what_may_be_repeated() {
    let world = shop("", "true");
    let tool = world.registry().get("shop").unwrap();
    let args = json!({"order": "o-1"});
    assert_eq!((tool.kind(&args), tool.concurrency(&args)), (CallKind::Once, Concurrency::Exclusive));
    assert_eq!(tool.timeout_ms(&args), 40_000);
    assert!(tool.runs_programs(&args) && !tool.definition().host_only);
    let effect = Effect::Tool { tool: "shop".into(), server: None, args: json!({"order": "o-1", "deep": false}) };
    assert_eq!(tool.effects(&args, &world.place, &Facts::default()).effects, [effect]);

    let world =
        shop("kind = \"pure\"\nconcurrency = \"parallel\"\ntimeout_s = 5\neffects = [{ read = \"{order}\" }]", "true");
    let tool = world.registry().get("shop").unwrap();
    assert_eq!((tool.kind(&args), tool.concurrency(&args)), (CallKind::Pure, Concurrency::Parallel));
    let path = world.path("o-1").to_str().unwrap().to_owned();
    assert_eq!(
        (tool.timeout_ms(&args), tool.effects(&args, &world.place, &Facts::default()).effects),
        (15_000, vec![Effect::read(path)])
    );
}

/// What can not be started is no failed program, and no folder of the host is named.
#[tokio::test]
async fn a_missing_program_is_said_to_be_missing() {
    let mut world = shop("", "true");
    std::fs::remove_file(world.task().join("tool")).unwrap();
    let finished = world.call("shop", json!({"order": "o-1"})).await;
    assert_eq!(finished.code, Some(Code::SandboxUnavailable));
    assert!(
        finished.text.contains("there is no such program here") && !finished.text.contains("/task"),
        "{}",
        finished.text
    );
}
