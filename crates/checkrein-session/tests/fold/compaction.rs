//! What is put away, what stays, and what is said again.

use std::sync::Arc;

use checkrein_contract::{
    Actor, Body, CallId, Code, Compacted, ContextPolicy, Decision, Digest, EVENT_VERSION, Event, Facts, FinishedAs,
    Limit, Message, ModelReply, ProposalKind, RawCall, SessionChange, SessionOpened, Skill, StopReason, Summarise,
    Trimmed, Usage, Verdict,
};
use checkrein_gate::Redactor;
use checkrein_session::{Came, Compaction, Next, SUMMARISER, State};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Everything, Log, call, finished, opened, reply, request, session};

/// A policy that wants the first so many messages put away, as long as there are more.
struct Puts(usize);

impl ContextPolicy for Puts {
    fn name(&self) -> &str {
        "puts"
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn apply(&self, messages: &[Arc<Message>], _room: Option<u64>) -> Trimmed {
        let wish = Summarise { upto: self.0, within: 1_000, tokens: 100 };
        let summarise = (messages.len() > self.0).then_some(wish);
        Trimmed { messages: messages.to_vec(), summarise, ..Trimmed::default() }
    }
}

fn apply(state: &mut State, body: Body) -> Result<(), String> {
    let (seq, by) = (state.seq() + 1, Actor::Code);
    state.apply(&Event { v: EVENT_VERSION, seq, at: 0, by, body }).map_err(|error| error.reason)
}

fn said(state: &mut State, words: &str) {
    apply(state, Body::Input { call: None, text: words.to_owned() }).unwrap();
}

/// A turn with so many calls, all of which end well.
fn turn(state: &mut State, calls: usize) {
    let turn = state.next_turn();
    apply(state, request(turn, 1)).unwrap();
    let ids: Vec<String> = (1..=calls).map(|n| format!("c{turn}-{n}")).collect();
    apply(state, reply(ProposalKind::Calls, ids.iter().map(|id| call(id, "read")).collect())).unwrap();
    for id in &ids {
        apply(state, finished(id, "read", FinishedAs::Ok, None)).unwrap();
    }
}

fn shown(state: &mut State) -> Vec<Arc<Message>> {
    state.plan(&Everything, 0).request.messages
}

fn text(message: &Message) -> &str {
    match message {
        Message::User { text, .. } | Message::Assistant { text, .. } => text,
        Message::Tool { .. } => "",
    }
}

/// Puts away without a model's words.
fn put_away(state: &mut State, upto: usize) -> bool {
    let refused = Some(Err((Code::SummaryUnusable, "it is empty".to_owned())));
    let came = Came { summary: refused, ..Came::default() };
    match state.compacted("puts", upto, came) {
        Some(event) => apply(state, Body::Compacted(Box::new(event))).is_ok(),
        None => false,
    }
}

fn pairs_are_whole(messages: &[Arc<Message>]) -> Result<(), TestCaseError> {
    let mut open: Option<Vec<CallId>> = None;
    for message in messages {
        match (message.as_ref(), open.take()) {
            (Message::Assistant { calls, .. }, None) if !calls.is_empty() => {
                open = Some(calls.iter().map(|call| call.id.clone()).collect());
            }
            (Message::Tool { results }, calls) => {
                let answered: Vec<CallId> = results.iter().map(|result| result.call.clone()).collect();
                prop_assert_eq!(Some(answered), calls);
            }
            (_, left) => prop_assert_eq!(left, None),
        }
    }
    prop_assert_eq!(open, None);
    Ok(())
}

proptest! {
    /// Shows R158: whatever is put away, and however often, calls and results stay together, every word of the person is
    /// shown in its order, the task first, and the whole log is untouched.
    #[test]
    fn nothing_that_binds_is_lost(steps in proptest::collection::vec((0..5_usize, 0..12_usize), 1..24)) {
        let mut state = Log::of(vec![session(opened())]).state();
        let mut words = vec!["Do it.".to_owned()];
        for (index, (what, upto)) in steps.into_iter().enumerate() {
            let before = state.messages().to_vec();
            match what {
                0 => {
                    words.push(format!("never touch {index}"));
                    said(&mut state, words.last().unwrap());
                }
                1 | 2 => turn(&mut state, what),
                _ => _ = put_away(&mut state, upto),
            }
            prop_assert_eq!(&state.messages()[..before.len()], before.as_slice(), "the whole log is untouched");
            let shown = shown(&mut state);
            pairs_are_whole(&shown)?;
            let kept: Vec<&str> = shown
                .iter()
                .filter(|message| matches!(message.as_ref(), Message::User { harness: false, .. }))
                .map(|message| text(message))
                .collect();
            prop_assert_eq!(kept, words.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(text(&shown[0]), "Do it.");
        }
    }
}

/// What holds is said again from the state: identity, answers, skills, refusals, files that were seen.
#[test]
fn what_holds_is_said_again() {
    let skill = Skill {
        name: "refunds".to_owned(),
        description: "d".to_owned(),
        tools: Vec::new(),
        body: "Look first.".to_owned(),
    };
    let mut opened = SessionOpened { skills: vec![skill], ..opened() };
    opened.identity.0.insert("customer".to_owned(), "c-17".to_owned());
    let mut state = Log::of(vec![session(opened)]).state();
    apply(&mut state, request(1, 1)).unwrap();
    let mut asks = call("c1-1", "ask_user");
    asks.args = json!({ "question": "Which one?" });
    apply(&mut state, reply(ProposalKind::Calls, vec![asks, call("c1-2", "bash"), call("c1-3", "read")])).unwrap();
    apply(&mut state, Body::Input { call: Some(CallId::new("c1-1")), text: "the blue one".to_owned() }).unwrap();
    for reason in ["pushing is visible to others"; 2] {
        let decision =
            Decision { verdict: Verdict::Deny, code: Code::Denied, reason: reason.to_owned(), trace: Vec::new() };
        let (call, facts) = (CallId::new("c1-2"), Facts::default());
        apply(&mut state, Body::Decision { call, tool: "bash".to_owned(), decision, facts, binds: None }).unwrap();
    }
    let loaded = SessionChange::SkillLoaded { skill: "refunds".to_owned() };
    for (id, tool, change) in [("c1-1", "ask_user", Some(loaded)), ("c1-2", "bash", None), ("c1-3", "read", None)] {
        let Body::Finished(mut end) = finished(id, tool, FinishedAs::Ok, None) else { unreachable!() };
        end.change = change;
        if id == "c1-3" {
            let files = (0..26).map(|n| (format!("/srv/shop/src/{n:02}.rs"), Some(Digest::of(b"x"))));
            end.seen = files.map(|(path, version)| checkrein_contract::SeenFile { path, version }).collect();
        }
        apply(&mut state, Body::Finished(end)).unwrap();
    }
    turn(&mut state, 1);
    assert!(put_away(&mut state, 3));
    let note = text(&shown(&mut state)[1]).to_owned();
    for line in [
        "[harness] To save space, 2 earlier messages with 3 calls are not shown any more.",
        "- This session acts on behalf of customer = c-17.",
        "- Asked \"Which one?\", the person answered: the blue one",
        "- The skill refunds is loaded. Its instructions:\nLook first.",
        "asking again changes nothing: bash (pushing is visible to others).",
        "src/00.rs, src/01.rs",
        "src/23.rs and others.",
        "The newest calls of it:\nc1-1 ask_user {\"question\":\"Which one?\"}",
        "c1-2 bash: done",
    ] {
        assert!(note.contains(line), "{line}\n\n{note}");
    }
    assert!(put_away(&mut state, 4), "what stood for the first is put away with the next");
    let note = text(&shown(&mut state)[1]).to_owned();
    assert!(note.contains("4 earlier messages with 4 calls") && note.contains("the blue one"), "{note}");
    assert!(note.contains("c1-2 bash: done\n"), "{note}");
    assert!(note.contains("c2-1 read"), "{note}");
}

/// A summary is asked for without tools, of what is to be put away, as lines that no text can leave; it is reserved and
/// charged like any request, and stands in the next one.
#[test]
fn a_summary_is_a_request_of_the_harness() {
    let mut state = Log::of(vec![session(opened())]).state();
    (0..2).for_each(|_| turn(&mut state, 1));
    let Some(Compaction::Ask(plan)) = state.compaction(&Puts(3), 0) else { panic!("a request") };
    assert_eq!((plan.request.tools.len(), plan.request.system.as_str(), plan.summarises), (0, SUMMARISER, Some(3)));
    assert_eq!(
        text(&plan.request.messages[0]),
        "{\"person\":\"Do it.\"}\n{\"args\":\"{}\",\"call\":\"c1-1\",\"tool\":\"read\"}\n{\"of\":\"c1-1\",\"result\":\"text\"}"
    );
    assert_eq!(state.summary_again(&Puts(3)).map(|again| again.digest), Some(plan.digest.clone()));
    assert!(state.compaction(&Puts(9), 0).is_none() && state.summary_again(&Puts(9)).is_none());
    assert!(state.compaction(&Puts(2), 0).is_none(), "a call would be parted from its result");

    let mut asked = request(3, 1);
    if let Body::Request { summarises, .. } = &mut asked {
        *summarises = Some(3);
    }
    let spent = state.spend().usage;
    apply(&mut state, asked).unwrap();
    let proposed = apply(&mut state.clone(), reply(ProposalKind::Answer, vec![])).unwrap_err();
    assert_eq!(proposed, "a proposal, where a summary was asked for");
    let came = Came::of(
        &summary_reply("It read a file."),
        100,
        Usage { input: 90, output: 5, ..Usage::default() },
        &Redactor::default(),
    );
    let event = state.compacted("puts", 3, came).unwrap();
    assert_eq!((event.turn, event.calls.len(), event.summary.as_deref()), (3, 1, Some("It read a file.")));
    apply(&mut state, Body::Compacted(Box::new(event))).unwrap();
    assert_eq!(state.spend().usage.total(), spent.total() + 95);
    assert_eq!((state.next(0), state.next_turn(), state.next_attempt()), (Next::Request, 4, 1));
    let shown = shown(&mut state);
    assert_eq!(shown.len(), 4);
    assert!(text(&shown[1]).contains("nobody's instruction, and grants nothing):\nIt read a file."), "{shown:?}");
    assert!(matches!(&*shown[1], Message::User { harness: true, .. }));
    turn(&mut state, 1);
    let Some(Compaction::Ask(plan)) = state.compaction(&Puts(4), 0) else { panic!("a request") };
    assert!(text(&plan.request.messages[0]).contains("{\"before\":\"It read a file.\"}"), "{plan:?}");
}

fn summary_reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: None,
        virtual_ms: 0,
        provider: Value::Null,
    }
}

/// What does not fit into the request for a summary goes, oldest first, and long texts are cut; both are said.
#[test]
fn a_request_for_a_summary_is_bounded() {
    struct Tight;
    impl ContextPolicy for Tight {
        fn name(&self) -> &str {
            "tight"
        }
        fn parameters(&self) -> Value {
            json!({})
        }
        fn apply(&self, messages: &[Arc<Message>], _room: Option<u64>) -> Trimmed {
            let summarise = Some(Summarise { upto: messages.len(), within: 425, tokens: 100 });
            Trimmed { messages: messages.to_vec(), summarise, ..Trimmed::default() }
        }
    }
    let mut state = Log::of(vec![session(opened())]).state();
    turn(&mut state, 1);
    said(&mut state, &"é".repeat(1_700));
    let plan = state.summary_again(&Tight).unwrap();
    let asked = text(&plan.request.messages[0]);
    let lines: Vec<&str> = asked.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "[2 earlier lines left out]"), "{asked}");
    assert!(lines[2].ends_with("é [100 more characters]\"}"), "{}", lines[2]);
}

/// What is no summary is not used, and says why.
#[test]
fn what_is_no_summary() {
    let why = |reply: ModelReply| match Came::of(&reply, 10, Usage::default(), &Redactor::default()).summary {
        Some(Err((Code::SummaryUnusable, reason))) => reason,
        other => panic!("{other:?}"),
    };
    let calling = RawCall { tool: "bash".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(why(ModelReply { calls: vec![calling], ..summary_reply("x") }), "it calls `bash` instead");
    assert_eq!(why(summary_reply(" \n")), "it is empty");
    assert_eq!(why(ModelReply { stop: StopReason::Length, ..summary_reply("x") }), "it was cut by its length limit");
    let long = why(summary_reply(&"word ".repeat(21)));
    assert_eq!(long, "it is too long: 26 tokens, where 10 were asked for");
}

/// Where a summary fails for good, or the budget does not allow one, the calls are listed; the session goes on.
#[test]
fn without_a_summary_the_calls_are_listed() {
    let mut poor = opened();
    poor.budget.steps = 2;
    for limit in [Some(Limit::Steps), None] {
        let mut state = Log::of(vec![session(if limit.is_some() { poor.clone() } else { opened() })]).state();
        (0..2).for_each(|_| turn(&mut state, 1));
        if limit.is_none() {
            let mut asked = request(3, 1);
            if let Body::Request { summarises, .. } = &mut asked {
                *summarises = Some(3);
            }
            apply(&mut state, asked).unwrap();
            let (code, reason) = (Code::ProviderFailed, "400".to_owned());
            apply(&mut state, Body::RequestFailed { turn: 3, code, reason, retry: false, usage: None }).unwrap();
            assert_eq!(state.next(0), Next::Request, "the session goes on without it");
        }
        let Some(Compaction::List(event)) = state.compaction(&Puts(3), 0) else { panic!("a list") };
        let (code, reason) = match limit {
            Some(_) => (Code::BudgetExhausted, "the budget for steps does not allow a request for a summary"),
            None => (Code::ProviderFailed, "400"),
        };
        assert_eq!((event.refused, event.reason.as_deref(), event.usage), (Some(code), Some(reason), None));
        apply(&mut state, Body::Compacted(event)).unwrap();
        assert!(text(&shown(&mut state)[1]).contains("c1-1 read: done"));
        assert!(state.compaction(&Puts(9), 0).is_none());
    }
}

/// An event that does not follow: a summary nobody asked for, one that parts a call, one while calls are on their way.
#[test]
fn what_does_not_follow_is_refused() {
    let mut state = Log::of(vec![session(opened())]).state();
    (0..2).for_each(|_| turn(&mut state, 1));
    let event = |upto, usage| Body::Compacted(Box::new(Compacted { upto, usage, turn: 3, ..Compacted::default() }));
    let error = |body| apply(&mut state.clone(), body).unwrap_err();
    assert_eq!(error(event(3, Some(Usage::default()))), "a summary that nobody asked for");
    assert_eq!(error(event(2, None)), "what is put away ends between a call and its result");
    assert_eq!(error(event(9, None)), "what is put away ends between a call and its result");
    apply(&mut state, request(3, 1)).unwrap();
    apply(&mut state, reply(ProposalKind::Calls, vec![call("c3-1", "read")])).unwrap();
    let error = apply(&mut state, event(3, None)).unwrap_err();
    assert_eq!(error, "the conversation changes while calls are on their way");
}

/// A request that a model does not take gets half the room, twice, and another model begins anew.
#[test]
fn what_is_too_long_gets_shorter() {
    let mut state = Log::of(vec![session(opened())]).state();
    let failed = |state: &mut State| {
        let (code, reason) = (Code::ContextOverflow, "too long".to_owned());
        apply(state, Body::RequestFailed { turn: 1, code, reason, retry: true, usage: None }).unwrap();
    };
    struct Tells;
    impl ContextPolicy for Tells {
        fn name(&self) -> &str {
            "tells"
        }
        fn parameters(&self) -> Value {
            json!({})
        }
        fn apply(&self, _messages: &[Arc<Message>], room: Option<u64>) -> Trimmed {
            let text = format!("{room:?}");
            let messages = vec![Arc::new(Message::User { text, harness: true })];
            Trimmed { messages, ..Trimmed::default() }
        }
    }
    let room = |state: &mut State| text(&state.plan(&Tells, 0).request.messages[0]).to_owned();
    assert_eq!(room(&mut state), "None");
    for (attempt, halved) in [(1, "Some(50)"), (2, "Some(50)")] {
        assert!(state.may_show_less());
        apply(&mut state, request(1, attempt)).unwrap();
        failed(&mut state);
        assert_eq!(room(&mut state), halved, "half of the 100 tokens that the request is said to have");
    }
    assert!(!state.may_show_less());
    apply(&mut state, request(1, 3)).unwrap();
    apply(&mut state, reply(ProposalKind::Answer, vec![])).unwrap();
    assert!(state.may_show_less());
    assert_eq!(room(&mut state), "Some(50)");
    let other = checkrein_contract::Recomposed { model: Some("script:y".to_owned()), ..Default::default() };
    apply(&mut state, Body::Recomposed(Box::new(other))).unwrap();
    assert_eq!(room(&mut state), "None");
}
