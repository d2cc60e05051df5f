//! What the model sees, turn by turn.

use checkrein::contract::{Message, Status};
use serde_json::json;

use crate::support::{Rig, calls, text};

/// Shows R76, R119-R123, R125, R130, R195, R196: the assistant's message comes before its results, each result carries the id of
/// its call, results of one turn come back together, each request extends the one before, and later turns do not reach
/// back into copies of earlier ones.
#[tokio::test]
async fn each_request_extends_the_one_before() {
    let note = |word: &str| ("probe", json!({ "what": "note", "word": word }));
    let rig = Rig::new(vec![calls(&[note("a"), note("b")]), calls(&[("probe", json!({}))]), text("done")]);
    let outcome = rig.drive().await;
    assert_eq!((outcome.status, outcome.answer.as_deref()), (Status::Completed, Some("done")));
    let requests = rig.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.max_output_tokens > 0 && request.tools == requests[0].tools));
    for pair in requests.windows(2) {
        assert_eq!(pair[1].messages[..pair[0].messages.len()], pair[0].messages, "a request only ever grows");
    }
    let roles: Vec<_> = requests[2]
        .messages
        .iter()
        .map(|message| match message {
            Message::User { .. } => "user".to_owned(),
            Message::Assistant { calls, .. } => {
                format!("assistant {}", calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(" "))
            }
            Message::Tool { results } => {
                format!("tool {}", results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>().join(" "))
            }
        })
        .collect();
    assert_eq!(roles, ["user", "assistant c1-1 c1-2", "tool c1-1 c1-2", "assistant c2-1", "tool c2-1"]);
    let Some(Message::Tool { results }) = requests[2].messages.last() else { panic!("results come last") };
    assert!(results[0].is_error && results[0].text.contains("/what: is required"), "{}", results[0].text);
}

/// Shows R29, R40, R133: exactly three fields a tool, sorted by name, and nothing of the host's own tools.
#[tokio::test]
async fn tools_are_offered_in_one_order() {
    let rig = Rig::new(vec![text("done")]);
    rig.drive().await;
    let names: Vec<_> = rig.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        names,
        ["ask_user", "bash", "edit", "glob", "grep", "probe", "read", "task", "todo", "web_fetch", "write"]
    );
}
