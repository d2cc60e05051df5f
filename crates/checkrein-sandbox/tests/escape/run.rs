//! One attempt by one user: first outside, where it has to succeed, then inside, and inside with layers left out. It runs
//! in a process of its own, so that what is attacked there is nobody else's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use checkrein_gate::Sandbox;
use checkrein_sandbox::{Confined, Layer, Limits, Settings, Unconfined};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::attempt::Attempt;
use crate::gate;
use crate::world::{PATH, World};

/// Longest time of an attempt, seconds, where it does not say.
const SECONDS: u64 = 20;

/// What one process is to do.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) attempt: Attempt,
    pub(crate) launcher: PathBuf,
    /// With layers left out as well.
    pub(crate) layers: bool,
    /// Whether to look what this machine lacks.
    pub(crate) looks: bool,
    /// What the host's environment has besides, or instead.
    pub(crate) env: Vec<(String, String)>,
}

/// How one run went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) escaped: bool,
    pub(crate) timed_out: bool,
    /// Processes that were left behind.
    pub(crate) left: usize,
    /// It could not be run.
    pub(crate) failed: String,
    /// The end of what it printed.
    pub(crate) said: String,
}

/// How all of them went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcomes {
    pub(crate) outside: Outcome,
    pub(crate) inside: Outcome,
    /// By the name of the layer: with all but this one.
    pub(crate) off: BTreeMap<String, Outcome>,
    /// By the name of the layer: with this one alone. The network's needs namespaces around it.
    pub(crate) only: BTreeMap<String, Outcome>,
    /// Layers that are not to be had here, with the reason.
    pub(crate) lacks: Vec<String>,
    /// With no layer: what is held whatever there is.
    pub(crate) bare: Option<Outcome>,
}

impl Outcome {
    /// Nothing came of it: whatever was tried, and whatever it left.
    pub(crate) fn held(&self) -> bool {
        !self.escaped && self.left == 0 && self.failed.is_empty()
    }
}

/// Carries the order out.
pub(crate) fn all(order: &Order) -> Outcomes {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let one = |without: Option<&[Layer]>| runtime.block_on(one(order, without));
    let mut outcomes = Outcomes { outside: one(None), inside: one(Some(&[])), ..Outcomes::default() };
    if order.looks {
        outcomes.lacks = lacks(order);
    }
    // What is not contained with all of them is not with less.
    if order.layers && order.attempt.gap.is_empty() && !order.attempt.is_work() {
        for layer in Layer::ALL {
            let others: Vec<Layer> = Layer::ALL.into_iter().filter(|other| *other != layer).collect();
            outcomes.off.insert(layer.as_str().to_owned(), one(Some(&[layer])));
            let others = match layer {
                Layer::Network => others.into_iter().filter(|other| *other != Layer::Namespaces).collect(),
                _ => others,
            };
            outcomes.only.insert(layer.as_str().to_owned(), one(Some(&others)));
        }
        outcomes.bare = Some(one(Some(&Layer::ALL)));
    }
    outcomes
}

/// Runs it once in a fresh world; outside where no layers are named.
async fn one(order: &Order, without: Option<&[Layer]>) -> Outcome {
    let (attempt, world) = (&order.attempt, World::new());
    if !attempt.setup.is_empty() && !world.outside(&attempt.setup) {
        return Outcome { failed: "its setup failed".to_owned(), ..Outcome::default() };
    }
    let mut outcome = Outcome::default();
    if attempt.plain && without.is_none() {
        outcome.said = world.plain(&attempt.runs);
    } else {
        let seconds = attempt.seconds.filter(|_| without.is_some()).unwrap_or(SECONDS);
        let argv = match attempt.direct {
            true => attempt.runs.split(' ').map(|word| world.path(word)).collect(),
            false => world.argv(&attempt.runs),
        };
        match gate::call(
            &world,
            sandbox(order, &world, without),
            &attempt.grant,
            &argv,
            (seconds * 1_000, &CancellationToken::new()),
        )
        .await
        {
            Ok(ended) => {
                outcome.timed_out = ended.timed_out;
                outcome.said = format!("{}{}", end_of(&ended.stdout), end_of(&ended.stderr));
                let wanted = attempt.shows.replace("MARK", &world.mark);
                outcome.escaped = !wanted.is_empty() && ended.stdout.contains(&wanted);
            }
            Err(reason) => outcome.failed = end_of(&reason),
        }
    }
    if attempt.shows.is_empty() {
        outcome.escaped = world.outside(&attempt.did);
    } else if attempt.plain && without.is_none() {
        outcome.escaped = outcome.said.contains(&attempt.shows.replace("MARK", &world.mark));
    }
    outcome.left = world.left().len();
    world.end_left();
    if !attempt.after.is_empty() {
        world.outside(&attempt.after);
    }
    outcome
}

/// As much as a person reads of it.
fn end_of(text: &str) -> String {
    let from = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

fn sandbox(order: &Order, world: &World, without: Option<&[Layer]>) -> Arc<dyn Sandbox> {
    let env = environment(order, world);
    let Some(without) = without else { return Arc::new(Unconfined::new(env)) };
    let confined = Confined::new(settings(order, world, env, without));
    if order.attempt.limits.is_empty() {
        return Arc::new(confined);
    }
    Arc::new(confined.with_limits(limits(&order.attempt)))
}

fn settings(order: &Order, world: &World, env: Vec<(String, String)>, without: &[Layer]) -> Settings {
    Settings { launcher: order.launcher.clone(), env: env.into(), home: world.home.clone(), without: without.to_vec() }
}

fn environment(order: &Order, world: &World) -> Vec<(String, String)> {
    let home = world.home.to_str().unwrap().to_owned();
    let mut env = order.env.clone();
    for (name, value) in [("PATH", PATH.to_owned()), ("HOME", home)] {
        if !env.iter().any(|(there, _)| there == name) {
            env.push((name.to_owned(), value));
        }
    }
    env
}

/// What this machine does not give this user.
fn lacks(order: &Order) -> Vec<String> {
    let world = World::new();
    let confined = Confined::new(settings(order, &world, environment(order, &world), &[]));
    let found = confined.found();
    let lacks = found.lacks.iter().map(|lack| format!("no {}: {}", lack.layer.as_str(), lack.reason));
    lacks.chain(found.broken.clone()).collect()
}

/// Small limits, so that what goes past them outside harms nobody.
fn limits(attempt: &Attempt) -> Limits {
    let of = |name: &str, usual: u64| {
        attempt.limits.iter().find(|(said, _)| said == name).map_or(usual, |(_, number)| *number)
    };
    Limits {
        all_bytes: of("all", 1 << 40),
        disk_bytes: of("disk", u64::MAX),
        data_bytes: of("data", 1 << 30),
        file_bytes: of("file", 1 << 30),
        open_files: of("files", 1 << 10),
        processes: of("processes", 1 << 10),
        cpu_seconds: of("cpu", 60),
        private_bytes: of("private", 1 << 30),
    }
}
