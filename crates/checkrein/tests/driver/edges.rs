//! Hooks, guards, secrets and budgets as a host adds them, and the rule that the loop names no tool.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use checkrein::Observer;
use checkrein::contract::{Actor, Body, Code, Event, Limit, Status};
use checkrein::gate::hooks::Quota;
use checkrein::gate::{Guard, GuardView};
use serde_json::json;

use crate::support::{Rig, calls, text};

fn note(word: &str) -> (&'static str, serde_json::Value) {
    ("probe", json!({ "what": "note", "word": word }))
}

struct Closed;

impl Guard for Closed {
    fn name(&self) -> &str {
        "closed"
    }

    fn refuse(&self, view: &GuardView<'_>) -> Result<Option<String>, String> {
        Ok((view.call.args["word"] == "b").then(|| "not b".to_owned()))
    }
}

/// Shows R134, R152: hooks and guards are arguments; adding one changes nothing else.
#[tokio::test]
async fn a_host_adds_hooks_and_guards() {
    let mut rig = Rig::new(vec![calls(&[note("a")]), calls(&[note("b")]), calls(&[note("c")]), text("done")]);
    rig.harness.extensions.guards.push(Arc::new(Closed));
    rig.harness.extensions.hooks.push(Arc::new(Quota::new("probe", 2)));
    let outcome = rig.drive().await;
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a"], "b by the guard, c by the quota");
    let events = rig.events(&outcome.session);
    let codes: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Finished(finished) => finished.code,
            _ => None,
        })
        .collect();
    assert_eq!(codes, [Code::DeniedByGuard, Code::DeniedByHook]);
}

/// Watches the model's text and everything that is recorded.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<String>>);

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push_str(&serde_json::to_string(event).unwrap());
    }

    fn text(&mut self, piece: &str) {
        self.0.lock().unwrap().push_str(piece);
    }
}

/// Shows R164: a secret in the person's words, in arguments, in a reply or in a result reaches neither model, journal nor
/// terminal.
#[tokio::test]
async fn secrets_reach_nobody() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let rig = Rig::new(vec![
        calls(&[note(&secret), ("read", json!({ "file_path": "config.txt" }))]),
        text(&format!("the token is {secret} I think")),
    ]);
    fs::write(rig.project().join("config.txt"), format!("token={secret}\n")).unwrap();
    let mut task = rig.task();
    task.prompt = format!("Use {secret} to log in.");
    let watch = Watch::default();
    let outcome = rig.begin_watched(&task, Box::new(watch.clone())).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed);
    let seen = watch.0.lock().unwrap().clone() + &format!("{:?}", rig.requests());
    assert!(!seen.contains(&secret) && seen.contains("[redacted:github-pat]"));
    assert!(rig.probe.ran.lock().unwrap().is_empty(), "a call with a secret does not run");
    for entry in fs::read_dir(rig.folder.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
        }
    }
}

/// Shows R143, R145: calls beyond the budget are refused one by one, and the session stops before its next request.
#[tokio::test]
async fn calls_are_bounded() {
    let rig = Rig::new(vec![calls(&[note("a"), note("b"), note("c")]), text("I could do two.")]);
    let mut task = rig.task();
    task.budget.calls = 2;
    let outcome = rig.begin(&task).drive().await.unwrap();
    assert_eq!((outcome.status, outcome.limit), (Status::BudgetExhausted, Some(Limit::Calls)));
    assert_eq!(*rig.probe.ran.lock().unwrap(), ["a", "b"]);
    assert_eq!(outcome.answer.as_deref(), Some("I could do two."));
    let last = rig.requests().pop().unwrap();
    assert!(last.tools.is_empty(), "the last request offers no tool");
}

/// Shows R170: the journal credits the model with proposals and with nothing else.
#[tokio::test]
async fn only_proposals_are_the_models() {
    let rig = Rig::new(vec![calls(&[note("a")]), text("done")]);
    let outcome = rig.drive().await;
    for event in rig.events(&outcome.session) {
        assert_eq!(event.by == Actor::Model, matches!(event.body, Body::Proposal { .. }), "{event:?}");
    }
}

/// Shows R61, R62: the text is in the journal, the value it was rendered from is not.
#[tokio::test]
async fn values_stay_out_of_the_journal() {
    let rig = Rig::new(vec![calls(&[note("a")]), text("done")]);
    let outcome = rig.drive().await;
    let journal = serde_json::to_string(&rig.events(&outcome.session)).unwrap();
    assert!(journal.contains("a beside 0") && !journal.contains("\\\"beside\\\"") && !journal.contains("\"beside\":"));
}

/// Shows R113, R131: the line between what is trusted and what is checked is written down where the map is.
#[test]
fn the_trust_line_is_written_down() {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let map = fs::read_to_string(map).unwrap();
    let section = map.split("## What is trusted").nth(1).unwrap().split("## ").next().unwrap();
    for words in ["are trusted code", "is checked data", "executes tools on\nits own side"] {
        assert!(section.contains(words), "{words}");
    }
}

/// Shows R24-R26, R120, R126, R127: neither the gate, nor the session, nor the driver names a tool.
#[test]
fn the_loop_names_no_tool() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names: Vec<String> = checkrein::shipped_tools().unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(names.len() >= 7, "{names:?}");
    let mut looked_at = 0;
    for folder in ["checkrein-gate/src", "checkrein-session/src", "checkrein/src/driver"] {
        each_file(&crates.join(folder), &mut |path, source| {
            let below = path.strip_prefix(crates).unwrap();
            if below.components().any(|part| part.as_os_str() == "tools") {
                return;
            }
            looked_at += 1;
            // Tests inside a file may name what they like.
            let source = source.split("#[cfg(test)]").next().unwrap_or_default();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (number, line) in code.enumerate() {
                for name in names.iter().chain([&"verify".to_owned()]) {
                    assert!(
                        !line.contains(&format!("\"{name}\"")),
                        "{}: line {number} names `{name}`: {line}",
                        path.display()
                    );
                }
            }
        });
    }
    assert!(looked_at > 40, "{looked_at} files");
    let samples = ["if call.tool == \"bash\" {", "matches!(name, \"read\" | \"write\")"];
    assert!(
        samples.iter().all(|line| names.iter().any(|name| line.contains(&format!("\"{name}\"")))),
        "the test can fail"
    );
}

fn each_file(folder: &Path, look: &mut impl FnMut(&Path, String)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, look);
        } else {
            look(&path, fs::read_to_string(&path).unwrap());
        }
    }
}
