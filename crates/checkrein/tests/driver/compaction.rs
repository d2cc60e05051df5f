//! Long conversations through the real driver: what the model sees, what is recorded, and what happens when a model takes less
//! or gives no summary.

use checkrein::contract::{
    Body, Budget, Code, Compacted, Event, Message, Outcome, ProviderFault, Status, estimate_message,
};
use checkrein::replay::replay;
use checkrein::verify::verify_events;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::recovery::cut_off_at;
use crate::support::{Copied, Reply, Rig, calls, fails, text};

const CONSTRAINT: &str = "Never touch golden.txt.";

/// A rig whose model reads files in so many turns, says so at length, and is done.
fn reads(turns: usize) -> Rig {
    let read = |n: usize| Reply {
        text: format!("I read file {n} now. {}", "Then I think about it. ".repeat(8)),
        ..calls(&[("read", json!({ "file_path": format!("{}.txt", n % 4) }))])
    };
    let mut replies: Vec<Reply> = (0..turns).map(read).collect();
    replies.push(text("done"));
    let rig = Rig::new(replies);
    for n in 0..4 {
        std::fs::write(rig.project().join(format!("{n}.txt")), format!("file {n}\n{}", "word ".repeat(90))).unwrap();
    }
    std::fs::write(rig.project().join("AGENTS.md"), "Keep lines short.\n").unwrap();
    rig
}

async fn drive(rig: &Rig, policy: &str, numbers: Value) -> (Outcome, Vec<Event>) {
    let mut task = rig.task();
    task.prompt = format!("Do it. {CONSTRAINT}");
    task.context = (policy.to_owned(), numbers);
    task.budget = Budget { steps: 100, tokens: 1_000_000, ..Budget::default() };
    let outcome = rig.begin(&task).drive().await.unwrap();
    let events = rig.events(&outcome.session);
    holds(&events);
    (outcome, events)
}

/// Every invariant holds, and the session is the same again.
fn holds(events: &[Event]) {
    let Body::Session(opened) = &events[0].body else { panic!("a session begins") };
    assert_eq!(verify_events(&opened.session, events).map(|all| all.len()), Ok(11));
    replay(events).unwrap_or_else(|found| panic!("{found:?}"));
}

fn compactions(events: &[Event]) -> Vec<&Compacted> {
    let found = events.iter().filter_map(|event| match &event.body {
        Body::Compacted(event) => Some(&**event),
        _ => None,
    });
    found.collect()
}

fn size(request: &Copied) -> u64 {
    request.messages.iter().map(estimate_message).sum()
}

fn words(message: &Message) -> String {
    let begins = |text: &str, count: usize| text.chars().take(count).collect::<String>();
    match message {
        Message::User { text, harness } => format!("{}: {text}", if *harness { "harness" } else { "person" }),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| format!("{} {}{}", call.id, call.tool, call.args));
            format!("model: {} -> {}", begins(text, 24), calls.collect::<Vec<_>>().join(", "))
        }
        Message::Tool { results } => {
            let results = results.iter().map(|part| format!("{}: {}", part.call, begins(&part.text, 80)));
            format!("tool: {}", results.collect::<Vec<_>>().join(" | "))
        }
    }
}

/// Shows R153, R158, R159, I4, I8: a session of sixty turns stays inside a small window, the person's words are in every
/// request, every summary is a recorded request of the harness, and it happens once in many turns.
#[tokio::test]
async fn a_long_session_stays_inside_a_small_window() {
    let rig = reads(60);
    let (outcome, events) = drive(&rig, "compact", json!({ "tokens": 1_200 })).await;
    assert_eq!((outcome.status, outcome.steps), (Status::Completed, 61));
    let requests = rig.requests();
    let (summaries, turns): (Vec<&Copied>, Vec<&Copied>) = requests.iter().partition(|request| request.summary);
    for request in &turns {
        assert!(size(request) <= 1_200, "{}", size(request));
        assert!(words(&request.messages[0]).contains(CONSTRAINT));
        assert!(words(&request.messages[1]).contains("Keep lines short."), "instruction files stay");
    }
    for request in &summaries {
        assert!(request.tools.is_empty() && request.max_output_tokens == 200);
    }
    let compacted = compactions(&events);
    assert_eq!(compacted.len(), summaries.len());
    assert!((3..=10).contains(&compacted.len()), "{} in 61 turns", compacted.len());
    assert!(compacted.iter().all(|one| one.summary.as_deref() == Some("It read.") && one.usage.is_some()));
    let put_away: usize = compacted.iter().map(|one| one.calls.len()).sum();
    assert!((45..60).contains(&put_away), "{put_away} calls, each once");
    let trims = events.iter().filter(|event| matches!(event.body, Body::Trim { .. })).count();
    assert!((1..=20).contains(&trims), "{trims} in 61 turns");
    let kept = turns.windows(2).filter(|pair| pair[1].messages.starts_with(&pair[0].messages)).count();
    assert!(kept >= 40, "{kept} of 60 requests extend the one before");
    let is_behind =
        |request: &&&Copied| request.messages.get(2).is_some_and(|third| words(third).starts_with("harness"));
    let behind = turns.iter().find(is_behind).expect("one was put away");
    assert_snapshot!("what_the_model_sees", behind.messages.iter().map(words).collect::<Vec<_>>().join("\n"));
    let asked = words(&summaries[1].messages[0]);
    assert_snapshot!("what_a_summary_is_made_of", asked.lines().take(8).collect::<Vec<_>>().join("\n"));
}

/// Shows R158: whatever comes instead of a summary, the calls are listed, once, and the session goes on.
#[tokio::test]
async fn a_summary_that_does_not_come_is_done_without() {
    let calling = calls(&[("bash", json!({ "command": "true" }))]);
    let cases = [
        (vec![calling], "SUMMARY_UNUSABLE", "it calls `bash` instead"),
        (vec![text("  ")], "SUMMARY_UNUSABLE", "it is empty"),
        (vec![text(&"word ".repeat(500))], "SUMMARY_UNUSABLE", "it is too long: 625 tokens, where 200 were asked for"),
        (vec![fails(ProviderFault::Refused)], "PROVIDER_FAILED", "nothing more to say"),
        (vec![fails(ProviderFault::TooLong)], "CONTEXT_OVERFLOW", "nothing more to say"),
        (vec![fails(ProviderFault::Server); 4], "PROVIDER_FAILED", "nothing more to say"),
    ];
    for (summaries, code, reason) in cases {
        let asked = summaries.len();
        let rig = reads(14);
        *rig.says.summaries.lock().unwrap() = summaries.into();
        let (outcome, events) = drive(&rig, "compact", json!({ "tokens": 1_200 })).await;
        assert_eq!(outcome.status, Status::Completed, "{code}");
        let compacted = compactions(&events);
        let first = compacted[0];
        assert_eq!((first.refused.unwrap().as_str(), first.reason.as_deref()), (code, Some(reason)));
        let summaries = rig.requests().iter().filter(|request| request.summary).count();
        assert_eq!(summaries, asked + compacted.len() - 1);
        let after = rig.requests().into_iter().filter(|request| !request.summary);
        let listed =
            after.flat_map(|request| request.messages).find(|message| words(message).contains("To save space"));
        assert!(words(&listed.unwrap()).contains("c1-1 read: done"), "{code}");
    }
}

/// A summary that comes after a failure is one all the same, and the failed attempt is charged.
#[tokio::test]
async fn a_summary_is_tried_again() {
    let rig = reads(14);
    *rig.says.summaries.lock().unwrap() = vec![fails(ProviderFault::Server), text("It read two files.")].into();
    let (outcome, events) = drive(&rig, "compact", json!({ "tokens": 1_200 })).await;
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(compactions(&events)[0].summary.as_deref(), Some("It read two files."));
    let attempts: Vec<u32> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Request { summarises: Some(_), attempt, .. } => Some(*attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts[..2], [1, 2]);
}

/// Shows R149, I5: a process that is lost in the middle of a summary, right behind it, or before a request with less in it, is
/// followed by one that does the same; what was on its way is charged whole.
#[tokio::test]
async fn a_crash_in_the_middle_of_a_summary() {
    let (told, whole) = drive(&reads(14), "compact", json!({ "tokens": 1_200 })).await;
    let cuts: [fn(&Body) -> bool; 3] = [
        |body| matches!(body, Body::Request { summarises: Some(_), .. }),
        |body| matches!(body, Body::Compacted(_)),
        |body| matches!(body, Body::Trim { .. }),
    ];
    for cut in cuts {
        let rig = reads(14);
        let (outcome, _) = drive(&rig, "compact", json!({ "tokens": 1_200 })).await;
        let session = cut_off_at(&rig, &outcome.session, cut);
        let before = rig.events(&session);
        let answered = before.iter().filter(|event| matches!(event.body, Body::Proposal { .. })).count();
        let left: Vec<Reply> = reads(14).says.replies().drain(answered..).collect();
        rig.says.replies().extend(left);
        let resumed = rig.resume(&session).drive().await.unwrap();
        assert_eq!((resumed.status, resumed.steps), (Status::Completed, told.steps));
        let events = rig.events(&session);
        holds(&events);
        assert_eq!(compactions(&events), compactions(&whole), "the same is put away, for the same words");
        assert!(resumed.usage.total() >= told.usage.total());
    }
}

fn failures(events: &[Event]) -> Vec<(Code, bool)> {
    let found = events.iter().filter_map(|event| match &event.body {
        Body::RequestFailed { code, retry, .. } => Some((*code, *retry)),
        _ => None,
    });
    found.collect()
}

/// A model that takes less than was shown gets half of it, whatever the context policy; what was left out is recorded before.
#[tokio::test]
async fn a_model_that_takes_less_gets_less() {
    for (policy, numbers) in [
        ("keep_everything", json!({})),
        ("trim_to_budget", json!({ "tokens": 9_000 })),
        ("compact", json!({ "tokens": 9_000 })),
    ] {
        let rig = reads(8);
        rig.says.replies().insert(5, fails(ProviderFault::TooLong));
        let (outcome, events) = drive(&rig, policy, numbers).await;
        assert_eq!(outcome.status, Status::Completed, "{policy}: {}", outcome.reason);
        assert_eq!(failures(&events), [(Code::ContextOverflow, true)], "{policy}");
        let turns: Vec<Copied> = rig.requests().into_iter().filter(|request| !request.summary).collect();
        assert!(size(&turns[6]) <= size(&turns[5]) / 2, "{policy}: {} after {}", size(&turns[6]), size(&turns[5]));
        assert!(turns[7..].iter().all(|request| size(request) <= size(&turns[5]) / 2), "{policy}: and no more later");
        assert!(turns.iter().all(|request| words(&request.messages[0]).contains(CONSTRAINT)));
        let after = events.iter().skip_while(|event| !matches!(event.body, Body::RequestFailed { .. })).nth(1);
        let why = matches!(after.unwrap().body, Body::Trim { .. } | Body::Request { summarises: Some(_), .. });
        assert!(why, "{policy}: {after:?}");
    }
}

/// A model that takes nothing at all is asked three times, and then the session says what to do.
#[tokio::test]
async fn a_model_that_takes_nothing_ends_the_session() {
    let rig = reads(8);
    for _ in 0..3 {
        rig.says.replies().insert(5, fails(ProviderFault::TooLong));
    }
    let (outcome, events) = drive(&rig, "keep_everything", json!({})).await;
    assert_eq!((outcome.status, outcome.code), (Status::Failed, Code::ContextOverflow));
    let overflow = Code::ContextOverflow;
    assert_eq!(failures(&events), [(overflow, true), (overflow, true), (overflow, false)]);
}

/// A journal in which something else was put away than the policy wanted is found, by the invariants and by replay.
#[tokio::test]
async fn a_changed_compaction_is_found() {
    let rig = reads(14);
    let (outcome, events) = drive(&rig, "compact", json!({ "tokens": 1_200 })).await;
    let tampered = |change: fn(&mut Compacted)| {
        let mut events = events.clone();
        for event in &mut events {
            if let Body::Compacted(event) = &mut event.body {
                change(event);
            }
        }
        events
    };
    let words = tampered(|event| event.summary = Some("It touched golden.txt.".to_owned()));
    assert_eq!(verify_events(&outcome.session, &words).unwrap_err().invariant, "I4");
    let less = tampered(|event| event.tokens += 1);
    let found = replay(&less).unwrap_err();
    assert_eq!((found.kind, found.pointer.as_str()), ("compacted", "/tokens"));
    let mut without = events.clone();
    without.retain(|event| !matches!(event.body, Body::Compacted(_) | Body::Request { summarises: Some(_), .. }));
    for (index, event) in without.iter_mut().enumerate() {
        event.seq = index as u64 + 1;
    }
    let found = replay(&without).unwrap_err();
    assert_eq!(found.expected, "a request for a summary, or compacted");
}
