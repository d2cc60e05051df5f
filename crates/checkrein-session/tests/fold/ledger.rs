//! Budgets as a ledger: reserved before, settled after, raised by a person.

use crate::support::{Everything, Log, call, finished, opened, reply, request, session};
use checkrein_contract::{
    Body, Budget, Code, Digest, FinishedAs, Limit, Price, ProposalKind, SessionOpened, Status, Stop, Tier, Usage,
};
use checkrein_session::{Next, Share, State};

/// Three dollars for a million tokens of requests, fifteen for one of replies.
const PRICE: Price = Price::flat(3.0, 15.0);

fn with_money(usd: f64, price: Option<Price>) -> SessionOpened {
    let model = "somebody:model".to_owned();
    SessionOpened { model, price, budget: Budget { usd: Some(usd), ..Budget::default() }, ..opened() }
}

fn used(input: u64, output: u64) -> Body {
    let mut body = reply(ProposalKind::Calls, vec![call("c1-1", "read")]);
    if let Body::Proposal { usage, .. } = &mut body {
        *usage = Usage { input, output, estimated: false, ..Usage::default() };
    }
    body
}

fn spent(limit: Limit) -> Body {
    let reason = format!("the budget for {limit} is spent");
    Body::Stop(Stop { status: Status::BudgetExhausted, code: Code::BudgetExhausted, reason, limit: Some(limit) })
}

fn resumed() -> Body {
    Body::Resumed { harness: "0".to_owned() }
}

/// Shows R148: a request is sent when its input and the shortest answer are paid for, its ceiling is what the money left
/// pays for, and what came is settled at the model's price.
#[test]
fn money_is_reserved_before_and_settled_after() {
    let plan = |usd: f64| Log::of(vec![session(with_money(usd, Some(PRICE)))]).state().plan(&Everything, 0);
    // The request takes two tokens ("Do it.", and no instructions): 6,000 billionths; 64 of a reply take 960,000.
    let short = plan(0.000_966);
    assert_eq!((short.last, short.request.max_output_tokens, short.estimate), (None, 64, 2));
    assert_eq!(plan(0.000_965).last, Some(Limit::Usd));
    assert_eq!(plan(0.001_506).request.max_output_tokens, 100);
    assert_eq!(plan(1.0).request.max_output_tokens, 1_000, "no more than the model's own ceiling");

    let state = Log::of(vec![session(with_money(1.0, Some(PRICE))), request(1, 1), used(1_000, 100)]).state();
    assert_eq!(state.spend().cost.nano_usd, 3_000_000 + 1_500_000);
    assert_eq!(state.nano_usd_left(), Some(995_500_000));
    assert_eq!(
        share(&state, 50).usd,
        Some(0.497_75),
        "a sub-session gets its part of what is left, not of what there was"
    );
}

/// Shows R148: what is reserved is the most that the tokens can cost; what came is settled by its kinds, and by the length of
/// its request.
#[test]
fn what_a_provider_keeps_is_reserved_whole_and_settled_apart() {
    let long = Tier { above: 1_000, input: 6.0, output: 30.0, cached_input: Some(0.6), cache_write: None };
    let price = Price { cached_input: Some(0.3), cache_write: Some(3.75), tiers: vec![long], ..PRICE };
    let opened = || with_money(1.0, Some(price.clone()));
    // Two tokens at six dollars, 64 at thirty: the request may turn out longer than it looks.
    let plan = |usd: f64| {
        let opened = SessionOpened { budget: Budget { usd: Some(usd), ..Budget::default() }, ..opened() };
        Log::of(vec![session(opened)]).state().plan(&Everything, 0)
    };
    assert_eq!((plan(0.001_932).last, plan(0.001_931).last), (None, Some(Limit::Usd)));
    let settled = |usage: Usage| {
        let mut body = used(0, 0);
        if let Body::Proposal { usage: counted, .. } = &mut body {
            *counted = usage;
        }
        Log::of(vec![session(opened()), request(1, 1), body]).state().spend().cost.nano_usd
    };
    let short = Usage { input: 1_000, output: 10, cached: 600, written: 300, estimated: false };
    assert_eq!(settled(short), 100 * 3_000 + 600 * 300 + 300 * 3_750 + 10 * 15_000);
    assert_eq!(settled(Usage { input: 1_001, ..short }), 401 * 6_000 + 600 * 600 + 10 * 30_000);
    let lost = Log::of(vec![session(opened()), request(1, 1), resumed()]).state();
    assert_eq!(lost.spend().cost.nano_usd, 100 * 6_000 + 10 * 30_000, "nobody knows what became of it");
}

/// Shows R148: what a limit of money can not count is not sent; what a script says costs nothing.
#[test]
fn money_without_a_price() {
    let last = |opened: SessionOpened| Log::of(vec![session(opened)]).state().plan(&Everything, 0).last;
    assert_eq!(last(with_money(100.0, None)), Some(Limit::Usd));
    let script = SessionOpened { model: "script:x".to_owned(), ..with_money(0.0, None) };
    assert_eq!(last(script), None);
    let unknown = SessionOpened { budget: Budget::default(), ..with_money(0.0, None) };
    let state = Log::of(vec![session(unknown), request(1, 1), used(10, 10)]).state();
    assert_eq!((state.spend().cost.unpriced, state.nano_usd_left()), (true, None));
    assert_eq!(share(&state, 50).usd, None);
}

fn part(percent: u8) -> Share {
    Share { percent, given: None }
}

fn share(state: &State, percent: u8) -> Budget {
    state.shares(&[part(percent)], 0).remove(0).expect("something is left")
}

/// Sub-sessions at the same time never have more than is left, all together; what one was given before it keeps.
#[test]
fn shares_at_the_same_time_are_reserved() {
    let budget = Budget { steps: 11, calls: 10, tokens: 1_000, seconds: 100, usd: Some(1.0) };
    let price = Some(Price::NOTHING);
    let state = Log::of(vec![session(SessionOpened { budget, price, ..opened() })]).state();
    let numbers = |parts: &[Share]| -> Vec<Option<(u32, u32, u64, u64)>> {
        let given = state.shares(parts, 0).into_iter();
        given.map(|share| share.map(|share| (share.steps, share.calls, share.tokens, share.seconds))).collect()
    };
    assert_eq!(numbers(&[part(50)]), [Some((5, 5, 500, 50))]);
    assert_eq!(numbers(&[part(30), part(40)]), [Some((3, 3, 300, 30)), Some((4, 4, 400, 40))]);
    assert_eq!(numbers(&[part(90), part(90)]), [Some((5, 5, 500, 90)), Some((5, 5, 500, 90))], "time is not divided");
    let twelve = state.shares(&vec![part(50); 12], 0);
    assert_eq!(twelve.iter().filter(|share| share.is_none()).count(), 2, "there are ten calls");
    let whole: u32 = twelve.iter().flatten().map(|share| share.calls).sum();
    let usd: f64 = twelve.iter().flatten().filter_map(|share| share.usd).sum();
    assert!(whole == 10 && usd <= 1.0, "{whole} {usd}");
    let given = Budget { steps: 9, calls: 9, tokens: 990, seconds: 1, usd: Some(0.9) };
    let kept = Share { percent: 50, given: Some(given.clone()) };
    let [first, second] = &state.shares(&[part(50), kept], 0)[..] else { panic!("two") };
    assert_eq!(second.as_ref(), Some(&given));
    let first = first.clone().expect("a little is left");
    assert_eq!((first.steps, first.calls, first.tokens), (2, 1, 10));
    assert!(first.usd.is_some_and(|usd| (0.099..=0.1).contains(&usd)), "{first:?}");
}

/// Shows R149: a request of which nothing more is known is charged with all that was reserved for it, once.
#[test]
fn a_lost_request_is_charged_whole() {
    let lost = Log::of(vec![session(opened()), request(1, 1), resumed()]).state();
    assert_eq!(lost.spend().usage, Usage { input: 100, output: 10, estimated: true, ..Usage::default() });
    let again = Log::of(vec![session(opened()), request(1, 1), resumed(), request(1, 2), used(90, 5)]).state();
    assert_eq!(again.spend().usage, Usage { input: 190, output: 15, estimated: true, ..Usage::default() });
    let known =
        |usage| Body::RequestFailed { turn: 1, code: Code::ProviderFailed, reason: "cut".into(), retry: true, usage };
    let part = Usage { input: 100, output: 3, estimated: true, ..Usage::default() };
    let cut = Log::of(vec![session(opened()), request(1, 1), known(Some(part)), resumed()]).state();
    assert_eq!(cut.spend().usage, part, "what had come is known");
}

/// A session that was given one step, and took it.
fn exhausted() -> Vec<Body> {
    let mut opened = opened();
    opened.budget.steps = 1;
    let mut last = request(2, 1);
    if let Body::Request { last, .. } = &mut last {
        *last = Some(Limit::Steps);
    }
    let looked = finished("c1-1", "read", FinishedAs::Ok, None);
    let said = reply(ProposalKind::Answer, vec![]);
    vec![session(opened), request(1, 1), used(10, 10), looked, last, said, spent(Limit::Steps)]
}

/// Shows R150: a session that a limit ended goes on under a larger one, and under no other; the model is told.
#[test]
fn a_spent_budget_is_raised() {
    let state = Log::of(exhausted()).state();
    assert!(matches!(state.next(0), Next::Stopped(_)));
    assert_eq!(state.still_spent(state.budget()), Some(Limit::Steps));
    let larger = Budget { steps: 2, ..Budget::default() };
    assert_eq!(state.still_spent(&larger), None);

    let error = Log::of([exhausted(), vec![resumed()]].concat()).error();
    assert!(error.contains("ended as budget_exhausted and can not be resumed"), "{error}");

    let raised = [exhausted(), vec![Body::Budget { budget: larger.clone() }, resumed()]].concat();
    let mut state: State = Log::of(raised).state();
    assert_eq!((state.next(0), state.budget()), (Next::Request, &larger));
    let told = format!("{:?}", state.messages().last());
    assert!(told.contains("A person raised the limit (steps)") && told.contains("harness: true"), "{told}");
    let plan = state.plan(&Everything, 0);
    assert_eq!((plan.last, state.outcome(Digest::of(b""), 0).answer), (None, None));

    // Shows R150: a process that was lost between the last request, or its reply, and the stop loses no raise.
    for lost in [1, 2] {
        let mut events = exhausted();
        events.truncate(events.len() - lost);
        let raised =
            |budget: &Budget| [events.clone(), vec![Body::Budget { budget: budget.clone() }, resumed()]].concat();
        let mut state = Log::of(raised(&larger)).state();
        assert_eq!((state.next(0), state.plan(&Everything, 0).last), (Next::Request, None), "{lost}");
        let too_small = Budget { tokens: 1_000_000, ..opened().budget };
        let same = Log::of(raised(&Budget { steps: 1, ..too_small })).state();
        assert!(matches!(same.next(0), Next::Stop(stop) if stop.limit == Some(Limit::Steps)), "{lost}");
    }

    // While it runs, other limits only count.
    let during = Log::of(vec![session(opened()), Body::Budget { budget: larger.clone() }]).state();
    assert_eq!((during.next(0), during.budget(), during.messages().len()), (Next::Request, &larger, 1));
}

/// A model that calls tools with its last reply all the same: nothing of it is carried out, and a request that follows a
/// raised limit shows no call without a result. (The simulation found it.)
#[test]
fn calls_of_a_last_reply_are_not_left_open() {
    for (text, kept) in [("That much I know.", 1), ("", 0)] {
        let mut events = exhausted();
        let stop = events.pop().unwrap();
        let mut said = reply(ProposalKind::Calls, vec![call("c2-1", "read")]);
        if let Body::Proposal { text: words, .. } = &mut said {
            *words = text.to_owned();
        }
        *events.last_mut().unwrap() = said;
        let before = Log::of(events[..events.len() - 1].to_vec()).state().messages().len();
        let larger = Budget { steps: 2, ..Budget::default() };
        let raised = [events, vec![stop, Body::Budget { budget: larger }, resumed()]].concat();
        let mut state = Log::of(raised).state();
        let shown = state.plan(&Everything, 0).request.messages;
        let open = shown.iter().filter(|message| format!("{message:?}").contains("c2-1")).count();
        assert_eq!((open, shown.len()), (0, before + kept + 1), "{text:?}");
    }
}
