//! Tools that requests only name: what is declared, what is found, and what the conversation shows of a call.

use std::sync::OnceLock;

use checkrein_contract::{
    Body, CallId, Message, ModelReply, ProposalKind, ProposedCall, RawCall, SessionChange, SessionOpened, Skill,
    StopReason, ToolSpec, Usage, estimate_spec,
};
use checkrein_gate::{Redactor, Registry};
use checkrein_session::tools::{SessionReply, Wanted, name_deferred, session_tool, session_tools};
use checkrein_session::{State, group_calls, proposal, raw_call};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Everything, Log, allowed, finished, opened, reply, request, session};

/// Something of a warehouse, in many words.
fn spec(name: &str, description: &str) -> ToolSpec {
    let parameters = json!({ "type": "object", "additionalProperties": false, "required": ["article"],
        "properties": { "article": { "type": "string", "description": "The number of the article. ".repeat(8) } } });
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// These tools, all of them deferred, beside one that is not; and what they are found and called with.
fn with(deferred: Vec<ToolSpec>, skills: Vec<Skill>) -> SessionOpened {
    let names: Vec<String> = deferred.iter().map(|spec| spec.name.clone()).collect();
    let follows = |wanted| matches!(wanted, Wanted::WithDeferred | Wanted::WithUndescribed);
    let own = session_tools().into_iter().filter(|tool| follows(tool.wanted()));
    let own = own.map(|tool| ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
    });
    let mut tools: Vec<ToolSpec> = deferred.into_iter().chain(own).chain([spec("read", "Read a file.")]).collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    name_deferred(&mut tools, &skills, &names);
    SessionOpened { tools, deferred: names, skills, ..opened() }
}

fn warehouse() -> Vec<ToolSpec> {
    let verbs = ["count", "move", "list", "order", "label", "weigh", "audit", "reserve"];
    let things = ["article", "pallet", "shelf", "parcel", "carrier"];
    let all = verbs.iter().flat_map(|verb| things.iter().map(move |thing| (verb, thing)));
    let five = all.flat_map(|(verb, thing)| ["north", "south", "east", "west", "main"].map(|site| (verb, thing, site)));
    five.map(|(verb, thing, site)| {
        let said = format!("{verb} a {thing} of the {site} warehouse. {}", "It writes to the ledger. ".repeat(6));
        spec(&format!("{site}_{verb}_{thing}"), &said)
    })
    .collect()
}

fn found(args: &Value, state: &State) -> String {
    let finder = session_tool("find_tools").expect("there is one");
    match finder.answer(&CallId::new("c1-1"), args, state) {
        SessionReply::Result { text, change: None } => text,
        other => panic!("{other:?}"),
    }
}

/// The tools that lines of an answer describe.
fn described(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line.get("tool")?.as_str().map(str::to_owned)).collect()
}

/// Shows R39: two hundred tools cost less than 2,000 tokens in every request, whatever they would cost described, and each is
/// named; two requests say the same of them.
#[test]
fn two_hundred_are_named_and_not_described() {
    let all = warehouse();
    assert_eq!(all.len(), 200);
    let dear: u64 = all.iter().map(estimate_spec).sum();
    let state = Log::of(vec![session(with(all.clone(), Vec::new()))]).state();
    let declared = state.specs_on_offer();
    let names: Vec<&str> = declared.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["call_tool", "find_tools", "read"]);
    let cost: u64 = declared.iter().filter(|spec| spec.name != "read").map(estimate_spec).sum();
    assert!(cost < 2_000 && dear > 20_000, "{cost} instead of {dear}");
    let finder = &declared[1].description;
    assert!(all.iter().all(|spec| finder.contains(&spec.name)), "{finder}");
    assert_eq!(state.specs_on_offer(), declared);
}

/// Shows R39: what is looked up by name is shown whole; what there is not, and what a skill still hides, are the same answer.
#[test]
fn what_is_looked_up_by_name() {
    let skill = Skill {
        name: "audits".to_owned(),
        description: "How to audit a warehouse.".to_owned(),
        tools: vec!["north_audit_shelf".to_owned()],
        body: "Look.".to_owned(),
    };
    let opened = with(warehouse(), vec![skill]);
    let finder = opened.tools.iter().find(|spec| spec.name == "find_tools").expect("it is on offer");
    assert!(!finder.description.contains("north_audit_shelf"), "the skill names what it reveals");
    let state = Log::of(vec![session(opened)]).state();
    let text =
        found(&json!({ "names": ["north_move_pallet", "read", "norht_move_pallet", "north_audit_shelf"] }), &state);
    assert_eq!(described(&text), ["north_move_pallet"]);
    let whole = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok()).expect("a line of JSON");
    assert_eq!(whole["args"], spec("x", "x").parameters);
    assert!(text.contains("Described to you already, to be called by its own name: `read`."), "{text}");
    let unknown = text.lines().last().expect("a line");
    assert!(unknown.contains("`norht_move_pallet` (there is north_move_pallet"), "{unknown}");
    assert!(
        unknown.contains("`north_audit_shelf` (there is ") && !unknown.contains("is north_audit_shelf"),
        "{unknown}"
    );
    let mut loaded = finished("c1-1", "load_skill", checkrein_contract::FinishedAs::Ok, None);
    if let Body::Finished(finished) = &mut loaded {
        finished.change = Some(SessionChange::SkillLoaded { skill: "audits".to_owned() });
    }
    let call = ProposedCall { tool: "load_skill".to_owned(), ..crate::support::call("c1-1", "load_skill") };
    let opened = state.opened().clone();
    let load = session_tool("load_skill").expect("there is one");
    let SessionReply::Result { text, .. } = load.answer(&call.id, &json!({ "name": "audits" }), &state) else {
        panic!("it is on the menu")
    };
    assert!(text.ends_with("`find_tools` describes, and `call_tool` calls."), "{text}");
    let bodies = vec![session(opened), request(1, 1), reply(ProposalKind::Skill, vec![call]), loaded];
    let then = Log::of(bodies).state();
    assert_eq!(described(&found(&json!({ "names": ["north_audit_shelf"] }), &then)), ["north_audit_shelf"]);
    assert_eq!(then.specs_on_offer(), state.specs_on_offer(), "a skill that is loaded moves nothing either");
}

/// Shows R39: words find what is called so before what is described so, tools and skills alike, and no more than can be read;
/// what was left out is named.
#[test]
fn what_is_looked_up_by_words() {
    let skill = Skill {
        name: "pallets".to_owned(),
        description: "How to stack.".to_owned(),
        tools: Vec::new(),
        body: String::new(),
    };
    let state = Log::of(vec![session(with(warehouse(), vec![skill]))]).state();
    let text = found(&json!({ "query": "Weigh a PALLET, south!" }), &state);
    assert_eq!(described(&text).first().map(String::as_str), Some("south_weigh_pallet"));
    assert_eq!(described(&text).len(), 5);
    let skills = found(&json!({ "query": "stack pallets" }), &state);
    assert!(skills.starts_with("{\"skill\":\"pallets\",") || skills.contains("\n{\"skill\":\"pallets\","), "{skills}");
    assert!(skills.contains("Load a skill of these with `load_skill`."), "{skills}");
    assert_eq!(found(&json!({ "query": "zebra" }), &state), "Nothing fits \"zebra\". Try other words, or fewer.");
    let long: Vec<ToolSpec> = (0..9).map(|n| spec(&format!("long_{n}"), &"word ".repeat(1_000))).collect();
    let state = Log::of(vec![session(with(long, Vec::new()))]).state();
    let names: Vec<String> = (0..9).map(|n| format!("long_{n}")).collect();
    let text = found(&json!({ "names": names, "query": "long" }), &state);
    assert_eq!(described(&text).len(), 2);
    assert!(text.len() < 20_000 && text.contains("not shown for length: long_2, long_3, "), "{}", text.len());
    let nothing = session_tool("find_tools").expect("there is one").answer(&CallId::new("c"), &json!({}), &state);
    assert!(matches!(nothing, SessionReply::Failed { .. }));
}

fn said(tool: &str, arguments: &str) -> ModelReply {
    ModelReply {
        text: String::new(),
        calls: vec![RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() }],
        stop: StopReason::Calls,
        usage: None,
        virtual_ms: 0,
        provider: Value::Null,
    }
}

/// Shows R39: the journal has the tool that is meant; the conversation has what was said, call and result alike, and a
/// journal that is read again says both. By its own name it may be called as well.
#[test]
fn the_conversation_shows_what_was_said() {
    let opened = with(warehouse(), Vec::new());
    let mut state = Log::of(vec![session(opened.clone()), request(1, 1)]).state();
    let wrapped = r#"{"tool": "main_move_shelf", "args": "{\"article\": \"a-1\"}"}"#;
    for (tool, arguments, shown) in [
        ("call_tool", wrapped, json!({ "tool": "main_move_shelf", "args": "{\"article\": \"a-1\"}" })),
        ("main_move_shelf", r#"{"article": "a-1"}"#, json!({ "article": "a-1" })),
    ] {
        let reply = said(tool, arguments);
        let calls = group_calls(1, &reply, &Registry::new(), &state);
        assert_eq!((calls[0].tool.as_str(), &calls[0].args), ("main_move_shelf", &json!({ "article": "a-1" })));
        let again: Value = serde_json::from_str(&raw_call(&calls[0]).arguments).unwrap();
        assert_eq!((raw_call(&calls[0]).tool.as_str(), &again), (tool, &shown));
        let body = proposal(1, &reply, calls, Usage::default(), &Redactor::default());
        let line = serde_json::to_string(&body).unwrap();
        let bodies = vec![
            session(opened.clone()),
            request(1, 1),
            serde_json::from_str(&line).unwrap(),
            allowed("c1-1", "main_move_shelf"),
            finished("c1-1", "main_move_shelf", checkrein_contract::FinishedAs::Ok, None),
        ];
        let after = Log::of(bodies).state();
        let [.., asked, answered] = after.messages() else { panic!("a call and its result") };
        let Message::Assistant { calls, .. } = &**asked else { panic!("{asked:?}") };
        let Message::Tool { results } = &**answered else { panic!("{answered:?}") };
        assert_eq!((calls[0].tool.as_str(), &calls[0].args), (tool, &shown));
        assert_eq!(results[0].tool, tool, "a wire that pairs them by name pairs them");
        let outcome = after.outcome(checkrein_contract::Digest::of(b"head"), 0);
        assert_eq!(outcome.tool_runs.keys().collect::<Vec<_>>(), ["main_move_shelf"]);
    }
    let before = state.plan(&Everything, 0);
    assert_eq!(state.plan(&Everything, 0).shown, before.shown);
}

/// Shows R39: where nothing is deferred, a tool that somebody calls `call_tool` is that tool.
#[test]
fn nothing_is_unwrapped_where_nothing_is_deferred() {
    let state = Log::of(vec![session(opened())]).state();
    let calls = group_calls(1, &said("call_tool", r#"{"tool": "read", "args": {}}"#), &Registry::new(), &state);
    assert_eq!((calls[0].tool.as_str(), &calls[0].through), ("call_tool", &None));
}

proptest! {
    /// Shows R39: whatever is looked up, the answer has a bound, and describes nothing that is hidden.
    #[test]
    fn whatever_is_looked_up(query in "\\PC{0,300}", names in prop::collection::vec("\\PC{0,80}", 0..20)) {
        static STATE: OnceLock<State> = OnceLock::new();
        let state = STATE.get_or_init(|| Log::of(vec![session(with(warehouse(), Vec::new()))]).state());
        let finder = session_tool("find_tools").expect("there is one");
        let reply = finder.answer(&CallId::new("c1-1"), &json!({ "query": query, "names": names }), state);
        if let SessionReply::Result { text, .. } = reply {
            prop_assert!(text.len() < 30_000, "{}", text.len());
        }
    }
}
