//! What is found out around a call, on the machine itself, and what of it the journal keeps.

use std::fs;

use checkrein::contract::{Body, BoxFuture, Effect, Event, Facts, Finding, Foreseen, Place, Question, Status};
use checkrein::gate::{Approved, Failure, Rendered, RunContext, Tool, Typed};
use checkrein::task::WorkspaceMode;
use checkrein::verify::verify_events;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Rig, calls, text};

/// Wants to know what a file is, and of one that is there whether it changed.
struct Looks;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Input {
    /// The file.
    file: String,
}

impl Tool for Looks {
    type Input = Input;
    type Output = String;
    const NAME: &'static str = "looks";
    const DESCRIPTION: &'static str = "Looks at a file.";

    fn effects(&self, input: &Input, place: &Place, facts: &Facts) -> Foreseen {
        let path = format!("{}/{}", place.root, input.file);
        let kind = Question::Kind { path: path.clone() };
        let mut foreseen = Foreseen::of(vec![Effect::read(path.clone()), Effect::read(path.clone())]);
        foreseen.parts = vec![0, 1];
        if facts.text(&kind) == Some("file") {
            foreseen.questions.push(Question::Changed { path });
        }
        foreseen.questions.push(kind);
        foreseen
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        input: Input,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(async move { Ok(input.file) })
    }

    fn render(&self, _input: &Input, output: &String) -> Rendered {
        Rendered::whole(output.clone())
    }

    fn examples() -> Vec<Value> {
        vec![json!({ "file": "a.txt" })]
    }
}

/// What the journal keeps of one kind of answer, in order.
fn answers(events: &[Event], wanted: impl Fn(&Question) -> bool) -> Vec<Option<Finding>> {
    let decisions = events.iter().filter_map(|event| match &event.body {
        Body::Decision { facts, .. } => Some(facts),
        _ => None,
    });
    let all = decisions.flat_map(|facts| facts.iter().filter(|(question, _)| wanted(question)).collect::<Vec<_>>());
    all.map(|(_, answer)| answer.cloned()).collect()
}

/// Answers lead to further questions, all of them are on record, and each decision can be computed from them again. What a
/// copied workspace began with is unchanged until the session writes it.
#[tokio::test]
async fn what_was_found_out_is_on_record() {
    let look = |file: &str| ("looks", json!({ "file": file }));
    let write = ("write", json!({ "file_path": "b.txt", "content": "new\n" }));
    let mut rig = Rig::new(vec![
        calls(&[look("a.txt")]),
        calls(&[look("b.txt")]),
        calls(&[write]),
        calls(&[look("b.txt"), look("a.txt")]),
        text("done"),
    ]);
    rig.harness.extensions.tools.push(Typed::new(Looks).shared());
    fs::write(rig.project().join("a.txt"), "old\n").unwrap();
    let mut task = rig.task();
    task.folder = Some(rig.project());
    task.workspace = WorkspaceMode::Copy;
    let outcome = rig.begin(&task).drive().await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
    let events = rig.events(&outcome.session);
    let kinds = answers(&events, |question| matches!(question, Question::Kind { .. }));
    assert_eq!(kinds, ["file", "none", "file", "file"].map(|word| Some(word.into())));
    let changed = answers(&events, |question| matches!(question, Question::Changed { .. }));
    assert_eq!(changed, ["unchanged", "changed", "unchanged"].map(|word| Some(word.into())));
    assert_eq!(verify_events(&outcome.session, &events).map(|_| ()), Ok(()));
}
