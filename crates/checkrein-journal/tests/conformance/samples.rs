//! Sample events: every kind at least once, as one run of a script would leave them, and small ones in any number.
//!
//! What differs between two runs of the same script is in [`World`], and nowhere else.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, Approvers, Body, Budget, CallId, CallKind, Check, CheckRound, Code,
    Compacted, Decision, Dependency, Digest, EVENT_VERSION, Effect, Event, Facts, Finding, Finished, FinishedAs,
    HookNote, Identity, Layer, Limit, Note, OnAsk, Place, PolicySource, Presentation, ProposalKind, ProposedCall,
    Question, Recomposed, Remembered, RuleRef, SeenFile, SessionChange, SessionId, SessionOpened, Settlement, Skill,
    Status, Stop, StopOn, ToolSpec, TraceStep, TrimmedResult, Usage, Verdict, Winner, canonical_string,
};
use checkrein_journal::{EventStore, Head, Keeps, STORES, SessionMeta, StoreKind};
use rusqlite::Connection;
use serde_json::{Value, json};

/// What differs between two runs of one script.
pub(crate) struct World {
    pub(crate) session: &'static str,
    pub(crate) approval: &'static str,
    pub(crate) root: &'static str,
    pub(crate) home: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) spill: &'static str,
    pub(crate) at: u64,
    pub(crate) duration_ms: u64,
}

pub(crate) const WORLD: World = World {
    session: "s-1a2b3c4d",
    approval: "a-0123456789",
    root: "/state/s-1a2b3c4d/work",
    home: "/home/dev",
    folder: "/repo/examples/refunds",
    spill: "/state/s-1a2b3c4d/work/.spill",
    at: 1_700_000_000_000,
    duration_ms: 17,
};

pub(crate) fn meta() -> SessionMeta {
    SessionMeta { created_at: WORLD.at, task: "refunds".to_owned(), model: "script:script.toml".to_owned() }
}

/// One small event.
pub(crate) fn note(seq: u64, text: &str) -> Event {
    let body = Body::Input { call: None, text: text.to_owned() };
    Event { v: EVENT_VERSION, seq, at: WORLD.at + seq, by: Actor::Person("sam".to_owned()), body }
}

/// One event with a field that goes out as a payload.
pub(crate) fn big(seq: u64, bytes: usize) -> Event {
    note(seq, &format!("{seq} ").repeat(bytes / 2))
}

/// A session of this id, in a store, with these events.
pub(crate) fn filled(store: &dyn EventStore, session: &SessionId, events: &[Event]) -> Head {
    store.create(session, &meta(), events).expect("the session is new, and the events follow one another")
}

/// The stores that keep what they are given on disk.
pub(crate) fn on_disk() -> impl Iterator<Item = &'static StoreKind> {
    STORES.iter().filter(|kind| kind.keeps == Keeps::OnDisk)
}

pub(crate) fn open(kind: &StoreKind, folder: &Path) -> Box<dyn EventStore> {
    (kind.open)(&folder.join("journal.db")).unwrap_or_else(|error| panic!("{}: {error}", kind.name))
}

/// As somebody with a shell would: the triggers are in the way only of an accident.
pub(crate) fn change_by_hand(path: &Path, change: &str) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
             DROP TRIGGER IF EXISTS events_stay; DROP TRIGGER IF EXISTS events_stand; DROP TRIGGER IF EXISTS blobs_stand;
             DROP TRIGGER IF EXISTS heads_stay; DROP TRIGGER IF EXISTS heads_go_on;
             {change}"
        ))
        .unwrap();
}

/// The chain as an outsider would recompute it from its description alone.
pub(crate) fn hash_by_hand(before: &str, body: &str, session: &str) -> String {
    let envelope = json!({"session": session, "event": serde_json::from_str::<Value>(body).unwrap()});
    Digest::of(format!("{before}{}", canonical_string(&envelope)).as_bytes()).to_string()
}

/// A committed file of an older format.
pub(crate) fn old_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A copy of a committed journal in a folder of its own.
pub(crate) fn old_journal(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    std::fs::copy(old_file(name), &path).unwrap();
    (folder, path)
}

/// Says on the terminal, past the test harness, that something was not tested.
pub(crate) fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Every kind of event, as one run leaves them.
pub(crate) fn run(world: &World) -> Vec<Event> {
    let bodies = opening(world).into_iter().chain(asking(world)).chain(working(world)).chain(ending(world));
    let numbered = bodies.enumerate().map(|(index, (by, body))| {
        let seq = index as u64 + 1;
        Event { v: EVENT_VERSION, seq, at: world.at + seq * world.duration_ms, by, body }
    });
    numbered.collect()
}

fn opening(world: &World) -> Vec<(Actor, Body)> {
    let policy = PolicySource {
        layer: Layer::Project,
        file: format!("{}/policy.toml", world.folder),
        text: "version = 1\n".repeat(200),
        only_tightens: false,
    };
    let opened = SessionOpened {
        session: SessionId::new(world.session),
        harness: "0.1.0".to_owned(),
        task: "refunds".to_owned(),
        parent: None,
        forked: None,
        folder: Some(world.folder.to_owned()),
        prompt: "Refund order o-1.".to_owned(),
        system: "You work in a harness.".to_owned(),
        tools: vec![ToolSpec {
            name: "issue_refund".to_owned(),
            description: "Refund an order.".to_owned(),
            parameters: json!({"type": "object", "properties": {"amount": {"type": "number", "minimum": 0.01}}}),
        }],
        deferred: Vec::new(),
        skills: vec![Skill {
            name: "refunds".to_owned(),
            description: "How refunds work.".to_owned(),
            tools: vec!["issue_refund".to_owned()],
            body: "Look the order up first.".to_owned(),
        }],
        model: "script:script.toml".to_owned(),
        cassette: None,
        max_output: 4_096,
        context: json!({"name": "keep_everything"}),
        policy_digest: Digest::of(policy.text.as_bytes()),
        policy: vec![policy],
        identity: Identity([("customer".to_owned(), "c-17".to_owned())].into()),
        budget: Budget::default(),
        price: None,
        on_ask: OnAsk::Pause,
        stop_on: vec![StopOn::Deny],
        verify: vec![Check::File { file: "a.txt".to_owned(), contains: "x".to_owned() }],
        place: Place {
            root: world.root.to_owned(),
            cwd: world.root.to_owned(),
            home: world.home.to_owned(),
            ..Place::default()
        },
        confinement: "landlock 6, seccomp".to_owned(),
        unconfined_by: None,
        confinement_required: false,
        instructions: vec!["AGENTS.md".to_owned()],
        confined: false,
        detectors: "2".to_owned(),
        variables: vec![("spill".to_owned(), world.spill.to_owned())],
    };
    let request = Body::Request {
        turn: 1,
        attempt: 1,
        digest: Digest::of(b"request"),
        prefix: Digest::of(b"prefix"),
        estimate: 900,
        max_output: 4_096,
        last: Some(Limit::Steps),
        summarises: None,
    };
    let failed = Body::RequestFailed {
        turn: 1,
        code: Code::ProviderFailed,
        reason: "429: too many requests".to_owned(),
        retry: true,
        usage: Some(Usage { input: 900, output: 0, estimated: true, ..Usage::default() }),
    };
    vec![(Actor::Code, Body::Session(Box::new(opened))), (Actor::Code, request), (Actor::Code, failed)]
}

fn refund(amount: f64) -> Value {
    json!({"order": "o-1", "amount": amount})
}

fn asking(world: &World) -> Vec<(Actor, Body)> {
    let call = CallId::new("c1-1");
    let effects = vec![
        Effect::Tool { tool: "issue_refund".to_owned(), server: None, args: refund(10.5) },
        Effect::write(format!("{}/log.txt", world.root)),
    ];
    let rule =
        RuleRef { layer: Layer::Project, rule: "refund-small".to_owned(), file: "policy.toml".to_owned(), line: 7 };
    let decision = Decision {
        verdict: Verdict::Ask,
        code: Code::AskRule,
        reason: "a person approves each refund".to_owned(),
        trace: vec![TraceStep {
            effect: effects.first().cloned(),
            part: 0,
            winner: Winner::Rule(rule),
            decision: Verdict::Ask,
            also: Vec::new(),
            silent: Vec::new(),
        }],
    };
    let path = format!("{}/log.txt", world.root);
    let mut facts = Facts::default();
    facts.add(Question::RealPath { path: path.clone() }, Some(Finding::Text(path)));
    let request = ApprovalRequest {
        id: ApprovalId::new(world.approval),
        session: SessionId::new(world.session),
        call: call.clone(),
        tool: "issue_refund".to_owned(),
        arguments: refund(10.5),
        effects,
        reason: decision.reason.clone(),
        binds: Digest::of(world.root.as_bytes()),
        rests_on: vec![Dependency { what: "the arguments".to_owned(), digest: Digest::of(world.root.as_bytes()) }],
        runs: BTreeMap::new(),
        identity: Identity::default(),
        approvers: Approvers::default(),
        policy: Digest::of(b"policy"),
        requested_at: world.at,
        expires_at: world.at + 86_400_000,
    };
    let proposed = ProposedCall {
        id: call.clone(),
        tool: request.tool.clone(),
        args: refund(10.5),
        raw: false,
        parallel: false,
        through: None,
    };
    let proposal = Body::Proposal {
        turn: 1,
        kind: ProposalKind::Calls,
        text: format!("I refund it and note it in {}/log.txt.", world.root),
        calls: vec![proposed],
        usage: Usage { input: 900, output: 40, estimated: false, ..Usage::default() },
        provider: json!({"step": 1}),
        defect: None,
    };
    let hook = Body::Hook(HookNote { call: call.clone(), old: refund(10.25), new: refund(10.5) });
    let decided =
        Body::Decision { call, tool: request.tool.clone(), decision, facts, binds: Some(request.binds.clone()) };
    let waits = Stop {
        status: Status::NeedsApproval,
        code: Code::NeedsApproval,
        reason: format!("waits for {}", world.approval),
        limit: None,
    };
    let answer = Answer::Approved { expires_at: world.at + 3_600_000, uses: 1 };
    vec![
        (Actor::Model, proposal),
        (Actor::Hook("round".to_owned()), hook),
        (Actor::Code, decided),
        (Actor::Code, Body::Ask(Box::new(request))),
        (Actor::Code, Body::Stop(waits)),
        (Actor::Person("sam".to_owned()), Body::Approval { id: ApprovalId::new(world.approval), answer }),
        (Actor::Code, Body::Resumed { harness: "0.1.0".to_owned() }),
    ]
}

fn working(world: &World) -> Vec<(Actor, Body)> {
    let call = CallId::new("c1-1");
    let started = Body::Started {
        call: call.clone(),
        tool: "issue_refund".to_owned(),
        kind: CallKind::Once,
        approval: Some(ApprovalId::new(world.approval)),
        key: Digest::of(world.session.as_bytes()),
    };
    let finished = Finished {
        cause: Some("behind it".to_owned()),
        call: call.clone(),
        tool: "issue_refund".to_owned(),
        ended: FinishedAs::Ok,
        code: None,
        text: format!("refunded; the rest is in {}/c1-1.txt\n{}", world.spill, "line\n".repeat(400)),
        cut: true,
        value: Some(Digest::of(world.spill.as_bytes())),
        shown: Some(Presentation::Line { text: "refunded 10.5".to_owned() }),
        sources: vec!["orders/o-1".to_owned()],
        seen: vec![SeenFile { path: format!("{}/log.txt", world.root), version: Some(Digest::of(b"log")) }],
        change: Some(SessionChange::SkillLoaded { skill: "refunds".to_owned() }),
        duration_ms: world.duration_ms,
    };
    let said = Body::Input { call: Some(CallId::new("c2-1")), text: format!("look in {}/notes", world.home) };
    let trimmed = TrimmedResult { call, tool: "issue_refund".to_owned(), tokens: 500 };
    let trim = Body::Trim { turn: 2, policy: "trim_to_budget".to_owned(), results: vec![trimmed] };
    let compacted = Compacted {
        turn: 3,
        policy: "compact".to_owned(),
        upto: 4,
        tokens: 900,
        calls: vec![CallId::new("c1-1")],
        summary: Some(format!("o-1 was refunded; see {}/c1-1.txt", world.spill)),
        usage: Some(Usage { input: 700, output: 20, ..Usage::default() }),
        ..Compacted::default()
    };
    vec![
        (Actor::Code, started),
        (Actor::Code, Body::Finished(Box::new(finished))),
        (Actor::Person("sam".to_owned()), said),
        (Actor::Code, trim),
        (Actor::Code, Body::Compacted(Box::new(compacted))),
    ]
}

fn ending(world: &World) -> Vec<(Actor, Body)> {
    let check = ProposedCall {
        id: CallId::new("v1-1"),
        tool: "check".to_owned(),
        args: json!({"file": format!("{}/a.txt", world.root)}),
        raw: false,
        parallel: false,
        through: None,
    };
    let stop = Stop { status: Status::Completed, code: Code::Done, reason: "answered".to_owned(), limit: None };
    let sam = Actor::Person("sam".to_owned());
    let (id, code) = (ApprovalId::new(world.approval), Code::ApprovalSpent);
    let late = Body::AnswerRefused { id, code, reason: "it was used already".to_owned() };
    let settlement = Settlement::Failed;
    let settled = Body::Settled { call: CallId::new("c2-2"), settlement, note: "it never came".to_owned() };
    let rule = Remembered::id(&ApprovalId::new(world.approval));
    let remembered = Remembered {
        rule: rule.clone(),
        request: ApprovalId::new(world.approval),
        text: format!("version = 1\n# in {}\n", world.root),
        policy_digest: Digest::of(world.root.as_bytes()),
    };
    let (reason, policy_digest) = (format!("{rule} was for yesterday"), Digest::of(world.session.as_bytes()));
    let forgotten = Body::Forgotten { rule, reason, policy_digest };
    let other = Recomposed { changes: vec!["the model is script:b".to_owned()], ..Recomposed::default() };
    let seen = Note { name: "seen".to_owned(), fields: [("whom".to_owned(), json!("sam"))].into_iter().collect() };
    vec![
        (Actor::Code, Body::Instructions(CheckRound { round: 1, calls: vec![check.clone()] })),
        (Actor::Code, Body::Check(CheckRound { round: 1, calls: vec![check] })),
        (Actor::Code, Body::Stop(stop)),
        (sam.clone(), late),
        (sam.clone(), settled),
        (sam.clone(), Body::Remembered(Box::new(remembered))),
        (sam.clone(), forgotten),
        (sam.clone(), Body::Budget { budget: Budget::default() }),
        (sam, Body::Recomposed(Box::new(other))),
        (Actor::Code, Body::Note(seen)),
    ]
}
