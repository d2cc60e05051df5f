//! The fold from outside: which events follow from which, and where each of them leads. No driver, no model, no clock.

mod compaction;
mod deferred;
mod instructions;
mod kept;
mod lanes;
mod ledger;
mod recompose;
mod support;

use checkrein_contract::{
    Answer, ApprovalId, Body, Budget, CallId, CallKind, Check, CheckRound, Code, Digest, FinishedAs, HookNote, Limit,
    Message, ProposalKind, SessionChange, Settlement, Skill, Status, Stop, StopOn, Usage,
};
use checkrein_gate::Registry;
use checkrein_session::tools::{Access, SessionReply, Wanted, registered, session_tool};
use checkrein_session::{Next, State, recover};
use checkrein_testkit::World;
use serde_json::json;
use support::{Everything, Log, allowed, call, checks, finished, opened, reply, request, session};

fn stop(status: Status, code: Code) -> Body {
    Body::Stop(Stop { status, code, reason: "r".to_owned(), limit: None })
}

/// A journal that does not begin with a session, and one that begins twice, is no session.
#[test]
fn a_session_begins_once_and_first() {
    assert!(State::fold([]).unwrap_err().to_string().contains("the session has no events"));
    let log = Log::of(vec![request(1, 1)]);
    assert!(log.error().contains("a session begins with a `session` event"));
    let log = Log::of(vec![session(opened()), session(opened())]);
    assert!(log.error().starts_with("event 2 does not follow from those before it: a session begins once"));
    let mut log = Log::of(vec![session(opened()), request(1, 1)]);
    log.0[1].seq = 3;
    assert!(log.error().contains("its number should be 2"));
}

/// Shows I5: whatever does not follow from the events before it is refused, each with the reason.
#[test]
fn what_does_not_follow_is_refused() {
    let calls = vec![request(1, 1), reply(ProposalKind::Calls, vec![call("c1-1", "read")])];
    let with = |more: Body| [calls.clone(), vec![more]].concat();
    let approval = ApprovalId::new("a1");
    let started = Body::Started {
        call: CallId::new("c1-1"),
        tool: "read".to_owned(),
        kind: CallKind::Pure,
        approval: Some(approval.clone()),
        key: Digest::of(b"k"),
    };
    let interrupted = stop(Status::Cancelled, Code::Interrupted);
    let cases: Vec<(Vec<Body>, &str)> = vec![
        (vec![finished("c1-1", "read", FinishedAs::Ok, None)], "no call is on its way, so not c1-1 either"),
        (with(finished("c9-9", "read", FinishedAs::Ok, None)), "c9-9 is no call of this proposal"),
        (with(request(2, 1)), "a request while calls are on their way"),
        (vec![reply(ProposalKind::Answer, vec![])], "a reply without a request"),
        (vec![Body::Check(CheckRound { round: 1, calls: vec![] })], "checks come after an answer"),
        (
            vec![Body::Approval { id: approval, answer: Answer::Denied { reason: "no".to_owned() } }],
            "nobody asked for approval a1",
        ),
        (with(started), "there is no approval a1"),
        (with(settled("c1-1", Settlement::Done)), "what became of c1-1 is no question"),
        (with(settled("c9-9", Settlement::Done)), "c9-9 is no call of this proposal"),
        (vec![interrupted.clone(), interrupted], "the session has stopped already"),
        (
            vec![stop(Status::Failed, Code::MalformedReplies), Body::Resumed { harness: "0".to_owned() }],
            "the session ended as failed and can not be resumed",
        ),
    ];
    for (bodies, expected) in cases {
        let error = Log::of([vec![session(opened())], bodies].concat()).error();
        assert!(error.contains(expected), "{expected} in {error}");
    }
}

fn settled(call: &str, settlement: Settlement) -> Body {
    Body::Settled { call: CallId::new(call), settlement, note: String::new() }
}

/// What was started once is a person's to settle, one call at a time, and only once; what may be repeated is not.
#[test]
fn a_lost_call_is_settled_once() {
    let start = |call: &str, kind| Body::Started {
        call: CallId::new(call),
        tool: "pay".to_owned(),
        kind,
        approval: None,
        key: Digest::of(b"k"),
    };
    let both = || {
        let mut calls = vec![call("c1-1", "pay"), call("c1-2", "pay")];
        calls.iter_mut().for_each(|call| call.parallel = true);
        vec![session(opened()), request(1, 1), reply(ProposalKind::Calls, calls)]
    };
    let open = |bodies: &[Body]| -> Vec<String> {
        match Log::of(bodies.to_vec()).state().next(0) {
            Next::Settle { calls } => calls.iter().map(|call| call.id.to_string()).collect(),
            _ => Vec::new(),
        }
    };
    let mut bodies = both();
    bodies.extend([start("c1-1", CallKind::Once), start("c1-2", CallKind::Once)]);
    assert_eq!(open(&bodies), ["c1-1", "c1-2"]);
    bodies.push(settled("c1-1", Settlement::Done));
    assert_eq!(open(&bodies), ["c1-2"]);
    let twice = Log::of([bodies.clone(), vec![settled("c1-1", Settlement::Failed)]].concat()).error();
    assert!(twice.contains("what became of c1-1 is no question"), "{twice}");
    let ends = recover(&Log::of(bodies.clone()).state());
    assert_eq!(ends.iter().map(|end| end.call.as_str()).collect::<Vec<_>>(), ["c1-1"]);
    bodies.push(settled("c1-2", Settlement::Repeat));
    bodies.push(finished("c1-1", "pay", FinishedAs::Ok, None));
    let Next::Decide { calls, .. } = Log::of(bodies).state().next(0) else { panic!("it is decided again") };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1-2"]);
    for kind in [CallKind::Pure, CallKind::Idempotent] {
        let bodies = [both(), vec![start("c1-1", kind), start("c1-2", kind)]].concat();
        assert!(open(&bodies).is_empty() && recover(&Log::of(bodies).state()).is_empty(), "{kind:?}");
    }
}

fn lost(retry: bool) -> Body {
    Body::RequestFailed { turn: 1, code: Code::ProviderFailed, reason: "refused".to_owned(), retry, usage: None }
}

fn stops(next: Next) -> Stop {
    match next {
        Next::Stop(stop) => stop,
        other => panic!("it stops, not {other:?}"),
    }
}

/// A request that failed is charged as estimated; it is tried again as the next attempt, or it ends the session.
#[test]
fn a_failed_request_is_charged_and_tried_again_or_ends_the_session() {
    let again = Log::of(vec![session(opened()), request(1, 1), lost(true)]).state();
    assert_eq!((again.next(0), again.next_attempt()), (Next::Request, 2));
    assert_eq!(again.spend().usage, Usage { input: 100, output: 0, estimated: true, ..Usage::default() });
    let over = Log::of(vec![session(opened()), request(1, 1), lost(false)]).state();
    let stop = stops(over.next(0));
    assert_eq!((stop.status, stop.code, stop.reason.as_str()), (Status::Failed, Code::ProviderFailed, "refused"));
    assert_eq!(over.spend().usage.input, 100);
}

/// The failure of a last request does not change why the session ends.
#[test]
fn the_last_request_of_a_budget_may_fail() {
    let mut last = request(1, 1);
    if let Body::Request { last, .. } = &mut last {
        *last = Some(Limit::Tokens);
    }
    let state = Log::of(vec![session(opened()), last, lost(false)]).state();
    let stop = stops(state.next(0));
    assert_eq!((stop.status, stop.limit), (Status::BudgetExhausted, Some(Limit::Tokens)));
    assert_eq!(stop.reason, "the budget for tokens is spent");
}

/// Each limit stands against one more request, and the first one that does is named.
#[test]
fn every_limit_makes_a_request_the_last() {
    let last = |change: fn(&mut Budget), now: u64| {
        let mut opened = opened();
        change(&mut opened.budget);
        Log::of(vec![session(opened)]).state().plan(&Everything, now).last
    };
    assert_eq!(last(|_| (), 0), None);
    assert_eq!(last(|budget| budget.steps = 0, 0), Some(Limit::Steps));
    assert_eq!(last(|budget| budget.calls = 0, 0), Some(Limit::Calls));
    assert_eq!(last(|budget| budget.tokens = 64, 0), Some(Limit::Tokens));
    assert_eq!(last(|budget| budget.seconds = 1, 999), None);
    assert_eq!(last(|budget| budget.seconds = 1, 1_000), Some(Limit::Seconds));
}

fn after(stop_on: Vec<StopOn>, ends: &[(FinishedAs, Code)]) -> Next {
    let mut opened = opened();
    opened.stop_on = stop_on;
    let ids: Vec<String> = (1..=ends.len()).map(|number| format!("c1-{number}")).collect();
    let calls = ids.iter().map(|id| call(id, "read")).collect();
    let mut bodies = vec![session(opened), request(1, 1), reply(ProposalKind::Calls, calls)];
    bodies.extend(ids.iter().zip(ends).map(|(id, (how, code))| finished(id, "read", *how, Some(*code))));
    Log::of(bodies).state().next(0)
}

/// A task may ask that a refusal or a failure ends the run; each ends it only where it was asked for.
#[test]
fn a_refusal_or_a_failure_ends_the_run_where_the_task_says_so() {
    let denied = [(FinishedAs::Refused, Code::Denied)];
    let malformed = [(FinishedAs::Refused, Code::InvalidArgs)];
    let failed = [(FinishedAs::Failed, Code::ToolTimeout)];
    let unknown = [(FinishedAs::Unknown, Code::ToolOutcomeUnknown)];
    for ends in [denied, malformed, failed, unknown] {
        assert_eq!(after(vec![], &ends), Next::Request, "{ends:?}");
    }
    let blocked = stops(after(vec![StopOn::Deny], &denied));
    assert_eq!((blocked.status, blocked.code), (Status::Blocked, Code::StoppedOnDeny));
    assert_eq!(blocked.reason, "a call of `read` was refused (DENIED)");
    assert_eq!(after(vec![StopOn::Error], &denied), Next::Request);
    for ends in [malformed, failed, unknown] {
        assert_eq!(after(vec![StopOn::Deny], &ends), Next::Request, "{ends:?}");
        let failed = stops(after(vec![StopOn::Error], &ends));
        assert_eq!((failed.status, failed.code), (Status::Failed, Code::StoppedOnError), "{ends:?}");
    }
}

/// The same call failing over and over ends the session.
#[test]
fn the_same_call_failing_over_and_over_ends_the_session() {
    let failed = (FinishedAs::Failed, Code::ToolFailed);
    let stop = stops(after(vec![], &[failed; 6]));
    assert_eq!((stop.status, stop.code), (Status::Failed, Code::RepeatedFailure));
    assert_eq!(stop.reason, "the same call of `read` failed 6 times in a row");
    assert_eq!(after(vec![], &[failed; 5]), Next::Request);
}

/// A check that fails gives the model its text and another try; the third time it ends the session.
#[test]
fn checks_are_repaired_twice_and_then_fail_the_session() {
    let mut opened = opened();
    opened.verify = vec![Check::File { file: "a".to_owned(), contains: "b".to_owned() }];
    let mut bodies = vec![session(opened.clone())];
    for round in 1..=3 {
        bodies.extend([request(round, 1), reply(ProposalKind::Answer, vec![])]);
        let answered = Log::of(bodies.clone()).state();
        assert_eq!(answered.next(0), Next::Check { round, checks: opened.verify.clone() });
        bodies.extend(checks(round, Some(Code::ToolFailed)));
        let state = Log::of(bodies.clone()).state();
        assert_eq!(state.rounds(), round);
        if round < 3 {
            assert_eq!(state.next(0), Next::Request);
            let said = format!("{:?}", state.messages().last());
            assert!(said.contains("harness: true") && said.contains("1 of 1 checks failed"), "{said}");
            assert!(said.contains("\\nthe file does not hold it\\nat all"), "{said}");
        }
    }
    let stop = stops(Log::of(bodies.clone()).state().next(0));
    assert_eq!((stop.status, stop.code), (Status::Failed, Code::VerifyFailed));
    assert_eq!(stop.reason, "1 of 1 checks failed, 3 times: the file does not hold it");
    bodies.truncate(bodies.len() - 2);
    bodies.extend(checks(3, None));
    let stop = stops(Log::of(bodies).state().next(0));
    assert_eq!((stop.status, stop.code), (Status::Completed, Code::Done));
}

/// A reply that is nothing is answered by the harness, keeps its words, and three in a row end the session.
#[test]
fn replies_that_are_nothing_are_bounded() {
    let mut bodies = vec![session(opened())];
    for turn in 1..=2 {
        bodies.extend([request(turn, 1), reply(ProposalKind::Malformed, vec![])]);
        let state = Log::of(bodies.clone()).state();
        assert_eq!(state.next(0), Next::Request);
        let said: Vec<String> = state.messages().iter().rev().take(2).map(|message| format!("{message:?}")).collect();
        assert!(said[0].contains("Your reply could not be used") && said[0].contains("REPLY_TRUNCATED"), "{said:?}");
        assert!(said[1].contains("half a sent"), "{said:?}");
    }
    bodies.extend([request(3, 1), reply(ProposalKind::Malformed, vec![])]);
    let stop = stops(Log::of(bodies).state().next(0));
    assert_eq!((stop.status, stop.code), (Status::Failed, Code::MalformedReplies));
}

/// A hook's note changes nothing of the fold, and a stop while a reply is awaited may be gone on from.
#[test]
fn a_stop_while_a_reply_is_awaited() {
    let id = CallId::new("c1-1");
    let note = Body::Hook(HookNote { call: id, old: json!({}), new: json!({ "a": 1 }) });
    let bodies = vec![session(opened()), note, request(1, 1), stop(Status::Cancelled, Code::Interrupted)];
    let stopped = Log::of(bodies.clone()).state();
    assert!(matches!(stopped.next(0), Next::Stopped(_)));
    assert_eq!(stopped.spend().usage.input, 100, "the reply that never came is charged");
    let resumed = Log::of([bodies, vec![Body::Resumed { harness: "0".to_owned() }]].concat()).state();
    assert_eq!(resumed.next(0), Next::Request);
}

/// A session tool in a registry runs nothing by itself: the driver answers it, and a gate that is asked to fails.
#[tokio::test]
async fn a_session_tool_is_not_run_by_the_gate() {
    let mut registry = Registry::new();
    registry.add_any(registered(session_tool("ask_user").expect("there is one"))).unwrap();
    let mut world = World::new(registry, "version = 1", opened().place);
    let finished = world.call("ask_user", "{\"question\": \"Which?\"}").await;
    assert_eq!((finished.ended, finished.code), (FinishedAs::Failed, Some(Code::ToolFailed)), "{}", finished.text);
    assert!(finished.text.contains("the driver answers this tool"), "{}", finished.text);
}

/// What was never driven to an end reports itself as interrupted.
#[test]
fn a_session_without_a_stop_was_interrupted() {
    let outcome = Log::of(vec![session(opened())]).state().outcome(Digest::of(b"head"), 0);
    assert_eq!((outcome.status, outcome.code), (Status::Cancelled, Code::Interrupted));
    assert_eq!((outcome.workspace.as_str(), outcome.steps, outcome.answer), ("/srv/shop", 0, None));
}

fn skill(name: &str, tools: &[&str]) -> Skill {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    Skill { name: name.to_owned(), description: "d".to_owned(), tools, body: "Do it so.".to_owned() }
}

/// A tool of a skill is on offer from its loading on; one that two skills name, from the first of them on.
#[test]
fn a_skill_reveals_its_tools() {
    let mut opened = opened();
    opened.skills = vec![skill("ship", &["parcel", "label"]), skill("return", &["label"]), skill("style", &[])];
    let mut bodies = vec![session(opened), request(1, 1), reply(ProposalKind::Skill, vec![call("c1-1", "load_skill")])];
    let state = Log::of(bodies.clone()).state();
    assert_eq!(["read", "parcel", "label"].map(|tool| state.offers(tool)), [true, false, false]);
    let load = session_tool("load_skill").expect("there is one");
    assert_eq!(load.wanted(), Wanted::WithSkills);
    let answer = |name: &str| load.answer(&CallId::new("c1-1"), &json!({ "name": name }), &state);
    let SessionReply::Result { text, change } = answer("return") else { panic!("it is on the menu") };
    assert_eq!(text, "# Skill return\n\nDo it so.\n\nOn offer from now on: label.");
    assert_eq!(change, Some(SessionChange::SkillLoaded { skill: "return".to_owned() }));
    let SessionReply::Result { text, .. } = answer("style") else { panic!("it is on the menu") };
    assert!(text.ends_with("It brings no tools of its own."), "{text}");
    let message = "there is no skill `fly`; on the menu: ship, return, style".to_owned();
    assert_eq!(answer("fly"), SessionReply::Failed { code: Code::InvalidArgs, message });
    let unnamed = load.answer(&CallId::new("c1-1"), &json!({}), &state);
    assert!(matches!(unnamed, SessionReply::Failed { code: Code::InvalidArgs, .. }));
    let mut loaded = finished("c1-1", "load_skill", FinishedAs::Ok, None);
    if let Body::Finished(finished) = &mut loaded {
        finished.change = change;
    }
    bodies.push(loaded);
    let state = Log::of(bodies).state();
    assert_eq!(["read", "parcel", "label"].map(|tool| state.offers(tool)), [true, false, true]);
    assert_eq!(state.loaded().iter().collect::<Vec<_>>(), ["return"]);
}

/// A question waits for the person's words, and only for those that name its call.
#[test]
fn a_question_waits_for_words() {
    let ask = session_tool("ask_user").expect("there is one");
    let id = CallId::new("c1-1");
    let mut bodies = vec![session(opened()), request(1, 1), reply(ProposalKind::Calls, vec![call("c1-1", "ask_user")])];
    let args = json!({ "question": "Which?" });
    let before = Log::of(bodies.clone()).state();
    assert_eq!(before.waiting_for_input(), None, "it is not decided yet");
    assert!(before.is_waiting_for(&id) && !before.is_waiting_for(&CallId::new("c1-2")));
    bodies.push(allowed("c1-1", "ask_user"));
    let asked = Log::of(bodies.clone()).state();
    assert_eq!(asked.waiting_for_input(), Some(id.clone()));
    assert_eq!(ask.answer(&id, &args, &asked), SessionReply::AskPerson { question: "Which?".to_owned() });
    let wrong = ask.answer(&id, &json!({ "question": 1 }), &asked);
    assert!(matches!(wrong, SessionReply::Failed { code: Code::InvalidArgs, .. }));
    bodies.push(Body::Input { call: Some(id.clone()), text: "The red one.".to_owned() });
    let answered = Log::of(bodies.clone()).state();
    assert_eq!(answered.input_for(&id), Some("The red one."));
    let text = "The person answered: The red one.".to_owned();
    assert_eq!(ask.answer(&id, &args, &answered), SessionReply::Result { text, change: None });
    bodies.push(finished("c1-1", "ask_user", FinishedAs::Ok, None));
    let over = Log::of(bodies).state();
    assert_eq!((over.waiting_for_input(), over.is_waiting_for(&id)), (None, false));
}

/// A part of the work is described before it is given away: what is wrong with it is told, and nobody's words are awaited.
#[test]
fn a_part_of_the_work_is_described_in_full() {
    let task = session_tool("task").expect("there is one");
    let id = CallId::new("c1-1");
    let bodies = vec![
        session(opened()),
        request(1, 1),
        reply(ProposalKind::Calls, vec![call("c1-1", "task")]),
        allowed("c1-1", "task"),
    ];
    let state = Log::of(bodies).state();
    assert_eq!(state.waiting_for_input(), None);
    for (args, said) in [
        (json!({ "may": "work" }), "missing field `prompt`"),
        (json!({ "prompt": "x", "within": ["a"] }), "`look` changes nothing"),
        (json!({ "prompt": "x", "may": "work", "within": ["../a"] }), "`../a` is no file or folder of the project"),
    ] {
        let SessionReply::Failed { code, message } = task.answer(&id, &args, &state) else { panic!("{args}") };
        assert!(code == Code::InvalidArgs && message.contains(said), "{message}");
    }
    let SessionReply::Delegate(given) = task.answer(&id, &json!({ "prompt": "x" }), &state) else {
        panic!("it is whole")
    };
    assert_eq!((given.prompt.as_str(), given.may, given.share), ("x", Access::Look, 50));
}

/// Words that answer no call are the person's next message.
#[test]
fn words_of_a_person_become_a_message() {
    let input = Body::Input { call: None, text: "And hurry.".to_owned() };
    let state = Log::of(vec![session(opened()), input]).state();
    assert_eq!(*state.messages()[1], Message::User { text: "And hurry.".to_owned(), harness: false });
    assert_eq!(state.place().root, "/srv/shop");
}
