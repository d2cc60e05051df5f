//! What a turn costs: whole scripted sessions of 1 to 1,000 turns, each turn one call that is not pure, with the durable
//! journal and with one in memory, and what proving such a session costs. Divide by the number of turns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use checkrein::contract::{
    BoxFuture, Delta, Effect, Facts, Foreseen, Layer, ModelReply, ModelRequest, Place, PolicySource, Provider,
    ProviderError, RawCall, StopReason,
};
use checkrein::gate::{Approved, Failure, Rendered, RunContext, Tool, Typed};
use checkrein::journal::{EventStore, MemoryStore};
use checkrein::verify::{Anchors, verify};
use checkrein::{Catalogue, Extensions, Front, Harness, PolicyFiles, RunOptions, StateFolder, Unobserved, task};
use divan::Bencher;
use divan::counter::ItemsCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// Calls the tool so many times, then answers.
struct Turns(AtomicU32);

impl Provider for Turns {
    fn model(&self) -> &str {
        "turns"
    }

    fn complete<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        let calls = if left == 0 {
            Vec::new()
        } else {
            vec![RawCall { tool: "echo".to_owned(), arguments: json!({ "word": format!("w{left}") }).to_string() }]
        };
        let stop = if left == 0 { StopReason::End } else { StopReason::Calls };
        Box::pin(async move {
            let text = "Let me see.".to_owned();
            Ok(ModelReply { text, calls, stop, usage: None, virtual_ms: 0, provider: Value::Null })
        })
    }
}

struct Echo;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// A word.
    word: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Output {
    word: String,
}

impl Tool for Echo {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Says a word.";

    fn effects(&self, input: &Input, _place: &Place, _facts: &Facts) -> Foreseen {
        let args = json!({ "word": input.word });
        Foreseen::of(vec![Effect::Tool { tool: "echo".to_owned(), server: None, args }])
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        input: Input,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move { Ok(Output { word: input.word }) })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        Rendered::whole(format!("hi {}", output.word))
    }

    fn examples() -> Vec<Value> {
        vec![json!({ "word": "a" })]
    }
}

const POLICY: &str = "version = 1\n[[rule]]\nid = \"echo\"\ndecision = \"allow\"\nreason = \"a bench\"\neffect = \"tool\"\ntool = \"echo\"\n";

fn harness(folder: &TempDir, turns: u32, store: Option<Arc<dyn EventStore>>) -> Harness {
    let home = StateFolder::open(folder.path().join("state")).expect("a state folder");
    let extensions = Extensions {
        tools: vec![Typed::new(Echo).shared()],
        provider: Some(Arc::new(Turns(AtomicU32::new(turns)))),
        ..Extensions::default()
    };
    Harness {
        launcher: None,
        store: store.unwrap_or_else(|| checkrein::open_journal(&home).expect("a journal")),
        home,
        policies: PolicyFiles::default(),
        models: Catalogue::default(),
        environment: Vec::new(),
        person_home: folder.path().to_path_buf(),
        folder: folder.path().to_path_buf(),
        extensions,
    }
}

fn run(harness: &Harness, turns: u32) {
    run_with(harness, turns, &RunOptions::default());
}

fn run_with(harness: &Harness, turns: u32, options: &RunOptions) {
    let mut task = task::from_words("Echo.", &harness.folder).expect("a task");
    task.policy = vec![PolicySource {
        layer: Layer::Project,
        file: "policy.toml".to_owned(),
        text: POLICY.to_owned(),
        only_tightens: false,
    }];
    task.budget.steps = turns + 1;
    task.budget.calls = turns + 1;
    task.budget.tokens = u64::MAX;
    task.budget.seconds = 100_000;
    let front = Front { observer: Box::new(Unobserved), asker: None };
    let mut session = harness.begin(&task, options, front).expect("it begins");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(session.drive()).expect("it is driven");
    assert_eq!(outcome.tool_runs, BTreeMap::from([("echo".to_owned(), turns)]));
}

const TURNS: [u32; 4] = [1, 10, 100, 1_000];

/// With SQLite, flushed: what users have.
#[divan::bench(args = TURNS, sample_count = 10, sample_size = 1)]
fn durable(bencher: Bencher<'_, '_>, turns: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    bencher
        .counter(ItemsCount::new(turns))
        .with_inputs(|| harness(&folder, turns, None))
        .bench_local_values(|harness| run(&harness, turns));
}

/// With a journal in memory: what is left without the disk.
#[divan::bench(args = TURNS, sample_count = 10, sample_size = 1)]
fn in_memory(bencher: Bencher<'_, '_>, turns: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    bencher
        .counter(ItemsCount::new(turns))
        .with_inputs(|| harness(&folder, turns, Some(Arc::new(MemoryStore::default()))))
        .bench_local_values(|harness| run(&harness, turns));
}

/// The same while it is recorded.
#[divan::bench(args = [100, 1_000], sample_count = 5, sample_size = 1)]
fn recorded(bencher: Bencher<'_, '_>, turns: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let tape = folder.path().join("tape.jsonl");
    bencher
        .counter(ItemsCount::new(turns))
        .with_inputs(|| {
            _ = std::fs::remove_file(&tape);
            harness(&folder, turns, Some(Arc::new(MemoryStore::default())))
        })
        .bench_local_values(|harness| {
            run_with(&harness, turns, &RunOptions { record: Some(tape.clone()), ..RunOptions::default() });
        });
}

/// And played again, with reading the cassette.
#[divan::bench(args = [100, 1_000], sample_count = 5, sample_size = 1)]
fn played(bencher: Bencher<'_, '_>, turns: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let tape = folder.path().join("tape.jsonl");
    let memory = || Some(Arc::new(MemoryStore::default()) as Arc<dyn EventStore>);
    let options = RunOptions { record: Some(tape.clone()), ..RunOptions::default() };
    run_with(&harness(&folder, turns, memory()), turns, &options);
    let options = RunOptions { model: Some(format!("replay:{}", tape.display())), ..RunOptions::default() };
    bencher
        .counter(ItemsCount::new(turns))
        .with_inputs(|| {
            let mut harness = harness(&folder, turns, memory());
            harness.extensions.provider = None;
            harness
        })
        .bench_local_values(|harness| run_with(&harness, turns, &options));
}

/// `journal verify` of such a session: chain, signed head, and every invariant. Counted in events.
#[divan::bench(args = [100, 1_000], sample_count = 5, sample_size = 1)]
fn verified(bencher: Bencher<'_, '_>, turns: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let harness = harness(&folder, turns, None);
    run(&harness, turns);
    let row = harness.store.sessions().expect("a list").remove(0);
    bencher
        .counter(ItemsCount::new(row.head.seq))
        .bench_local(|| verify(&*harness.store, &row.id, &Anchors::default()).expect("it is read").expect("it holds"));
}
