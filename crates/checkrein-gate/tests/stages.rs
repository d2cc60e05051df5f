//! One test for each stage: take the stage away and its test fails. `cargo xtask stages` does exactly that.

mod support;

use checkrein_contract::{Body, Code, FinishedAs, Verdict};
use checkrein_gate::{Before, Hook, HookFailure};
use checkrein_testkit::Yes;
use support::{Behaviour, Refuses, World};

/// Shows R7, R48, R190 (parse): text that is no JSON becomes a readable refusal, and empty arguments are an empty object.
#[tokio::test]
async fn parse_keeps_what_is_not_json() {
    let mut world = World::new();
    let finished = world.call("pay", "{\"order\": ").await;
    assert_eq!(finished.code, Some(Code::InvalidArgs));
    assert!(finished.text.contains("not JSON"), "{}", finished.text);
    let finished = world.call("pay", "").await;
    assert!(finished.text.contains("/order: is required"), "{}", finished.text);
    assert_eq!(world.ran.count(), 0);
}

/// Shows R53, R85, R87, R133, R190 (visible): unknown and hidden tools get the same answer, and nothing runs.
#[tokio::test]
async fn visible_hides_what_is_not_on_offer() {
    let mut world = World::new();
    world.offered.clear();
    let hidden = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    let unknown = world.call("pya", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(hidden.code, Some(Code::UnknownTool));
    assert_eq!(hidden.text.replace("pay", "X"), unknown.text.replace("pya", "X"));
    assert_eq!(world.ran.count(), 0);
}

/// Shows R45, R46, R89, R190 (validate): every violation at once, each with its path; what nobody declared is refused.
#[tokio::test]
async fn validate_reports_everything_at_once() {
    let mut world = World::new();
    let finished = world.call("pay", r#"{"amount":"five","approved":true,"note":null}"#).await;
    assert_eq!(finished.code, Some(Code::InvalidArgs));
    for part in ["/order: is required", "/amount: must be of type number", "/approved: is not a parameter"] {
        assert!(finished.text.contains(part), "{part} in {}", finished.text);
    }
    assert!(!finished.text.contains("/note"), "null stands for absent: {}", finished.text);
    assert_eq!(world.ran.count(), 0);
}

struct Doubles;

impl Hook for Doubles {
    fn name(&self) -> &str {
        "doubles"
    }

    fn before<'a>(
        &'a self,
        call: &'a checkrein_contract::Call,
    ) -> checkrein_contract::BoxFuture<'a, Result<Before, HookFailure>> {
        let mut args = call.args.clone();
        args["amount"] = serde_json::json!(args["amount"].as_f64().unwrap_or(0.0) * 1_000.0);
        Box::pin(async move { Ok(Before::Change(args)) })
    }
}

/// Shows R83, R190 (hooks): what is decided is decided on the arguments as the hooks left them.
#[tokio::test]
async fn hooks_come_before_the_decision() {
    let mut world = World::new().hook(Doubles);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(finished.code, Some(Code::Denied), "{}", finished.text);
    assert_eq!(world.ran.count(), 0);
}

/// Shows R190 (foresee): the decision rests on what a path really is.
#[tokio::test]
async fn foresee_asks_what_a_path_really_is() {
    let mut world = World::new();
    let finished = world.call("pay", r#"{"order":"o-secret","amount":5}"#).await;
    assert_eq!(finished.code, Some(Code::Denied), "{}", finished.text);
    assert_eq!(world.ran.count(), 0);
}

/// Shows R1, R84, R88, R91, R190 (decide): well-formed is not allowed.
#[tokio::test]
async fn decide_asks_the_policy() {
    let mut world = World::new();
    let finished = world.call("pay", r#"{"order":"o-1","amount":500}"#).await;
    assert_eq!((finished.ended, finished.code), (FinishedAs::Refused, Some(Code::Denied)));
    assert_eq!(world.ran.count(), 0);
}

/// Shows R80, R81, R190 (guards): a guard refuses what the policy allows.
#[tokio::test]
async fn guards_refuse_what_the_policy_allows() {
    let mut world = World::new().guard(Refuses("the shop is closed"));
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(finished.code, Some(Code::DeniedByGuard));
    assert_eq!(world.ran.count(), 0);
}

/// Shows R94, R190 (admit): what asks does not run without a yes.
#[tokio::test]
async fn admit_wants_a_yes() {
    let mut world = World::new();
    let finished = world.call("pay", r#"{"order":"o-1","amount":50}"#).await;
    assert_eq!(finished.code, Some(Code::NeedsApproval));
    assert_eq!(world.ran.count(), 0);
    let approval = world.approved("pay", r#"{"order":"o-1","amount":50}"#).await;
    let finished = world.call_with("pay", r#"{"order":"o-1","amount":50}"#, Yes::Recorded(&approval)).await;
    assert_eq!((finished.ended, world.ran.count()), (FinishedAs::Ok, 1));
}

/// Shows R190 (start): the start is durable before the run, and without a journal nothing runs.
#[tokio::test]
async fn start_is_recorded_first() {
    let mut world = World::new();
    world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    let starts = world.journal.events.iter().filter(|(_, body)| matches!(body, Body::Started { .. })).count();
    assert_eq!((starts, world.journal.flushed), (1, 1));
    let mut world = World::new();
    world.journal.broken = true;
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!((finished.code, world.ran.count()), (Some(Code::JournalUnavailable), 0));
}

/// Shows R146, R169, R190 (run): a tool that hangs is stopped. Whether it took effect is unknown, where it might have.
#[tokio::test(start_paused = true)]
async fn run_has_a_time_limit() {
    let mut world = World::behaving(Behaviour::Hangs);
    let call = world.call("pay", r#"{"order":"o-1","amount":5}"#);
    let finished = tokio::time::timeout(std::time::Duration::from_secs(3_600), call).await.expect("it ends by itself");
    assert_eq!((finished.ended, finished.code), (FinishedAs::Unknown, Some(Code::ToolOutcomeUnknown)));
    assert!(finished.text.contains("and may have taken effect"), "{}", finished.text);
}

/// Shows R52, R190 (run): a tool that panics is a failed call, not a dead harness.
#[tokio::test]
async fn run_survives_a_panic() {
    let mut world = World::behaving(Behaviour::Panics);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(finished.code, Some(Code::ToolPanicked));
    assert!(!finished.text.contains("fire"), "the model does not read panics: {}", finished.text);
}

/// Shows R51, R60, R190 (check output): a value that does not fit its schema is an error.
#[tokio::test]
async fn check_output_wants_the_schema() {
    let mut world = World::behaving(Behaviour::WrongOutput);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(finished.code, Some(Code::InvalidToolOutput), "{}", finished.text);
    let mut world = World::behaving(Behaviour::Leaks);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!(finished.text, "token [redacted:github-pat]");
}

/// Shows R69, R71, R74, R190 (render): whatever a tool returns is bounded, and nothing is lost.
#[tokio::test]
async fn render_is_bounded() {
    let mut world = World::behaving(Behaviour::Huge);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert!(finished.cut && finished.text.len() < 64_000, "{}", finished.text.len());
    assert!(finished.text.contains("944000 bytes left out here"), "{}", &finished.text[27_000..29_000]);
    assert!(finished.text.contains("`read` {\"file_path\":\"/spill/c1-1.txt\"}"));
    assert_eq!(world.kept.get("c1-1.txt").unwrap().len(), 1_000_000);
}

/// The untouched way, so that every other test here means something.
#[tokio::test]
async fn an_allowed_call_runs() {
    let mut world = World::new();
    assert_eq!(world.judge("pay", r#"{"order":"o-1","amount":5}"#).await.unwrap().decision().verdict, Verdict::Allow);
    let finished = world.call("pay", r#"{"order":"o-1","amount":5}"#).await;
    assert_eq!((finished.ended, finished.text.as_str()), (FinishedAs::Ok, "paid 5 for o-1"));
    assert_eq!(world.ran.count(), 1);
}
