//! The facade and the testkit as a host uses them: built in code, tried with a scripted model, broken on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use checkrein::approvals::Word;
use checkrein::contract::{Body, Budget, Check, Code, Effect, ProviderFault, Status, Verdict};
use checkrein::gate::AnyTool;
use checkrein::gate::hooks::Quota;
use checkrein::{Catalogue, Front, Harness, HarnessError, ResumeOptions, Task, tool};
use checkrein_testkit::{Faults, Lab, Record, Scripted, assert_never_called};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order.
    order: String,
    /// Euros.
    amount: f64,
}

const POLICY: &str = r#"version = 1
[[rule]]
id = "own-orders"
decision = "deny"
reason = "a customer's own orders only"
effect = "tool"
tool = "refund"
where.order = { pattern = "x-.*" }
[[rule]]
id = "small"
decision = "allow"
reason = "up to 50 is ours to give"
effect = "tool"
tool = "refund"
where.amount = { max = 50 }
"#;

/// A tool that counts what it really did.
fn refund(done: &Arc<AtomicU32>) -> impl AnyTool + use<> {
    let done = Arc::clone(done);
    tool("refund", "Refunds an order.", move |refund: Refund| {
        done.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, String>(format!("{} euros for {}", refund.amount, refund.order)) }
    })
}

fn call(order: &str, amount: u32) -> Value {
    json!({ "order": order, "amount": amount })
}

fn shop(lab: &Lab, model: &Scripted, done: &Arc<AtomicU32>) -> Harness {
    lab.harness().tool(refund(done)).policy(POLICY).provider(model.clone()).build().unwrap()
}

/// Shows R134, R196, R198: a host says what its agent is made of, and its tests see what the model saw, what ran and what did
/// not.
#[tokio::test]
async fn an_agent_is_tried_without_a_model() {
    let (lab, done) = (Lab::new(), Arc::new(AtomicU32::new(0)));
    let model = Scripted::new()
        .calls_all([("refund", call("o-1", 20)), ("refund", call("x-1", 20))])
        .garbles("refund", "{\"order\": ")
        .says("20 euros are on their way.");
    let harness = shop(&lab, &model, &done);
    let task = Task::new("Refund o-1 and x-1.").on_behalf_of("customer", "c-1");
    let outcome = harness.run(task).await.unwrap();
    assert_eq!((outcome.status, done.load(Ordering::SeqCst)), (Status::Completed, 1));
    let record = Record::of(&harness, &outcome.session);
    let calls = record.calls_of("refund");
    let said: Vec<_> = calls.iter().map(|call| (call.verdict, call.started, call.code)).collect();
    let expected = [
        (Some(Verdict::Allow), true, None),
        (Some(Verdict::Deny), false, Some(Code::Denied)),
        (Some(Verdict::Deny), false, Some(Code::InvalidArgs)),
    ];
    assert_eq!(said, expected);
    assert_eq!(
        (calls[0].rules.clone(), calls[1].rules.clone()),
        (vec!["small".to_owned()], vec!["own-orders".to_owned()])
    );
    let args = json!({ "order": "o-1", "amount": 20 });
    assert_eq!(record.effects(), [Effect::Tool { tool: "refund".to_owned(), server: None, args }]);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].messages.len(), 1, "a copy: what came later is not in it");
    assert!(requests[0].tools.iter().all(|spec| spec.name == "refund"), "none of the tools that ship");
    assert!(serde_json::to_string(&requests[1]).unwrap().contains("20 euros for o-1"));
}

/// What is not allowed waits for a person; another process takes it up from the same folder.
#[tokio::test]
async fn a_question_outlives_the_harness() {
    let (lab, done) = (Lab::new(), Arc::new(AtomicU32::new(0)));
    let model = Scripted::new().calls("refund", call("o-1", 900)).says("Done.");
    let asked = shop(&lab, &model, &done).run("900 for o-1.").await.unwrap();
    assert_eq!((asked.status, done.load(Ordering::SeqCst)), (Status::NeedsApproval, 0));
    let harness = shop(&lab, &model, &done);
    assert_never_called!(Record::of(&harness, &asked.session), "refund");
    assert_eq!(harness.differences(&asked.session).unwrap(), [], "the same harness, so nothing is new");
    let listed = harness.approvals().unwrap();
    assert_eq!((listed.len(), &listed[0].request().id), (1, &asked.approvals[0]));
    harness.answer(&asked.approvals[0], "dana", &Word::Approve { for_ms: None }).unwrap();
    let again = harness.answer(&asked.approvals[0], "dana", &Word::Approve { for_ms: None });
    assert!(matches!(again, Err(HarnessError::Approval { code: Code::ApprovalDecided, .. })));
    let mut session = harness.resume(&asked.session, &ResumeOptions::default(), Front::default()).unwrap();
    assert_eq!((session.drive().await.unwrap().status, done.load(Ordering::SeqCst)), (Status::Completed, 1));
}

/// The same script gives the same transcript, byte for byte, in whatever folder.
#[tokio::test]
async fn two_runs_give_one_transcript() {
    let mut transcripts = Vec::new();
    for _ in 0..2 {
        let lab = Lab::new().with("a/notes.txt", "milk\n");
        let model = Scripted::new().calls("read", json!({ "file_path": "a/notes.txt" })).says("Milk.");
        let harness = lab.harness().shipped(["read"]).provider(model).home(lab.project()).build().unwrap();
        let task = Task::new("What do I need?")
            .within(Budget { steps: 3, ..Budget::default() })
            .checked(Check::File { file: "a/notes.txt".to_owned(), contains: "milk".to_owned() });
        let outcome = harness.run(task).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
        assert_eq!(lab.files().into_iter().collect::<Vec<_>>(), [("a/notes.txt".to_owned(), "milk\n".to_owned())]);
        transcripts.push(Record::of(&harness, &outcome.session).transcript());
    }
    assert_eq!(transcripts[0], transcripts[1]);
    assert!(transcripts[0].contains("\"type\":\"check\""));
}

/// What is wrong is said when the harness is built, with its place.
#[test]
fn mistakes_are_found_before_the_first_session() {
    let lab = Lab::new();
    let built = |harness: checkrein::HarnessBuilder| harness.build().err().map(|error| error.to_string());
    let done = Arc::default();
    let wrong_tool = POLICY.replace("\"refund\"", "\"refnud\"");
    let identity = POLICY.replace("{ max = 50 }", "{ equals = \"{identity.limit}\" }");
    let found = [
        built(lab.harness().tool(refund(&done)).policy("version = 1\nrules = 3\n")),
        built(lab.harness().tool(refund(&done)).policy(wrong_tool)),
        built(lab.harness().tool(refund(&done)).tool(refund(&done))),
        built(lab.harness().shipped(["raed"])),
        built(lab.harness().model("antropic:x")),
        built(lab.harness().model("anthropic:x").environment([("HOME".to_owned(), "/home/dev".to_owned())])),
        built(lab.harness().tool(refund(&done)).policy(identity)),
        built(lab.harness().tool(refund(&done)).policy(POLICY).models(Catalogue::default())),
    ];
    let told: Vec<String> = found.into_iter().map(|error| error.unwrap_or_else(|| "built".to_owned())).collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// What a host adds beside tools takes part; without a project sessions have a folder of their own, with nothing in it.
#[tokio::test]
async fn hooks_and_an_empty_folder() {
    let (lab, done) = (Lab::new(), Arc::new(AtomicU32::new(0)));
    let state = lab.project().join("state");
    let model = Scripted::new().calls("refund", call("o-1", 1)).calls("refund", call("o-2", 1)).says("One of two.");
    let store: Arc<dyn checkrein::journal::EventStore> = Arc::new(checkrein::journal::MemoryStore::default());
    let builder = Harness::builder(&state).tool(refund(&done)).policy(POLICY).provider(model).store(store);
    let harness =
        builder.hook(Quota::new("refund", 1)).guard(checkrein::gate::guards::RepeatedFailures).build().unwrap();
    let outcome = harness.run("Refund both.".to_owned()).await.unwrap();
    assert_eq!((outcome.status, done.load(Ordering::SeqCst)), (Status::Completed, 1));
    assert_eq!(std::fs::read_dir(&outcome.workspace).unwrap().count(), 0);
    assert!(!state.join("journal.db").exists(), "the journal is the one that was given");
    assert!(matches!(harness.run(" ").await, Err(HarnessError::Task(_))));
}

/// Shows R201: requests and tools fail on purpose, and the session says what came of it.
#[tokio::test]
async fn faults_strike_where_they_are_planned() {
    let script = || Scripted::new().calls("refund", call("o-1", 20)).says("Done.");
    let over = [
        (Faults::new().request(1, ProviderFault::Server), Status::Completed, 1, None),
        (Faults::new().request(2, ProviderFault::Broken).request(3, ProviderFault::Broken), Status::Completed, 1, None),
        (Faults::new().request(2, ProviderFault::Refused), Status::Failed, 1, None),
        (Faults::new().requests_from(1, ProviderFault::RateLimited), Status::Failed, 0, None),
        (Faults::new().tool("refund", 1), Status::Completed, 0, Some(Code::ToolFailed)),
        (Faults::new().tool_afterwards("refund", 1), Status::Completed, 1, Some(Code::ToolFailed)),
    ];
    for (faults, status, times, code) in over {
        let (lab, done, model) = (Lab::new(), Arc::new(AtomicU32::new(0)), script());
        let mut harness = shop(&lab, &model, &done);
        let armed = faults.clone().arm(&mut harness);
        let outcome = harness.run("Refund o-1.").await.unwrap();
        assert_eq!((outcome.status, done.load(Ordering::SeqCst)), (status, times), "{faults:?}: {}", outcome.reason);
        assert!(armed.all_met(), "{faults:?}");
        let ended = Record::of(&harness, &outcome.session).calls_of("refund");
        assert_eq!(ended.first().and_then(|call| call.code), code, "{faults:?}");
    }
}

/// Each write of the journal fails in turn, once or for good: nothing is done twice, and what is on record proves.
#[tokio::test]
async fn every_write_may_fail() {
    for full in [false, true] {
        for nth in 1.. {
            let (lab, done) = (Lab::new(), Arc::new(AtomicU32::new(0)));
            let model = Scripted::new().calls("refund", call("o-1", 20)).says("Done.");
            let mut harness = shop(&lab, &model, &done);
            let faults = if full { Faults::new().writes_from(nth) } else { Faults::new().write(nth) };
            let armed = faults.arm(&mut harness);
            let ended = harness.run("Refund o-1.").await;
            assert!(done.load(Ordering::SeqCst) <= 1);
            for row in harness.store.sessions().unwrap() {
                Record::of(&harness, &row.id);
            }
            if !armed.all_met() {
                assert!(ended.is_ok() && nth > 3, "write {nth}");
                break;
            }
            assert!(ended.is_err(), "write {nth}");
        }
    }
}

/// A script that does not fit the session fails it; so does a test that means another tool.
#[tokio::test]
async fn what_a_test_does_not_expect_does_not_pass() {
    for (model, code) in [
        (Scripted::new().calls("refund", call("o-1", 1)), Code::ScriptExhausted),
        (Scripted::new().says("a").says("b"), Code::ScriptUnused),
        (Scripted::new().fails(400), Code::ProviderFailed),
    ] {
        let (lab, done) = (Lab::new(), Arc::default());
        let harness = shop(&lab, &model, &done);
        let outcome = harness.run("Refund o-1.").await.unwrap();
        assert_eq!((outcome.status, outcome.code), (Status::Failed, code));
        let record = Record::of(&harness, &outcome.session);
        let misspelt = std::panic::catch_unwind(|| assert_never_called!(record, "refnud"));
        assert!(misspelt.is_err(), "there is no such tool");
        assert!(matches!(record.events[0].body, Body::Session(_)));
    }
}

/// What a host got wrong is an error when it builds, and never a rule, a tool or a model less.
#[tokio::test]
async fn nothing_of_the_host_is_lost_in_silence() {
    let (lab, done) = (Lab::new(), Arc::new(AtomicU32::new(0)));
    let model = Scripted::new().calls("refund", call("o-1", 20)).says("end");
    let no = POLICY.replace("id = \"small\"\ndecision = \"allow\"", "id = \"none\"\ndecision = \"deny\"");
    let harness = lab.harness().tool(refund(&done)).policy(POLICY).policy(no).provider(model.clone()).build().unwrap();
    let outcome = harness.run(Task::new("Refund o-1.")).await.unwrap();
    assert_never_called!(Record::of(&harness, &outcome.session), "refund");
    assert_eq!(done.load(Ordering::SeqCst), 0, "both policies count");

    let wrong =
        |builder: checkrein::HarnessBuilder| builder.build().err().map(|error| error.to_string()).unwrap_or_default();
    for own in ["task", "ask_user", "load_skill"] {
        let tool = tool(own, "The host's own.", |_: Refund| async { Ok::<_, String>(String::new()) });
        let said = wrong(lab.harness().tool(tool).provider(model.clone()));
        assert!(said.contains(&format!("`{own}` is a part of every session")), "{own}: {said}");
    }
    let said = wrong(lab.harness().project("/no/such/folder").provider(model.clone()));
    assert!(said.contains("/no/such/folder") && said.contains("no folder"), "{said}");
    let said = wrong(lab.harness().model("script:x.toml").provider(model));
    assert!(said.contains("say one of them"), "{said}");
}

/// A runtime that has no timers is told apart from a tool that is broken.
#[test]
#[should_panic(expected = "timers are disabled")]
fn a_runtime_without_timers_is_the_hosts_mistake() {
    let lab = Lab::new();
    let harness = shop(&lab, &Scripted::new().calls("refund", call("o-1", 20)).says("end"), &Arc::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    _ = runtime.block_on(harness.run(Task::new("Refund o-1.")));
}
