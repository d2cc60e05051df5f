//! Words that people and machines read: each is the word that a line of the journal holds.

use std::collections::BTreeMap;

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalState, Body, BoxFuture, CallId, CheckRound, Code, Delta, Digest, Effect,
    EffectWord, HookNote, Limit, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, Run, SessionId,
    Status, Verdict,
};
use checkrein_contract::{Facts, Finding, Question};
use serde::Serialize;
use serde_json::{Value, json};

fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().expect("a word").to_owned()
}

#[test]
fn words_are_the_ones_that_are_written() {
    use ApprovalState::{Approved, Denied, Expired, Pending, Revoked, Spent};
    for state in [Pending, Approved, Denied, Revoked, Spent, Expired] {
        assert_eq!(state.as_str(), word(state));
    }
    for limit in [Limit::Steps, Limit::Calls, Limit::Tokens, Limit::Seconds, Limit::Usd] {
        assert_eq!((limit.as_str(), limit.to_string()), (word(limit).as_str(), word(limit)));
    }
    use EffectWord::{Connect, Delete, Metadata, Read, Tool, Unknown, Write};
    for effect in [Read, Write, Delete, Metadata, EffectWord::Run, Connect, Tool, Unknown] {
        assert_eq!(effect.as_str(), word(effect));
    }
    for code in Code::ALL {
        assert_eq!((code.as_str(), code.to_string()), (word(code).as_str(), word(code)));
    }
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        assert_eq!(Verdict::from_word(&word(verdict)), verdict);
    }
    assert_eq!(Verdict::from_word("Allow"), Verdict::Deny, "anything but the three words denies");
}

/// Every status has its word and its exit code; only three can be gone on from.
#[test]
fn a_status_has_an_exit_code() {
    use Status::{Blocked, BudgetExhausted, Cancelled, Completed, Failed, NeedsApproval, NeedsInput};
    let all = [Completed, Failed, NeedsApproval, NeedsInput, Blocked, BudgetExhausted, Cancelled];
    for status in all {
        assert_eq!((status.as_str(), status.to_string()), (word(status).as_str(), word(status)));
    }
    assert_eq!(all.map(Status::exit_code), [0, 1, 3, 3, 4, 5, 130]);
    assert_eq!(all.map(Status::can_resume), [false, false, true, true, false, false, true]);
}

/// Who did it survives the journal; a word that is nobody is refused.
#[test]
fn actors_are_read_as_they_are_written() {
    for (actor, text) in [
        (Actor::Model, "model"),
        (Actor::Code, "code"),
        (Actor::Person("dana:x".to_owned()), "person:dana:x"),
        (Actor::Hook("quota".to_owned()), "hook:quota"),
    ] {
        assert_eq!(word(&actor), text);
        assert_eq!(serde_json::from_value::<Actor>(json!(text)).unwrap(), actor);
    }
    for text in ["modell", "robot:x", ""] {
        let error = serde_json::from_value::<Actor>(json!(text)).unwrap_err().to_string();
        assert!(error.contains(&format!("`{text}` is no actor")), "{error}");
    }
}

/// What an event is called is the `type` of its line.
#[test]
fn an_event_is_called_what_its_line_says() {
    let call = CallId::new("c1-1");
    let digest = Digest::of(b"");
    assert_eq!(digest.to_string(), digest.as_str());
    let bodies = [
        Body::Resumed { harness: "0".to_owned() },
        Body::Recomposed(Box::default()),
        Body::Input { call: None, text: String::new() },
        Body::RequestFailed { turn: 1, code: Code::ProviderFailed, reason: String::new(), retry: true, usage: None },
        Body::Check(CheckRound { round: 1, calls: Vec::new() }),
        Body::Instructions(CheckRound { round: 1, calls: Vec::new() }),
        Body::Hook(HookNote { call, old: Value::Null, new: Value::Null }),
        Body::Approval { id: ApprovalId::new("a"), answer: Answer::Denied { reason: String::new() } },
        Body::Trim { turn: 1, policy: String::new(), results: Vec::new() },
        Body::Compacted(Box::default()),
    ];
    for body in bodies {
        assert_eq!(serde_json::to_value(&body).unwrap()["type"], body.kind());
    }
    assert_eq!(SessionId::new("s").to_string(), "s");
}

/// A finding is a text or a list, and each is asked for as what it is.
#[test]
fn a_finding_is_what_it_is() {
    let kind = || Question::Kind { path: "/a".to_owned() };
    let matches = || Question::Matches { pattern: "/a/*".to_owned() };
    let mut facts = Facts::default();
    facts.add(kind(), Some("file".into()));
    facts.add(matches(), Some(Finding::List(vec!["/a/b".to_owned()])));
    assert_eq!((facts.text(&kind()), facts.list(&kind())), (Some("file"), None));
    assert_eq!((facts.text(&matches()), facts.list(&matches())), (None, Some(["/a/b".to_owned()].as_slice())));
}

/// A run's words are those that its model gives, or its own.
#[test]
fn a_run_has_words_in_either_case() {
    let argv = vec!["git".to_owned(), "status".to_owned()];
    let plain = Run { program: "git".to_owned(), argv: argv.clone(), ..Run::default() };
    assert_eq!(plain.words(), argv);
    let words = vec!["git".to_owned(), "status".to_owned(), "--".to_owned()];
    assert_eq!(Run { words: words.clone(), ..plain }.words(), words);
    assert_eq!(Effect::Run(Run::default()).path(), None);
}

struct Silent;

impl Provider for Silent {
    fn model(&self) -> &str {
        "silent"
    }

    fn complete<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async { Err(fault(ProviderFault::Refused)) })
    }
}

fn fault(fault: ProviderFault) -> ProviderError {
    ProviderError { fault, message: "m".to_owned(), retry_after_ms: None, provider: Value::Null }
}

/// Only what may be better next time is tried again, and a script that does not fit says so by its code.
#[test]
fn faults_of_a_provider() {
    use ProviderFault::{
        Broken, CassetteBroken, CassetteDiffers, CassetteMiss, CassetteUnused, RateLimited, Refused, ScriptExhausted,
        ScriptUnused, Server, TooLong,
    };
    for again in [RateLimited, Server, Broken].map(fault) {
        assert!(again.can_retry() && again.code() == Code::ProviderFailed);
    }
    for (never, code) in [
        (Refused, Code::ProviderFailed),
        (TooLong, Code::ContextOverflow),
        (ScriptExhausted, Code::ScriptExhausted),
        (ScriptUnused, Code::ScriptUnused),
        (CassetteMiss, Code::CassetteMiss),
        (CassetteUnused, Code::CassetteUnused),
        (CassetteBroken, Code::CassetteBroken),
        (CassetteDiffers, Code::CassetteDiffers),
    ] {
        assert!(!fault(never).can_retry() && fault(never).code() == code);
    }
    assert!(Silent.ended(&BTreeMap::new()).is_ok());
    assert!(!Silent.virtual_time(), "a provider's time is real unless it says otherwise");
}
