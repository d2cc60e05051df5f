//! A journal of a million events: what it takes to fill, to open, to append to, to list, to read and to verify, and how much
//! memory. It prints its figures itself: most things here are done once, and a harness that repeats them would take hours.
//!
//! `cargo bench -p checkrein-journal --bench million [-- EVENTS]`

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use checkrein_contract::{
    Actor, Body, CallId, Code, Decision, EVENT_VERSION, Effect, Event, Facts, Layer, RuleRef, SessionId, TraceStep,
    Verdict, Winner,
};
use checkrein_journal::{EventStore, Head, SessionMeta, SqliteStore, verify_chain};

/// Events of a short session.
const SHORT: u64 = 1_000;
/// One part in so many is a single long session.
const LONG: u64 = 10;
/// Events of one append while filling.
const BATCH: u64 = 1_000;
/// Appends of one event that are timed.
const SINGLE: usize = 400;
/// Threads that append at once, and how often each.
const THREADS: usize = 64;
const EACH: u64 = 100;

fn main() {
    let asked = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let events: u64 = asked.unwrap_or(1_000_000);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = folder.path().join("journal.db");
    let store = SqliteStore::open(&path).expect("a journal");
    let sample = decision();
    let bytes = serde_json::to_string(&sample).expect("JSON").len();
    say("an event", format!("{bytes} bytes of JSON"));

    singles(&store, "s-before", "append of one, flushed, empty journal", &sample);
    let start = Instant::now();
    let sessions = fill(&store, events, &sample);
    rate(&format!("append, {BATCH} a commit"), events, start.elapsed());
    singles(&store, "s-after", "append of one, flushed, full journal", &sample);
    let long = SessionId::new("s-long");
    goes_on(&store, &long, "the same, to the long session", &sample);
    together(&store, &sample);
    drop(store);

    say("size of the file", format!("{} bytes an event", file_bytes(&path) / events));
    let start = Instant::now();
    let store = SqliteStore::open(&path).expect("a journal");
    took("open", start.elapsed());
    let start = Instant::now();
    let listed = store.sessions().expect("a list").len();
    took(&format!("list of {listed} sessions"), start.elapsed());
    let start = Instant::now();
    let read = store.read(&SessionId::new("s-7"), 1).expect("a session").len();
    took(&format!("read of a session of {read} events"), start.elapsed());

    forget_peak();
    let before = memory("VmRSS");
    let start = Instant::now();
    let verified: u64 =
        sessions.iter().map(|session| verify_chain(&store, session, None).expect("sound").head.seq).sum();
    rate("verify: chain, signed heads, spelling", verified, start.elapsed());
    say("memory while verifying", format!("{} KB at most, {before} KB before", memory("VmHWM")));
}

fn fill(store: &dyn EventStore, events: u64, sample: &Event) -> Vec<SessionId> {
    let long = (SessionId::new("s-long"), events / LONG);
    let short = (events - long.1) / SHORT;
    let all = (0..short).map(|number| (SessionId::new(format!("s-{number}")), SHORT)).chain([long]);
    all.map(|(session, length)| {
        let mut head = store.create(&session, &meta(), &[]).expect("a session");
        while head.seq < length {
            let upto = (head.seq + BATCH).min(length);
            let batch: Vec<Event> = (head.seq + 1..=upto).map(|seq| Event { seq, ..sample.clone() }).collect();
            head = store.append(&session, &head, &batch).expect("an append");
        }
        session
    })
    .collect()
}

fn singles(store: &dyn EventStore, name: &str, what: &str, sample: &Event) {
    let session = SessionId::new(name);
    store.create(&session, &meta(), &[]).expect("a session");
    goes_on(store, &session, what, sample);
}

fn goes_on(store: &dyn EventStore, session: &SessionId, what: &str, sample: &Event) {
    let mut head = store.head(session).expect("a head");
    let mut times: Vec<Duration> = Vec::with_capacity(SINGLE);
    for _ in 0..SINGLE {
        let event = Event { seq: head.seq + 1, ..sample.clone() };
        let start = Instant::now();
        head = store.append(session, &head, &[event]).expect("an append");
        times.push(start.elapsed());
    }
    times.sort();
    let (median, late) = (times[SINGLE / 2], times[SINGLE * 95 / 100]);
    say(what, format!("{} us median, {} us at 95 of 100", median.as_micros(), late.as_micros()));
}

fn together(store: &dyn EventStore, sample: &Event) {
    let names: Vec<SessionId> = (0..THREADS).map(|number| SessionId::new(format!("s-thread-{number}"))).collect();
    let heads: Vec<Head> = names.iter().map(|name| store.create(name, &meta(), &[]).expect("a session")).collect();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (name, head) in names.iter().zip(heads) {
            scope.spawn(move || {
                let mut head = head;
                for seq in 1..=EACH {
                    head = store.append(name, &head, &[Event { seq, ..sample.clone() }]).expect("an append");
                }
            });
        }
    });
    rate(&format!("append of one, flushed, {THREADS} threads"), THREADS as u64 * EACH, start.elapsed());
}

fn meta() -> SessionMeta {
    SessionMeta { created_at: 1, task: "million".to_owned(), model: "none".to_owned() }
}

/// A decision about a program, of about the size that decisions have.
fn decision() -> Event {
    let rule = RuleRef { layer: Layer::Project, rule: "tests".to_owned(), file: "policy.toml".to_owned(), line: 7 };
    let args = serde_json::json!({ "order": "o-1", "amount": 10.5, "reason": "it came broken and was sent back" });
    let effect = Effect::Tool { tool: "issue_refund".to_owned(), server: None, args };
    let step = TraceStep {
        effect: Some(effect),
        part: 0,
        winner: Winner::Rule(rule),
        decision: Verdict::Allow,
        also: Vec::new(),
        silent: Vec::new(),
    };
    let decision = Decision {
        verdict: Verdict::Allow,
        code: Code::Allowed,
        reason: "small refunds are given at once".to_owned(),
        trace: vec![step],
    };
    let call = CallId::new("c1-1");
    let tool = "issue_refund".to_owned();
    let body = Body::Decision { call, tool, decision, facts: Facts::default(), binds: None };
    Event { v: EVENT_VERSION, seq: 1, at: 1_700_000_000_000, by: Actor::Code, body }
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Lets the kernel count the peak of memory from here on; where it can not, the peak is that of the whole run.
fn forget_peak() {
    _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// A line of this process's status, kilobytes.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}

fn took(what: &str, time: Duration) {
    say(what, format!("{:.2} ms", time.as_secs_f64() * 1_000.0));
}

fn rate(what: &str, count: u64, time: Duration) {
    let seconds = time.as_secs_f64();
    say(what, format!("{count} in {seconds:.2} s, {:.0} a second", count as f64 / seconds));
}

fn say(what: &str, figure: String) {
    _ = writeln!(std::io::stdout(), "{what:<44} {figure}");
}
