//! Context policies from outside: what each promises, and a conformance suite over the list of them.

use std::sync::Arc;

use checkrein_context::{POLICIES, policy};
use checkrein_contract::{
    CallId, ContextPolicy, Message, ResultPart, ToolCallPart, Trimmed, TrimmedResult, estimate_message, estimate_text,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

type History = Vec<Arc<Message>>;

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::User { text: text.to_owned(), harness: false })
}

fn part(call: &str, tool: &str, text: &str) -> ResultPart {
    ResultPart { call: CallId::new(call), tool: tool.to_owned(), text: text.to_owned(), is_error: false }
}

/// A reply with calls and the message with their results.
fn exchange(results: Vec<ResultPart>) -> [Arc<Message>; 2] {
    let calls = results.iter().map(|result| ToolCallPart {
        id: result.call.clone(),
        tool: result.tool.clone(),
        args: json!({}),
    });
    let reply = Message::Assistant { text: String::new(), calls: calls.collect(), provider: Value::Null };
    [Arc::new(reply), Arc::new(Message::Tool { results })]
}

/// A text of so many estimated tokens.
fn text_of(tokens: usize) -> String {
    let text = vec!["word"; tokens].join(" ").replace("word", "w");
    assert_eq!(estimate_text(&text), tokens as u64);
    text
}

/// One search of 260 tokens, then lookups of 10, as in document 004.
fn shop() -> History {
    let mut history = vec![user("what does it cost?")];
    history.extend(exchange(vec![part("c1-1", "search", &text_of(260))]));
    history.extend(exchange(vec![part("c2-1", "lookup", &text_of(10)), part("c2-2", "lookup", &text_of(10))]));
    history.push(user("and now?"));
    history.extend(exchange(vec![part("c3-1", "lookup", &text_of(10))]));
    history
}

fn trim(tokens: u64) -> Box<dyn ContextPolicy> {
    policy("trim_to_budget", &json!({ "tokens": tokens })).unwrap()
}

fn compact(tokens: u64) -> Box<dyn ContextPolicy> {
    policy("compact", &json!({ "tokens": tokens })).unwrap()
}

fn results(messages: &[Arc<Message>]) -> Vec<&ResultPart> {
    messages
        .iter()
        .flat_map(|message| match message.as_ref() {
            Message::Tool { results } => results.as_slice(),
            _ => &[],
        })
        .collect()
}

/// The calls whose results were left out with this budget.
fn left_out(history: &[Arc<Message>], tokens: u64) -> Vec<String> {
    trim(tokens).apply(history, None).left_out.iter().map(|result| result.call.as_str().to_owned()).collect()
}

/// Shows R154.
#[test]
fn keep_everything_only_copies_pointers() {
    let history = shop();
    let shown = policy("keep_everything", &Value::Null).unwrap().apply(&history, None);
    assert!(shown.left_out.is_empty());
    assert!(shown.messages.iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b)));
    assert_eq!(shown.messages.len(), history.len());
}

/// Shows R154, R155.
#[test]
fn the_newest_results_that_fit_are_kept_and_equality_fits() {
    let history = shop();
    assert_eq!(left_out(&history, 290), [""; 0], "all of them together are 290");
    assert_eq!(left_out(&history, 289), ["c1-1"]);
    assert_eq!(left_out(&history, 30), ["c1-1"]);
    assert_eq!(left_out(&history, 29), ["c1-1", "c2-1"], "a message with several results is trimmed by result");
    assert_eq!(left_out(&history, 15), ["c1-1", "c2-1", "c2-2"]);
    assert_eq!(left_out(&history, 0), ["c1-1", "c2-1", "c2-2", "c3-1"]);
}

/// Shows R155.
#[test]
fn the_walk_stops_at_the_first_that_does_not_fit() {
    let mut history = vec![user("q")];
    history.extend(exchange(vec![part("c1-1", "small", &text_of(1))]));
    history.extend(exchange(vec![part("c2-1", "large", &text_of(100))]));
    history.extend(exchange(vec![part("c3-1", "small", &text_of(1))]));
    assert_eq!(left_out(&history, 50), ["c1-1", "c2-1"], "the older small one would have fitted");
}

/// Shows R157.
#[test]
fn a_trimmed_result_leaves_a_placeholder_in_place() {
    let mut history = vec![user("q")];
    let refused = ResultPart { is_error: true, ..part("c1-1", "find_order", &text_of(260)) };
    history.extend(exchange(vec![refused, part("c1-2", "lookup", "ok")]));
    let Trimmed { messages, left_out, .. } = trim(5).apply(&history, None);
    let shown = results(&messages);
    assert_snapshot!(shown[0].text, @"[result of find_order (call c1-1) left out to save space: 260 tokens; call the tool again if it is needed]");
    assert_eq!((shown[0].call.as_str(), shown[0].tool.as_str(), shown[0].is_error), ("c1-1", "find_order", true));
    assert_eq!(shown[1], &part("c1-2", "lookup", "ok"));
    let expected = TrimmedResult { call: CallId::new("c1-1"), tool: "find_order".to_owned(), tokens: 260 };
    assert_eq!(left_out, [expected]);
}

/// Shows R156.
#[test]
fn results_are_told_by_their_role_and_never_by_their_text() {
    let disguised = "[result of search (call c1-1) left out to save space: 260 tokens]";
    let mut history = vec![user(&format!("{disguised} {}", text_of(500)))];
    history.push(Arc::new(Message::Assistant { text: text_of(500), calls: Vec::new(), provider: Value::Null }));
    history.push(Arc::new(Message::User { text: text_of(500), harness: true }));
    history.extend(exchange(vec![part("c1-1", "search", "user: what does it cost?")]));
    let shown = trim(0).apply(&history, None);
    assert!(shown.messages[..4].iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b)), "the question is never dropped");
    assert_eq!(shown.left_out.len(), 1, "a result that looks like a question is a result");
}

/// Shows R153: what was trimmed once comes back when the budget allows, because nothing is remembered.
#[test]
fn each_request_is_trimmed_afresh_from_the_whole_history() {
    let history = shop();
    let tight = trim(15);
    assert_eq!(tight.apply(&history, None), tight.apply(&history, None));
    let before = history.clone();
    tight.apply(&history, None);
    assert_eq!(history, before);
    assert_eq!(trim(290).apply(&history, None).messages, history);
}

/// A reply of so many tokens with one call, and its result.
fn turn(number: usize, said: usize, result: ResultPart) -> [Arc<Message>; 2] {
    let call = ToolCallPart { id: result.call.clone(), tool: result.tool.clone(), args: json!(number) };
    let reply = Message::Assistant { text: text_of(said), calls: vec![call], provider: Value::Null };
    [Arc::new(reply), Arc::new(Message::Tool { results: vec![result] })]
}

/// Shows R157, R158: `compact` leaves out the oldest results at once down to half, of equal ones all but the newest, and none
/// of tools that were named; the newest go last.
#[test]
fn compaction_leaves_out_results_first() {
    let mut history = vec![user("q")];
    history.extend(turn(1, 1, part("c1-1", "ask_user", &text_of(60))));
    history.extend(turn(2, 1, part("c2-1", "read", &text_of(60))));
    history.extend(turn(3, 1, part("c3-1", "search", &text_of(60))));
    history.extend(turn(4, 1, part("c4-1", "read", &text_of(60))));
    let shown = compact(250).apply(&history, None);
    assert_eq!(shown.summarise, None);
    let texts: Vec<String> = results(&shown.messages).iter().map(|part| part.text.chars().take(70).collect()).collect();
    assert_eq!(texts[0], text_of(60).chars().take(70).collect::<String>(), "what a person answered stays");
    assert_eq!(texts[1], "[result of read (call c2-1): the same as that of call c4-1 below]");
    assert!(texts[2].starts_with("[result of search (call c3-1) left out to save space: 60 tokens"), "{}", texts[2]);
    assert!(texts[3].starts_with("w w w"), "the model has not seen it yet");
    let called: Vec<&str> = shown.left_out.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(called, ["c2-1", "c3-1"]);

    let small = compact(50).apply(&history[..3], None);
    assert!(small.left_out.is_empty(), "the only result is one that stays");
    let named = policy("compact", &json!({ "tokens": 50, "keep": ["other"] })).unwrap().apply(&history[..3], None);
    assert_snapshot!(results(&named.messages)[0].text, @"[result of ask_user (call c1-1) left out: its 60 tokens do not fit; ask for a smaller part of it]");
}

/// Shows R158: where replies are what is large, all but the newest quarter is to be put away, in whole exchanges; and not
/// where hardly anything would go.
#[test]
fn compaction_wants_the_beginning_put_away() {
    let mut history = vec![user("q")];
    for number in 1..=10 {
        history.extend(turn(number, 30, part(&format!("c{number}-1"), "read", &text_of(10))));
    }
    assert_eq!(compact(500).apply(&history, None).summarise, None);
    let wish = compact(300).apply(&history, None).summarise.expect("it does not fit");
    assert_eq!(
        (wish.upto, wish.within, wish.tokens),
        (19, 300, 200),
        "the last exchange fits into a quarter, two do not"
    );
    assert_eq!(compact(300).apply(&history[19..], None).summarise, None);
    let mut words = vec![user(&text_of(400))];
    words.extend(turn(1, 5, part("c1-1", "read", "x")));
    words.extend(turn(2, 5, part("c2-1", "read", "x")));
    assert_eq!(compact(300).apply(&words, None).summarise, None, "a person's words are not put away");
}

/// Shows R155: each policy makes do with the room that there is, whatever it would show otherwise.
#[test]
fn every_policy_shows_less_where_a_model_takes_less() {
    let history = shop();
    for entry in POLICIES {
        let roomy = serde_json::from_str::<Value>(entry.example).unwrap();
        let shown = policy(entry.name, &roomy).unwrap().apply(&history, Some(100));
        let left: u64 = shown.messages.iter().map(|message| estimate_message(message)).sum();
        assert!(left <= 100, "{}: {left}", entry.name);
        assert_eq!(shown.left_out.first().map(|result| result.tokens), Some(260), "{}", entry.name);
    }
}

/// Histories as sessions make them: each reply with calls is followed by its results.
fn histories() -> impl Strategy<Value = History> {
    let text = prop_oneof![Just(String::new()), "[a-z ]{0,40}", (0..40_usize).prop_map(|n| "wörd ".repeat(n))];
    let results = proptest::collection::vec(("[a-z_]{1,8}", text.clone(), any::<bool>()), 1..4);
    let turn = prop_oneof![
        (text.clone(), any::<bool>()).prop_map(|(text, harness)| (Some((text, harness)), Vec::new())),
        results.prop_map(|results| (None, results)),
    ];
    proptest::collection::vec(turn, 0..12).prop_map(|turns| {
        let mut history = vec![user("question")];
        for (number, (said, results)) in turns.into_iter().enumerate() {
            if let Some((text, harness)) = said {
                history.push(Arc::new(Message::User { text, harness }));
                continue;
            }
            let results = results.into_iter().enumerate().map(|(index, (tool, text, is_error))| ResultPart {
                is_error,
                ..part(&format!("c{}-{}", number + 1, index + 1), &tool, &text)
            });
            history.extend(exchange(results.collect()));
        }
        history
    })
}

/// What every policy promises: all that is no result stays, in place; calls and results stay together; what was left
/// out is said, oldest first, and is exactly what differs; the same history gives the same bytes.
fn conforms(policy: &dyn ContextPolicy, history: &[Arc<Message>], room: Option<u64>) -> Result<(), TestCaseError> {
    let shown = policy.apply(history, room);
    let bytes = |trimmed: &Trimmed| serde_json::to_vec(&(&trimmed.messages, &trimmed.left_out)).unwrap();
    let copied: History = history.iter().map(|message| Arc::new(message.as_ref().clone())).collect();
    prop_assert_eq!(bytes(&shown), bytes(&policy.apply(&copied, room)), "the same history, the same bytes");

    prop_assert_eq!(shown.messages.len(), history.len());
    let pinned = |message: &Message| !matches!(message, Message::Tool { .. });
    for (shown, whole) in shown.messages.iter().zip(history) {
        prop_assert!(!pinned(whole) || shown == whole, "{:?} was changed", whole);
        prop_assert_eq!(pinned(shown), pinned(whole), "a message changed its role");
    }
    let mut replaced = Vec::new();
    let (after, before) = (results(&shown.messages), results(history));
    prop_assert_eq!(after.len(), before.len(), "a call lost its result");
    for (after, before) in after.iter().zip(before) {
        let identity = |part: &ResultPart| (part.call.clone(), part.tool.clone(), part.is_error);
        prop_assert_eq!(identity(after), identity(before));
        if shown.left_out.iter().any(|result| result.call == before.call) {
            prop_assert!(after.text.contains(before.call.as_str()) && after.text.contains(&before.tool));
            replaced.push(before.call.clone());
        } else {
            prop_assert_eq!(&after.text, &before.text);
        }
    }
    let said: Vec<CallId> = shown.left_out.iter().map(|result| result.call.clone()).collect();
    prop_assert_eq!(said, replaced, "what was left out is said, oldest first");
    if let Some(wish) = shown.summarise {
        let parted = history.get(wish.upto).is_some_and(|message| matches!(message.as_ref(), Message::Tool { .. }));
        prop_assert!(!parted && wish.upto <= history.len(), "a call is parted from its result");
        let gone = &history[..wish.upto];
        let is_reply = |message: &Arc<Message>| matches!(message.as_ref(), Message::Assistant { .. });
        let exchange = gone.iter().any(is_reply);
        prop_assert!(exchange, "nothing would go");
        let reply = history.iter().rposition(is_reply);
        prop_assert!(reply.is_some_and(|reply| reply >= wish.upto), "the last reply stays");
    }
    Ok(())
}

proptest! {
    /// Shows R153, R155, R156, R157, R158: also where a model did not take as much.
    #[test]
    fn every_policy_conforms(history in histories(), room in proptest::option::of(0..200_u64)) {
        for entry in POLICIES {
            let parameters: Value = serde_json::from_str(entry.example).unwrap();
            conforms(policy(entry.name, &parameters).unwrap().as_ref(), &history, room)?;
        }
    }

    /// Shows R158: `compact` shows no more than it may, or says that more has to go than results; where nothing has to go,
    /// nothing goes.
    #[test]
    fn compaction_keeps_within_its_tokens(history in histories(), tokens in 1..400_u64) {
        conforms(compact(tokens).as_ref(), &history, None)?;
        let shown = compact(tokens).apply(&history, None);
        let all: u64 = history.iter().map(|message| estimate_message(message)).sum();
        let left: u64 = shown.messages.iter().map(|message| estimate_message(message)).sum();
        prop_assert!(left <= all);
        if all <= tokens {
            prop_assert_eq!(&shown.messages, &history);
            prop_assert_eq!(shown.summarise, None);
        }
        // What can not be left out: all that is no result, and what stands in place of results.
        let least: u64 = history.iter().map(|message| match message.as_ref() {
            Message::Tool { results } => results.iter().map(|part| estimate_text(&part.text).min(30)).sum(),
            other => estimate_message(other),
        }).sum();
        prop_assert!(left <= tokens.max(least), "{left} of {tokens}, and {least} can not go");
    }

    /// Shows R153, and what provider caches live on: what `compact` left out stays out with the same bytes, and between two
    /// times that it leaves something out requests only grow.
    #[test]
    fn compaction_changes_the_beginning_seldom(history in histories(), tokens in 1..300_u64) {
        let shown = |upto: usize| compact(tokens).apply(&history[..upto], None);
        let mut before = shown(1);
        for upto in 2..=history.len() {
            let now = shown(upto);
            if now.left_out.len() == before.left_out.len() {
                prop_assert_eq!(&now.messages[..before.messages.len()], before.messages.as_slice());
            }
            let out = |of: &Trimmed, call: &CallId| {
                results(&of.messages).into_iter().find(|part| part.call == *call).cloned()
            };
            for result in &before.left_out {
                prop_assert_eq!(out(&before, &result.call), out(&now, &result.call));
            }
            before = now;
        }
    }

    /// Shows R155: kept results never exceed the budget, are the newest, and one more would not have fitted.
    #[test]
    fn trimming_keeps_as_much_as_fits_and_no_more(history in histories(), tokens in 0..200_u64) {
        conforms(trim(tokens).as_ref(), &history, None)?;
        let left_out = trim(tokens).apply(&history, None).left_out.len();
        let sizes: Vec<u64> = results(&history).iter().map(|result| estimate_text(&result.text)).collect();
        let (gone, kept) = sizes.split_at(left_out);
        prop_assert!(kept.iter().sum::<u64>() <= tokens);
        if let Some(next) = gone.last() {
            prop_assert!(kept.iter().sum::<u64>() + next > tokens);
        }
    }

    /// Shows R153, and what provider caches live on: a longer history changes nothing before the results that it pushes
    /// out.
    #[test]
    fn what_was_left_out_stays_out_with_the_same_bytes(history in histories(), tokens in 0..100_u64) {
        let half = &history[..history.len() / 2];
        let (early, late) = (trim(tokens).apply(half, None), trim(tokens).apply(&history, None));
        prop_assert_eq!(early.left_out.as_slice(), &late.left_out[..early.left_out.len()]);
        for (early, late) in results(&early.messages).iter().zip(results(&late.messages)).take(early.left_out.len()) {
            prop_assert_eq!(*early, late);
        }
    }
}
