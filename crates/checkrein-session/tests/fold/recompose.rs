//! What changes in the middle of a session: a fork that begins, another place, other tools, words of a person.

use crate::support::{Log, allowed, call, finished, opened, reply, request, session};
use checkrein_contract::{
    ApprovalId, ApprovalRequest, Body, CallId, Code, Digest, Finished, FinishedAs, Forked, Identity, Message, Place,
    PolicySource, ProposalKind, Recomposed, SeenFile, SessionId, SessionOpened, Skill, Status, Stop, ToolSpec,
};
use checkrein_session::{Next, State};
use serde_json::{Value, json};

fn recomposed(change: Recomposed) -> Body {
    Body::Recomposed(Box::new(change))
}

fn forked() -> Body {
    recomposed(Recomposed { forked: true, ..Recomposed::default() })
}

fn words(text: &str) -> Body {
    Body::Input { call: None, text: text.to_owned() }
}

fn asked() -> Body {
    Body::Ask(Box::new(ApprovalRequest {
        id: ApprovalId::new("a1"),
        session: SessionId::new("s0"),
        call: CallId::new("c1-1"),
        tool: "write".to_owned(),
        arguments: json!({}),
        effects: Vec::new(),
        reason: "r".to_owned(),
        binds: Digest::of(b""),
        rests_on: Vec::new(),
        runs: std::collections::BTreeMap::new(),
        approvers: checkrein_contract::Approvers::default(),
        identity: Identity::default(),
        policy: Digest::of(b""),
        requested_at: 0,
        expires_at: u64::MAX,
    }))
}

/// Whatever is named is put in force, and nothing else.
#[test]
fn what_changes_is_in_force_from_there_on() {
    let place = Place { root: "/new".into(), cwd: "/new".into(), ..Place::default() };
    let policy = vec![PolicySource {
        layer: checkrein_contract::Layer::User,
        file: "p".to_owned(),
        text: String::new(),
        only_tightens: false,
    }];
    let tool = ToolSpec { name: "edit".to_owned(), description: String::new(), parameters: Value::Null };
    let skill = Skill {
        name: "refunds".to_owned(),
        description: String::new(),
        tools: vec!["edit".to_owned()],
        body: String::new(),
    };
    let change = Recomposed {
        tools: Some(vec![tool.clone()]),
        skills: Some(vec![skill.clone()]),
        system: Some("new words".to_owned()),
        model: Some("script:y".to_owned()),
        policy: Some(policy.clone()),
        policy_digest: Some(Digest::of(b"p")),
        place: Some(place.clone()),
        variables: Some(vec![("state".to_owned(), "/state".to_owned())]),
        ..Recomposed::default()
    };
    let state = Log::of(vec![session(opened()), recomposed(change)]).state();
    let expected = SessionOpened {
        tools: vec![tool],
        skills: vec![skill],
        system: "new words".to_owned(),
        model: "script:y".to_owned(),
        policy,
        policy_digest: Digest::of(b"p"),
        place,
        variables: vec![("state".to_owned(), "/state".to_owned())],
        ..opened()
    };
    assert_eq!(*state.opened(), expected);
    assert!(!state.offers("edit") && state.offers("read"), "a skill hides its tools also when it came later");
    assert_eq!(state.place().root, "/new");
}

/// A fork asks for itself: a question that was open, and a yes that was not used, are those of the other session.
#[test]
fn a_fork_has_no_approval_of_the_session_it_comes_from() {
    let before = [
        session(SessionOpened {
            forked: Some(Forked { session: SessionId::new("s0"), seq: 5, hash: Digest::of(b"h"), before: None }),
            ..opened()
        }),
        request(1, 1),
        reply(ProposalKind::Calls, vec![call("c1-1", "write")]),
        allowed("c1-1", "write"),
        asked(),
    ];
    let waiting = Log::of(before.to_vec()).state();
    assert!(matches!(waiting.next(0), Next::Ask { .. }));
    let state = Log::of([before.to_vec(), vec![forked()]].concat()).state();
    assert!(matches!(state.next(0), Next::Decide { .. }), "{:?}", state.next(0));
    assert_eq!(state.approvals().count(), 0);
    let answer = Body::Approval {
        id: ApprovalId::new("a1"),
        answer: checkrein_contract::Answer::Approved { expires_at: u64::MAX, uses: 1 },
    };
    let late = Log::of([before.to_vec(), vec![forked(), answer]].concat());
    assert!(late.error().contains("nobody asked for approval a1"));
}

/// A reply that was on its way never comes, and is charged as one that was lost; a stop does not hold any more.
#[test]
fn a_fork_goes_on_from_wherever_it_was_cut() {
    let state = Log::of(vec![session(opened()), request(1, 1), forked()]).state();
    assert_eq!((state.next(0), state.spend().usage.input), (Next::Request, 100));
    let done = Stop { status: Status::Completed, code: Code::Done, reason: "r".to_owned(), limit: None };
    let answered =
        vec![session(opened()), request(1, 1), reply(ProposalKind::Answer, vec![]), Body::Stop(done), forked()];
    assert!(matches!(Log::of(answered.clone()).state().next(0), Next::Stop(_)));
    let state = Log::of([answered, vec![words("And now this.")]].concat()).state();
    assert_eq!(state.next(0), Next::Request);
    let last = state.messages().last().map(|message| (**message).clone());
    assert_eq!(last, Some(Message::User { text: "And now this.".to_owned(), harness: false }));
}

/// Nobody says something between a call and its result: the model would read it in no order.
#[test]
fn words_wait_for_the_results() {
    let calls = vec![session(opened()), request(1, 1), reply(ProposalKind::Calls, vec![call("c1-1", "read")])];
    assert!(!Log::of(calls.clone()).state().takes_words());
    assert!(Log::of([calls.clone(), vec![words("x")]].concat()).error().contains("while calls are on their way"));
    let over = [calls, vec![allowed("c1-1", "read"), finished("c1-1", "read", FinishedAs::Ok, None)]].concat();
    assert!(Log::of(over).state().takes_words());
}

/// A copied workspace: what was seen of a file was seen of its copy, and nothing else moves along.
#[test]
fn what_was_seen_moves_with_the_workspace() {
    let version = |text: &str| Some(Digest::of(text.as_bytes()));
    let seen = ["/srv/shop/a", "/srv/shopping/b", "/srv/shop"];
    let seen = seen.map(|path| SeenFile { path: path.to_owned(), version: version(path) });
    let read = Finished {
        seen: seen.to_vec(),
        ..Finished::bare(CallId::new("c1-1"), "read".to_owned(), FinishedAs::Ok, None, String::new())
    };
    let there = Place { root: "/new/place".into(), cwd: "/new/place".into(), ..Place::default() };
    let mut state = State::fold(
        &Log::of(vec![
            session(opened()),
            request(1, 1),
            reply(ProposalKind::Calls, vec![call("c1-1", "read")]),
            allowed("c1-1", "read"),
            Body::Finished(Box::new(read)),
            recomposed(Recomposed { place: Some(there), ..Recomposed::default() }),
        ])
        .0,
    )
    .expect("it folds");
    let paths: Vec<_> = state.seen().keys().cloned().collect();
    assert_eq!(paths, ["/new/place", "/new/place/a", "/srv/shopping/b"]);
    // What a model wants to be reminded of is nothing for one that is named anew.
    let Body::Proposal { turn, kind, text, calls, usage, defect, .. } = reply(ProposalKind::Answer, vec![]) else {
        panic!("a reply is a proposal")
    };
    let reminded = Body::Proposal { turn, kind, text, calls, usage, provider: json!({ "at": 1 }), defect };
    let mut seq = state.seq();
    let mut apply = |state: &mut State, body: Body| {
        seq += 1;
        let event = checkrein_contract::Event {
            v: checkrein_contract::EVENT_VERSION,
            seq,
            at: 0,
            by: checkrein_contract::Actor::Code,
            body,
        };
        state.apply(&event).expect("it follows");
    };
    apply(&mut state, request(2, 1));
    apply(&mut state, reminded);
    apply(&mut state, recomposed(Recomposed::default()));
    assert_eq!(state.provider(), &json!({ "at": 1 }));
    apply(&mut state, recomposed(Recomposed { model: Some("script:y".to_owned()), ..Recomposed::default() }));
    assert_eq!(state.provider(), &Value::Null);
}
