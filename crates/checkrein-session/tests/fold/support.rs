//! Events by hand: the shortest of each kind.

use checkrein_contract::{
    Actor, Body, Budget, CallId, CheckRound, Code, ContextPolicy, Decision, Digest, EVENT_VERSION, Event, Finished,
    FinishedAs, Identity, Message, OnAsk, Place, ProposalKind, ProposedCall, SessionId, SessionOpened, Trimmed, Usage,
    Verdict,
};
use checkrein_session::State;
use serde_json::{Value, json};

/// A journal.
pub(crate) struct Log(pub(crate) Vec<Event>);

impl Log {
    /// These bodies, one after the other, without any time in between.
    pub(crate) fn of(bodies: Vec<Body>) -> Self {
        let event = |(index, body)| Event { v: EVENT_VERSION, seq: index as u64 + 1, at: 0, by: Actor::Code, body };
        Self(bodies.into_iter().enumerate().map(event).collect())
    }

    pub(crate) fn state(&self) -> State {
        State::fold(&self.0).unwrap()
    }

    pub(crate) fn error(&self) -> String {
        State::fold(&self.0).map(|_| ()).unwrap_err().to_string()
    }
}

/// A context policy that leaves nothing out.
pub(crate) struct Everything;

impl ContextPolicy for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn apply(&self, messages: &[std::sync::Arc<Message>], _room: Option<u64>) -> Trimmed {
        Trimmed { messages: messages.to_vec(), ..Trimmed::default() }
    }
}

pub(crate) fn opened() -> SessionOpened {
    SessionOpened {
        session: SessionId::new("s1"),
        harness: "0".to_owned(),
        task: "words".to_owned(),
        parent: None,
        forked: None,
        folder: None,
        prompt: "Do it.".to_owned(),
        system: String::new(),
        tools: Vec::new(),
        deferred: Vec::new(),
        skills: Vec::new(),
        model: "script:x".to_owned(),
        cassette: None,
        max_output: 1_000,
        context: Value::Null,
        policy: Vec::new(),
        policy_digest: Digest::of(b""),
        identity: Identity::default(),
        budget: Budget::default(),
        price: None,
        on_ask: OnAsk::Pause,
        stop_on: Vec::new(),
        verify: Vec::new(),
        place: Place {
            root: "/srv/shop".into(),
            cwd: "/srv/shop".into(),
            home: "/home/dev".into(),
            ..Place::default()
        },
        confinement: String::new(),
        confined: false,
        confinement_required: false,
        instructions: Vec::new(),
        unconfined_by: None,
        detectors: String::new(),
        variables: Vec::new(),
    }
}

pub(crate) fn session(opened: SessionOpened) -> Body {
    Body::Session(Box::new(opened))
}

pub(crate) fn request(turn: u32, attempt: u32) -> Body {
    let digest = Digest::of(b"");
    Body::Request {
        turn,
        attempt,
        digest: digest.clone(),
        prefix: digest,
        estimate: 100,
        max_output: 10,
        last: None,
        summarises: None,
    }
}

pub(crate) fn call(id: &str, tool: &str) -> ProposedCall {
    ProposedCall {
        id: CallId::new(id),
        tool: tool.to_owned(),
        args: json!({}),
        raw: false,
        parallel: false,
        through: None,
    }
}

/// A reply of this kind; what is malformed holds half a sentence.
pub(crate) fn reply(kind: ProposalKind, calls: Vec<ProposedCall>) -> Body {
    let text = if kind == ProposalKind::Malformed { "half a sent" } else { "" }.to_owned();
    Body::Proposal { turn: 1, kind, text, calls, usage: Usage::default(), provider: Value::Null, defect: None }
}

pub(crate) fn allowed(call: &str, tool: &str) -> Body {
    let decision = Decision { verdict: Verdict::Allow, code: Code::Allowed, reason: "r".to_owned(), trace: Vec::new() };
    let facts = checkrein_contract::Facts::default();
    Body::Decision { call: CallId::new(call), tool: tool.to_owned(), decision, facts, binds: None }
}

pub(crate) fn finished(call: &str, tool: &str, ended: FinishedAs, code: Option<Code>) -> Body {
    Body::Finished(Box::new(Finished::bare(CallId::new(call), tool.to_owned(), ended, code, "text".to_owned())))
}

/// A round of one check, and how it ended.
pub(crate) fn checks(round: u32, code: Option<Code>) -> Vec<Body> {
    let id = format!("v{round}-1");
    let how = if code.is_some() { FinishedAs::Failed } else { FinishedAs::Ok };
    let text = "the file does not hold it\nat all".to_owned();
    let finished = Finished::bare(CallId::new(&*id), "verify_file".to_owned(), how, code, text);
    vec![Body::Check(CheckRound { round, calls: vec![call(&id, "verify_file")] }), Body::Finished(Box::new(finished))]
}
