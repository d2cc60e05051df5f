//! The lane: every request says which conversation it belongs to, without anything that differs from run to run.

use checkrein_contract::{CallId, Lane, Parent, SessionId, SessionOpened, canonical_bytes};

use crate::support::{Everything, Log, opened, session};

fn parent(id: &str, number: u32, lane: Lane) -> SessionOpened {
    let parent = Parent { session: SessionId::new(id), call: CallId::new("c4-1"), number, lane };
    SessionOpened { parent: Some(parent), ..opened() }
}

#[test]
fn a_request_says_which_conversation_it_belongs_to() {
    let plan = |opened: SessionOpened| Log::of(vec![session(opened)]).state().plan(&Everything, 0);
    let main = plan(opened());
    assert_eq!(main.request.lane, Lane::main());
    let second = plan(parent("s-1", 2, Lane::main()));
    assert_eq!(second.request.lane.as_str(), "main/2");
    assert_eq!(plan(parent("s-7", 2, Lane::main())).request.lane, second.request.lane, "ids differ from run to run");
    assert_eq!(plan(parent("s-2", 1, Lane::main().child(2))).request.lane.as_str(), "main/2/1");
    // What the model sees is the same in every lane.
    assert_eq!(canonical_bytes(&main.request).unwrap(), canonical_bytes(&second.request).unwrap());
    assert_eq!(main.digest, second.digest);
}

/// Journals from before there were lanes have sub-sessions of the session itself only.
#[test]
fn the_lane_of_an_older_sub_session_is_known() {
    let mut text = serde_json::to_value(parent("s-1", 3, Lane::main())).unwrap();
    assert!(text["parent"].get("lane").is_none(), "it is written only where it says something");
    text["parent"]["lane"] = "main/2".into();
    let nested: SessionOpened = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(nested.lane().as_str(), "main/2/3");
    text["parent"].as_object_mut().unwrap().remove("lane");
    let older: SessionOpened = serde_json::from_value(text).unwrap();
    assert_eq!(older.lane().as_str(), "main/3");
}
