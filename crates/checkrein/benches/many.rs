//! A thousand sessions at the same time in one process, each with a script of its own to follow: what one of them takes of
//! memory, how many turns there are in a second, and how far behind the median the slowest is. Not timed by divan: it is one
//! run, and its figures are about the crowd.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein::contract::{Provider, Status};
use checkrein::journal::{EventStore, MemoryStore};
use checkrein::{Catalogue, Extensions, Front, Harness, PolicyFiles, RunOptions, Session, StateFolder, task};
use checkrein_providers::{Script, ScriptProvider};
use checkrein_toml::Source;
use futures_util::future::join_all;

const SESSIONS: usize = 1_000;
/// Turns of each, the last of which answers.
const TURNS: usize = 20;

fn main() {
    println!("{SESSIONS} sessions at the same time, {TURNS} turns each, one thread");
    // The first crowd's memory is all new; what comes later takes what was freed before, which tells nothing.
    let kib = crowd("durable journal", |home| checkrein::open_journal(home).expect("a journal"));
    println!("  {kib:.0} KiB of memory a session");
    crowd("journal in memory", |_| Arc::new(MemoryStore::default()));
}

/// A plan is written down in every turn but the last: a tool that changes nothing outside and asks nobody.
fn script() -> ScriptProvider {
    let mut text = "version = 1\n".to_owned();
    for turn in 1..TURNS {
        let call = format!("{{ tool = \"todo\", args = {{ items = [{{ text = \"step {turn}\" }}] }} }}");
        text.push_str("[[step]]\ntext = \"Let me see.\"\ncalls = [");
        text.push_str(&call);
        text.push_str("]\n");
    }
    text.push_str("[[step]]\ntext = \"done\"\n");
    let script = Script::load(Source { file: "many.toml", text: &text }).expect("a script");
    ScriptProvider::new(script, "many")
}

/// Drives them; how many KiB the process grew by for each.
fn crowd(what: &str, store: impl Fn(&StateFolder) -> Arc<dyn EventStore>) -> f64 {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let home = StateFolder::open(folder.path().join("state")).expect("a state folder");
    let store = store(&home);
    let provider: Arc<dyn Provider> = Arc::new(script());
    let extensions = Extensions { provider: Some(provider), ..Extensions::default() };
    let harness = Harness {
        launcher: None,
        store,
        home,
        policies: PolicyFiles::default(),
        models: Catalogue::default(),
        environment: Vec::new(),
        person_home: folder.path().to_path_buf(),
        folder: folder.path().to_path_buf(),
        extensions,
    };
    let task = task::from_words("Plan it.", folder.path()).expect("a task");
    let begin = || harness.begin(&task, &RunOptions::default(), Front::default()).expect("it begins");
    // What is made once for all of them is not counted.
    drop(begin());
    let before = resident_kib();
    let began = Instant::now();
    let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| begin()).collect();
    let beginning = began.elapsed();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let driven = Instant::now();
    let mut ends: Vec<Duration> = runtime.block_on(join_all(sessions.iter_mut().map(|session| async move {
        let outcome = session.drive().await.expect("it is driven");
        assert_eq!((outcome.status, outcome.steps as usize), (Status::Completed, TURNS));
        driven.elapsed()
    })));
    let took = driven.elapsed();
    let kib = resident_kib().saturating_sub(before) as f64 / SESSIONS as f64;
    ends.sort_unstable();
    let (first, median, last) = (ends[0], ends[SESSIONS / 2], ends[SESSIONS - 1]);
    println!("{what}");
    println!("  begun in {:.2} s, driven in {:.2} s", beginning.as_secs_f64(), took.as_secs_f64());
    println!("  {:.0} turns a second", (SESSIONS * TURNS) as f64 / took.as_secs_f64());
    println!(
        "  over after: first {:.2} s, median {:.2} s, last {:.2} s: {:.2} of the median",
        first.as_secs_f64(),
        median.as_secs_f64(),
        last.as_secs_f64(),
        last.as_secs_f64() / median.as_secs_f64()
    );
    kib
}

/// The resident set of this process, as the kernel counts it.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
