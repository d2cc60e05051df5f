//! Cassettes from code: recorded with options of one session, played by naming the file as a model.

use std::net::SocketAddr;
use std::path::Path;

use checkrein::contract::{CassetteMode, Code, Status};
use checkrein::{Front, Harness, RunOptions, Task, serve, tool};
use checkrein_testkit::{Lab, Record, Scripted, assert_never_called};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"look\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"tool\"\ntool = \"stock\"\n";

#[derive(Deserialize, JsonSchema)]
struct Stock {
    /// The article.
    article: String,
}

fn shop(lab: &Lab, says: &'static str) -> checkrein::HarnessBuilder {
    let stock = tool("stock", "Says how many there are.", move |stock: Stock| async move {
        Ok::<_, String>(format!("{} of {}", says, stock.article))
    });
    lab.harness().tool(stock).policy(POLICY)
}

async fn record(harness: &Harness, file: &Path) {
    let options = RunOptions { record: Some(file.to_path_buf()), ..RunOptions::default() };
    let task = Task::from("How many mugs?");
    let outcome = harness.begin(&task, &options, Front::default()).unwrap().drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
}

/// Shows R191: a host records a session with a real wire, and its tests play the file by naming it, from any folder and without
/// a key; a tool that says something else is a miss.
#[tokio::test]
async fn a_host_records_a_session_and_plays_it() {
    let tapes = tempfile::tempdir().unwrap();
    let script = tapes.path().join("script.toml");
    let steps = "version = 1\n[[step]]\ncalls = [{ tool = \"stock\", args = { article = \"mugs\" } }]\n[[step]]\ntext = \"{{result.stock}}.\"\n";
    std::fs::write(&script, steps).unwrap();
    let tape = tapes.path().join("mugs.jsonl");
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = serve::bind(&script, any, Vec::new(), Box::new(|_| {})).await.unwrap();
    let model = format!("compatible:http://{}/v1#scripted", server.address());
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let recording = async {
        let lab = Lab::new();
        record(&shop(&lab, "four").model(model).build().unwrap(), &tape).await;
        end.send(()).unwrap();
    };
    tokio::join!(server.run(async { _ = ended.await }), recording);
    let text = std::fs::read_to_string(&tape).unwrap();
    assert!(text.contains("\"server\":\"loopback\"") && text.contains("\"body\":{\"text\":\"data: "), "{text}");
    let named = format!("replay:{}", tape.display());
    let lab = Lab::new();
    let harness = shop(&lab, "four").model(&named).build().unwrap();
    for _ in 0..2 {
        let outcome = harness.run("How many mugs?").await.unwrap();
        assert_eq!((outcome.status, outcome.answer.as_deref()), (Status::Completed, Some("four of mugs.")));
        let record = Record::of(&harness, &outcome.session);
        assert_eq!(record.calls_of("stock").len(), 1, "the tool ran");
    }
    let lab = Lab::new().with("mugs.jsonl", &text);
    let harness = shop(&lab, "five").model("replay:mugs.jsonl").build().unwrap();
    let outcome = harness.run("How many mugs?").await.unwrap();
    assert_eq!((outcome.status, outcome.code), (Status::Failed, Code::CassetteMiss), "{}", outcome.reason);
    assert!(outcome.reason.contains("now \"five of mugs\" (the result of stock, c1-1)"), "{}", outcome.reason);
    let missing = shop(&lab, "five").model("replay:none.jsonl").build().err().unwrap();
    assert!(missing.to_string().contains("none.jsonl"), "{missing}");
    let outcome = harness.run("How many cups?").await.unwrap();
    assert_never_called!(Record::of(&harness, &outcome.session), "stock");
}

/// A model of the host's own is recorded too, without bytes; the same options hold what it says against the file later.
#[tokio::test]
async fn a_model_of_the_host_is_recorded() {
    let tapes = tempfile::tempdir().unwrap();
    let tape = tapes.path().join("mugs.jsonl");
    let model = |answer: &str| Scripted::new().calls("stock", json!({ "article": "mugs" })).says(answer);
    let lab = Lab::new();
    record(&shop(&lab, "four").provider(model("Four.")).build().unwrap(), &tape).await;
    let verify = RunOptions { verify: Some(tape.clone()), ..RunOptions::default() };
    for (answer, code) in [("Four.", None), ("Five.", Some(Code::CassetteDiffers))] {
        let lab = Lab::new();
        let harness = shop(&lab, "four").provider(model(answer)).build().unwrap();
        let task = Task::from("How many mugs?");
        let mut session = harness.begin(&task, &verify, Front::default()).unwrap();
        assert_eq!(session.state().opened().cassette.as_ref().unwrap().mode, CassetteMode::Verify);
        let outcome = session.drive().await.unwrap();
        assert_eq!(Some(outcome.code).filter(|code| *code == Code::CassetteDiffers), code, "{}", outcome.reason);
    }
    // In code as at the prompt: never where nobody looks.
    let harness = shop(&lab, "four").model(format!("replay:{}", tape.display()));
    let harness = harness.environment([("CI".to_owned(), "1".to_owned())]).build().unwrap();
    let lenient = RunOptions { lenient: true, ..RunOptions::default() };
    let refused = harness.begin(&Task::from("How many mugs?"), &lenient, Front::default()).err().unwrap();
    assert!(refused.to_string().contains("`CI`"), "{refused}");
}
