//! The permission seam: hooks, guards, approvals, and what can never widen.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use checkrein_contract::{Answer, ApprovalState, BoxFuture, Call, Code, FinishedAs, SessionId, Verdict};
use checkrein_gate::hooks::Quota;
use checkrein_gate::{
    After, Around, Before, Failure, Guard, GuardView, Hook, HookFailure, Next, RecordedApproval, call_digest,
};
use checkrein_testkit::{NOW, NoPrograms, Yes, request};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Refuses, World};

const SMALL: &str = r#"{"order":"o-1","amount":5}"#;
const LARGE: &str = r#"{"order":"o-1","amount":50}"#;
const HUGE: &str = r#"{"order":"o-1","amount":500}"#;

/// A hook that says one thing before the call.
struct Says(Before);

impl Hook for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn before<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Before, HookFailure>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

/// A hook whose parts fail or answer.
#[derive(Default)]
struct Acts {
    fails_before: bool,
    panics_before: bool,
    answers: Option<Value>,
    changes: Option<Value>,
    fails_after: bool,
}

impl Hook for Acts {
    fn name(&self) -> &str {
        "acts"
    }

    fn before<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Before, HookFailure>> {
        Box::pin(async {
            assert!(!self.panics_before, "hook on fire");
            if self.fails_before { Err(HookFailure("no answer".to_owned())) } else { Ok(Before::Continue) }
        })
    }

    fn around<'a>(&'a self, _call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Around> {
        Box::pin(async move {
            match &self.answers {
                Some(value) => Ok(value.clone()),
                None => next.run().await,
            }
        })
    }

    fn after<'a>(&'a self, _call: &'a Call, _value: &'a Value) -> BoxFuture<'a, Result<After, HookFailure>> {
        Box::pin(async {
            match &self.changes {
                _ if self.fails_after => Ok(After::Fail("not good enough".to_owned())),
                Some(value) => Ok(After::Change(value.clone())),
                None => Ok(After::Keep),
            }
        })
    }
}

struct Fails(bool);

impl Guard for Fails {
    fn name(&self) -> &str {
        "fails"
    }

    fn refuse(&self, _view: &GuardView<'_>) -> Result<Option<String>, String> {
        assert!(!self.0, "guard on fire");
        Err("the register is closed".to_owned())
    }
}

/// Shows R77, R78, R84: a hook denies or asks, the result is an error the model reads, and nothing is thrown.
#[tokio::test]
async fn a_hook_can_deny_and_ask() {
    let mut world = World::new().hook(Says(Before::Deny("not today".to_owned())));
    let finished = world.call("pay", SMALL).await;
    assert_eq!((finished.ended, finished.code), (FinishedAs::Refused, Some(Code::DeniedByHook)));
    let text: Value = serde_json::from_str(&finished.text).unwrap();
    assert_eq!((text["is_error"].as_bool(), text["code"].as_str()), (Some(true), Some("DENIED_BY_HOOK")));
    assert!(text["message"].as_str().unwrap().contains("not today") && text["remedy"].is_string());

    let world = World::new().hook(Says(Before::Ask("a second pair of eyes".to_owned())));
    let judged = world.judge("pay", SMALL).await.unwrap();
    assert_eq!((judged.decision().verdict, judged.decision().code), (Verdict::Ask, Code::AskHook));
}

/// A hook or guard that fails denies, with its own name.
#[tokio::test]
async fn what_fails_denies_with_its_own_name() {
    let hooks = [Acts { fails_before: true, ..Acts::default() }, Acts { panics_before: true, ..Acts::default() }];
    for hook in hooks {
        let mut world = World::new().hook(hook);
        let finished = world.call("pay", SMALL).await;
        assert_eq!(finished.code, Some(Code::DeniedByHook));
        assert!(finished.text.contains("hook `acts`"), "{}", finished.text);
        assert_eq!(world.ran.count(), 0);
    }
    for panics in [false, true] {
        let mut world = World::new().guard(Fails(panics));
        let finished = world.call("pay", SMALL).await;
        assert_eq!(finished.code, Some(Code::DeniedByGuard));
        assert!(finished.text.contains("guard `fails`"), "{}", finished.text);
        assert_eq!(world.ran.count(), 0);
    }
}

/// Shows R83: hooks around and after a call; an answer in the tool's place is no run.
#[tokio::test]
async fn a_hook_can_answer_change_and_fail() {
    let mut world =
        World::new().hook(Acts { answers: Some(json!({"receipt": "cached", "attempts": 1})), ..Acts::default() });
    let finished = world.call("pay", SMALL).await;
    assert_eq!((finished.ended, finished.text.as_str(), world.ran.count()), (FinishedAs::Answered, "cached", 0));

    let mut world =
        World::new().hook(Acts { changes: Some(json!({"receipt": "stamped", "attempts": 1})), ..Acts::default() });
    assert_eq!((world.call("pay", SMALL).await.text.as_str(), world.ran.count()), ("stamped", 1));

    let mut world =
        World::new().hook(Acts { changes: Some(json!({"receipt": "x", "attempts": 50})), ..Acts::default() });
    assert_eq!(world.call("pay", SMALL).await.code, Some(Code::InvalidToolOutput), "a changed value is checked too");

    let mut world = World::new().hook(Acts { fails_after: true, ..Acts::default() });
    assert_eq!(world.call("pay", SMALL).await.code, Some(Code::HookFailed));
}

/// A hook's change is validated again and noted with the hook's name.
#[tokio::test]
async fn a_change_is_noted_and_validated_again() {
    let world = World::new().hook(Says(Before::Change(json!({"order": "o-2", "amount": 1}))));
    let judged = world.judge("pay", SMALL).await.unwrap();
    assert_eq!(judged.call().args["order"], "o-2");
    let change = &judged.changes()[0];
    assert_eq!(
        (change.hook.as_str(), &change.note.old["order"], &change.note.new["order"]),
        ("says", &json!("o-1"), &json!("o-2"))
    );
    let world = World::new().hook(Says(Before::Change(json!({"order": "o-2", "amount": "many"}))));
    assert_eq!(world.judge("pay", SMALL).await.unwrap_err().decision.code, Code::DeniedByHook);
}

/// Shows R96, R97, R98, R99, R100, R105: a yes is for exactly this call, in this session, once, for a time; a deny stays.
#[tokio::test]
async fn an_approval_means_exactly_one_thing() {
    let mut world = World::new();
    let approval = world.approved("pay", LARGE).await;
    for other in [
        r#"{"order":"o-1","amount":51}"#,
        r#"{"order":"o-2","amount":50}"#,
        r#"{"order":"o-1","amount":50,"note":"x"}"#,
    ] {
        let finished = world.call_with("pay", other, Yes::Recorded(&approval)).await;
        assert_eq!(finished.code, Some(Code::ApprovalStale), "{other}");
    }
    let finished = world.call_with("pay", HUGE, Yes::Recorded(&approval)).await;
    assert_eq!(finished.code, Some(Code::Denied), "no approval covers a deny");

    let late = world.judge("pay", LARGE).await.unwrap().admit(Some(&approval), NOW + 2_000).unwrap_err();
    assert_eq!(late.decision.code, Code::ApprovalExpired);

    world.session = SessionId::new("s-2");
    assert_eq!(world.call_with("pay", LARGE, Yes::Recorded(&approval)).await.code, Some(Code::ApprovalOtherSession));
    world.session = SessionId::new("s-1");

    let mut spent = approval.clone();
    spent.record_use();
    assert_eq!(world.call_with("pay", LARGE, Yes::Recorded(&spent)).await.code, Some(Code::ApprovalSpent));

    let mut revoked = approval.clone();
    revoked.record(&dana(), Answer::Revoked { reason: String::new() });
    assert_eq!(world.call_with("pay", LARGE, Yes::Recorded(&revoked)).await.code, Some(Code::ApprovalRevoked));

    let judged = world.judge("pay", LARGE).await.unwrap();
    let mut denied = RecordedApproval::new(request(&world.session, &judged));
    assert_eq!(denied.state(NOW), ApprovalState::Pending);
    denied.record(&dana(), Answer::Denied { reason: "ask the customer first".to_owned() });
    denied.record(&dana(), Answer::Approved { expires_at: NOW + 1_000, uses: 1 });
    let finished = world.call_with("pay", LARGE, Yes::Recorded(&denied)).await;
    assert_eq!(finished.code, Some(Code::DeniedByPerson), "the first answer stands");
    assert!(finished.text.contains("ask the customer first"));
    assert_eq!(world.ran.count(), 0);

    let finished = world.call_with("pay", LARGE, Yes::Recorded(&approval)).await;
    assert_eq!((finished.ended, world.ran.count()), (FinishedAs::Ok, 1));
}

/// Guards are asked again right before the run: an approval does not get a call past them.
#[tokio::test]
async fn guards_are_asked_again_before_the_run() {
    struct SecondThoughts(AtomicU32);
    impl Guard for SecondThoughts {
        fn name(&self) -> &str {
            "second-thoughts"
        }
        fn refuse(&self, _view: &GuardView<'_>) -> Result<Option<String>, String> {
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            Ok((!first).then(|| "it is too late now".to_owned()))
        }
    }
    let mut world = World::new().guard(SecondThoughts(AtomicU32::new(0)));
    let finished = world.call("pay", SMALL).await;
    assert_eq!((finished.ended, finished.code), (FinishedAs::Refused, Some(Code::DeniedByGuard)));
    assert_eq!(world.ran.count(), 0);
}

/// Shows R59: the same failing call is broken off at a fixed number.
#[tokio::test]
async fn identical_failures_are_broken_off() {
    let mut world = World::new();
    let digest = call_digest("pay", &serde_json::from_str(SMALL).unwrap());
    for (failures, code) in [(0, None), (2, None), (3, Some(Code::RepeatedFailure))] {
        world.failures.insert(digest.clone(), failures);
        assert_eq!(world.call("pay", SMALL).await.code, code, "after {failures}");
    }
}

/// Shows R152: the first n calls go on, the rest are denied; judging a call again does not count twice.
#[tokio::test]
async fn a_quota_lets_the_first_calls_through() {
    let world = World::new().hook(Quota::new("pay", 1));
    for _ in 0..3 {
        assert_eq!(world.judge("pay", SMALL).await.unwrap().decision().verdict, Verdict::Allow);
    }
    let mut second = world.propose("pay", SMALL);
    second.id = checkrein_contract::CallId::new("c2-1");
    let judged = world.gate.judge(&second, &world.scene()).await.unwrap();
    assert_eq!((judged.decision().verdict, judged.decision().code), (Verdict::Deny, Code::DeniedByHook));
}

/// Secrets are found before anybody sees the arguments, and such a call does not run.
#[tokio::test]
async fn a_secret_in_arguments_is_refused() {
    let mut world = World::new();
    let arguments = format!(r#"{{"order":"o-1","amount":5,"note":"ghp_{}"}}"#, "a1B2".repeat(9));
    let proposed = world.propose("pay", &arguments);
    assert_eq!(proposed.args["note"], "[redacted:github-pat]");
    let finished = world.call("pay", &arguments).await;
    assert_eq!(finished.code, Some(Code::SecretInArguments));
    assert!(finished.text.contains("${secret:NAME}"));
    assert_eq!(world.ran.count(), 0);
}

/// A program that nothing confines is asked about, unless somebody said that it may run so.
#[tokio::test]
async fn what_can_not_be_confined_is_asked_about() {
    use checkrein_contract::{CallKind, Facts, Foreseen, Place};
    use checkrein_gate::{AnyTool, Approved, Concurrency, Definition, RunContext, Shown};
    struct Program(Definition);
    impl AnyTool for Program {
        fn definition(&self) -> &Definition {
            &self.0
        }
        fn kind(&self, _args: &Value) -> CallKind {
            CallKind::Once
        }
        fn concurrency(&self, _args: &Value) -> Concurrency {
            Concurrency::Exclusive
        }
        fn timeout_ms(&self, _args: &Value) -> u64 {
            1_000
        }
        fn runs_programs(&self, _args: &Value) -> bool {
            true
        }
        fn effects(&self, _args: &Value, place: &Place, _facts: &Facts) -> Foreseen {
            Foreseen::of(vec![checkrein_contract::Effect::read(format!("{}/a", place.root))])
        }
        fn run<'a>(
            &'a self,
            _approved: &'a Approved,
            _context: RunContext<'a>,
        ) -> BoxFuture<'a, Result<Value, Failure>> {
            Box::pin(async { Ok(json!("ran")) })
        }
        fn render(&self, _args: &Value, _value: &Value) -> Result<Shown, String> {
            Ok(Shown::default())
        }
    }
    let definition = Definition {
        name: "program".to_owned(),
        description: "Runs a program.".to_owned(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output: json!({}),
        implementation: Value::Null,
        host_only: false,
    };
    let mut world = World::new();
    world.offered.insert("program".to_owned());
    world.gate.registry.add_any(Arc::new(Program(definition))).unwrap();
    let judged = world.judge("program", "{}").await.unwrap();
    assert_eq!((judged.decision().verdict, judged.decision().code), (Verdict::Ask, Code::AskUnconfined));
    world.unconfined_allowed = true;
    assert_eq!(world.judge("program", "{}").await.unwrap().decision().verdict, Verdict::Allow);
    world.unconfined_allowed = false;
    world.gate.sandbox = Arc::new(NoPrograms { confines: true });
    assert_eq!(world.judge("program", "{}").await.unwrap().decision().verdict, Verdict::Allow);
}

fn word() -> impl Strategy<Value = Before> {
    prop_oneof![Just(Before::Continue), Just(Before::Ask("ask".to_owned())), Just(Before::Deny("deny".to_owned())),]
}

proptest! {
    /// Shows R81, R82: a permissive hook and a refusing guard in either order deny; more hooks and guards never allow more.
    #[test]
    fn later_stages_only_narrow(words in prop::collection::vec(word(), 0..4), guards in 0_usize..3, swap: bool, amount in 1_u32..200) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let arguments = json!({"order": "o-1", "amount": amount}).to_string();
        let base = runtime.block_on(World::new().judge("pay", &arguments)).unwrap().decision().verdict;
        let mut world = World::new();
        for word in &words {
            world = world.hook(Says(word.clone()));
        }
        for _ in 0..guards {
            world = world.guard(Refuses("no"));
        }
        if swap {
            world.gate.guards.reverse();
            world.gate.hooks.reverse();
        }
        let verdict = runtime.block_on(world.judge("pay", &arguments)).unwrap().decision().verdict;
        let expected = words.iter().map(|word| match word {
            Before::Ask(_) => Verdict::Ask,
            Before::Deny(_) => Verdict::Deny,
            Before::Continue | Before::Change(_) => Verdict::Allow,
        }).chain((guards > 0).then_some(Verdict::Deny)).fold(base, Verdict::max);
        prop_assert_eq!(verdict, expected);
        runtime.block_on(world.call("pay", &arguments));
        prop_assert_eq!(world.ran.count() > 0, expected == Verdict::Allow);
    }

    /// Shows R58: whatever arguments come, there is an answer and no crash.
    #[test]
    fn any_arguments_get_an_answer(text in "\\PC{0,200}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut world = World::new();
        let finished = runtime.block_on(world.call("pay", &text));
        prop_assert!(finished.code.is_some());
        prop_assert_eq!(world.ran.count(), 0);
    }
}

/// Whoever says yes here.
fn dana() -> checkrein_contract::Actor {
    checkrein_contract::Actor::Person("dana".to_owned())
}
