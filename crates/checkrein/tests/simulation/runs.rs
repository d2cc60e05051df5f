//! The runs: the same bytes twice, many seeds under drawn plans, and every single fault. `cargo xtask simulate` runs the
//! same over many more.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use checkrein::contract::Digest;

use crate::classes::never_reached;
use crate::life::{Life, live};
use crate::plan::{Fault, Kind, OPS, Op, Plan};
use crate::world::{Sabotage, World};

const SEEDS: &str = "CHECKREIN_SIMULATION_SEEDS";
const FROM: &str = "CHECKREIN_SIMULATION_FROM";
const PLAN: &str = "CHECKREIN_SIMULATION_PLAN";
/// One seed in so many is also lived through with every single fault.
const LOOPED: u64 = 1_000;

/// What many lives came to.
#[derive(Default)]
struct Figures {
    lives: u64,
    sessions: u64,
    events: u64,
    processes: u64,
    crashes: u64,
    effects: u64,
    marks: BTreeMap<String, u64>,
    ends: BTreeMap<String, u64>,
    failures: Vec<String>,
    /// A seed whose life has nothing to look for.
    passed: Option<u64>,
}

impl Figures {
    fn add(&mut self, life: &Life) {
        self.lives += 1;
        self.sessions += life.sessions();
        self.events += life.events();
        self.crashes += u64::from(life.crashes);
        let inner = life.world.inner();
        self.processes += u64::from(inner.process);
        self.effects += inner.effects.values().map(|times| u64::from(*times)).sum::<u64>();
        for (mark, times) in &inner.marks {
            *self.marks.entry(mark.clone()).or_default() += times;
        }
        *self.ends.entry(life.ended.clone()).or_default() += 1;
    }

    fn join(&mut self, other: Self) {
        self.lives += other.lives;
        self.sessions += other.sessions;
        self.events += other.events;
        self.processes += other.processes;
        self.crashes += other.crashes;
        self.effects += other.effects;
        self.failures.extend(other.failures);
        for (mine, its) in [(&mut self.marks, other.marks), (&mut self.ends, other.ends)] {
            for (name, times) in its {
                *mine.entry(name).or_default() += times;
            }
        }
    }

    /// Lives once, and adds what came of it; a failure with the smallest plan that shows it.
    fn live(&mut self, seed: u64, plan: &Plan) -> Life {
        let life = live(seed, plan);
        self.add(&life);
        if let Some(first) = life.violations().first() {
            let smallest = plan.smallest(|plan| !live(seed, plan).violations().is_empty());
            self.failures.push(format!(
                "seed {seed}: {first}\n  again: cargo xtask simulate --seeds 1 --from {seed} --plan '{smallest}'"
            ));
        }
        life
    }

    /// Lives once with each single fault that this seed meets: the n-th operation fails, for n = 1, 2, 3 ... until a life
    /// meets no fault.
    fn every_fault(&mut self, seed: u64) {
        for (op, _, kinds) in OPS {
            for kind in *kinds {
                for stays in [false, true] {
                    if stays && !kind.lasts() {
                        continue;
                    }
                    self.nth_by_nth(seed, |nth| Fault { op: *op, nth, kind: *kind, stays });
                }
            }
        }
    }

    fn nth_by_nth(&mut self, seed: u64, fault: impl Fn(u64) -> Fault) {
        for nth in 1.. {
            let plan = Plan::of(fault(nth));
            let life = self.live(seed, &plan);
            if life.world.met() < plan.0.len() || !self.failures.is_empty() {
                return;
            }
        }
    }

    /// Looks for what only some lives come past: lives with `where_` in them, with this fault at one place after the other.
    fn reach(&mut self, mark: &str, where_: &str, op: Op, kind: Kind) {
        for (seed, nth) in (0..200).flat_map(|seed| (1..=12).map(move |nth| (seed, nth))) {
            if self.marks.contains_key(mark) {
                return;
            }
            if nth == 1 && !live(seed, &Plan::default()).world.inner().marks.contains_key(where_) {
                self.passed = Some(seed);
            }
            if self.passed != Some(seed) {
                self.live(seed, &Plan::of(Fault { op, nth, kind, stays: false }));
            }
        }
    }

    fn print(&self, seconds: f64) {
        println!(
            "{} lives, {} sessions, {} events, {} processes, {} crashes, {} effects, {seconds:.1} s",
            self.lives, self.sessions, self.events, self.processes, self.crashes, self.effects
        );
        let list = |title: &str, of: &BTreeMap<String, u64>| {
            println!("{title}");
            of.iter().for_each(|(name, times)| println!("  {times:>8} {name}"));
        };
        list("how they ended:", &self.ends);
        list("what they met:", &self.marks);
    }

    /// Fails where something is wrong.
    fn judge(&self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
        let never = never_reached(&self.marks);
        assert!(never.is_empty(), "never reached: {}", never.join(", "));
    }
}

fn drawn(seed: u64) -> Plan {
    Plan::drawn(&mut World::new(seed, Plan::default()).dice("plan"))
}

/// Lives through these seeds, spread over the processors: each life is one thread's.
fn many(seeds: std::ops::Range<u64>, one: impl Fn(&mut Figures, u64) + Sync) -> Figures {
    let next = AtomicU64::new(seeds.start);
    let all = Mutex::new(Figures::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut figures = Figures::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    one(&mut figures, seed);
                }
                all.lock().unwrap().join(figures);
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.failures.sort();
    all
}

/// Shows R168, I9: the same seed and plan give the same journals and transcripts, byte for byte. Before anything else is
/// believed of a simulation.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in 0..30 {
        let plan = drawn(seed);
        let (first, second) = (live(seed, &plan).bytes(), live(seed, &plan).bytes());
        assert!(first == second, "seed {seed}, plan {plan}: two runs differ");
        assert!(first.lines().count() > 2, "seed {seed}");
    }
}

/// What the test below starts twice.
#[test]
#[ignore = "only as the process that another test starts"]
fn printed_lives() {
    for seed in 100..130 {
        println!("\nlife {seed} {}", Digest::of(live(seed, &drawn(seed)).bytes().as_bytes()));
    }
}

/// Also in two processes, where addresses and hashes are others.
#[test]
fn two_processes_give_the_same_bytes() {
    let run = || {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program)
            .args(["--exact", "runs::printed_lives", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.starts_with("life ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (first, second) = (run(), run());
    assert_eq!(first.len(), 30);
    assert_eq!(first, second);
}

/// Shows R129, R147, R167, R168, R169, R201, I1, I2, I3, I4, I5, I6, I7, I8, I10: a few hundred sessions under drawn plans, and
/// two with every single fault. Nothing acknowledged is lost, nothing happens twice, nothing happens without a yes, and
/// every class of fault is reached.
#[test]
fn sessions_hold_under_faults() {
    let begin = Instant::now();
    let mut figures = many(0..200, |figures, seed| _ = figures.live(seed, &drawn(seed)));
    figures.join(many(6..8, |figures, seed| figures.every_fault(seed)));
    figures.reach("people/revokes-meanwhile", "people/approves", Op::Append, Kind::Rival);
    figures.reach("program/cancel", "call/append", Op::Program, Kind::Cancel);
    figures.reach("program/crash-after", "call/append", Op::Program, Kind::CrashAfter);
    figures.reach("spill/not-saved", "tool/huge", Op::Spill, Kind::NotSaved);
    figures.reach("people/settles-as-failed", "tool/well", Op::Tool, Kind::CrashBefore);
    figures.reach("people/answer-a-part", "call/delegates", Op::Tool, Kind::CrashAfter);
    figures.reach("spill/not-saved", "tool/huge", Op::Spill, Kind::NotSaved);
    for kind in [Kind::CrashAfter, Kind::TooLong, Kind::Refused] {
        figures.reach(&format!("summary/{}", kind.name()), "model/summary", Op::Request, kind);
    }
    figures.print(begin.elapsed().as_secs_f64());
    figures.judge();
    assert!(figures.crashes > 100 && figures.effects > 100, "they did something");
}

/// The checks can fail: a disk that forgets what it acknowledged, and a tool that does everything twice, are found.
#[test]
fn a_broken_world_is_noticed() {
    for (sabotage, words) in [
        (Sabotage::DiskForgets, "lost events that were acknowledged"),
        (Sabotage::EffectsTwice, "took place 2 times"),
        (Sabotage::StartsForgotten, "runs before its start is durable"),
    ] {
        let found = (0..40).any(|seed| {
            let life = crate::life::live_in(World::sabotaged(seed, drawn(seed), sabotage));
            life.violations().iter().any(|violation| violation.contains(words))
        });
        assert!(found, "{sabotage:?} is not noticed");
    }
}

#[test]
fn a_plan_is_written_as_it_is_read() {
    let text = "append:3:crash-inside,append:3+:full,request:1:429-for";
    assert_eq!(text.parse::<Plan>().unwrap().to_string(), text);
    assert_eq!("none".parse::<Plan>(), Ok(Plan::default()));
    for wrong in ["append", "append:0:full", "append:1:429", "append:1+:crash-before", "up:1:full", "append:1:full:2"] {
        assert!(wrong.parse::<Plan>().is_err(), "{wrong}");
    }
    for (op, name, kinds) in OPS {
        assert!(op.name() == *name && !kinds.is_empty());
        assert!(kinds.iter().all(|kind| kind.name() != "?"), "{name}");
    }
    assert_eq!(Op::Append.name(), "append");
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// `cargo xtask simulate`.
#[test]
#[ignore = "long: cargo xtask simulate"]
fn simulate() {
    let (seeds, from) = (number(SEEDS, 10_000), number(FROM, 1));
    let begin = Instant::now();
    if let Ok(plan) = std::env::var(PLAN) {
        let plan: Plan = plan.parse().expect("a plan");
        let life = live(from, &plan);
        print!("{}", life.bytes());
        println!("seed {from}, plan {plan}: {}", life.ended);
        life.violations().iter().for_each(|violation| println!("  {violation}"));
        assert!(life.violations().is_empty());
        return;
    }
    let figures = many(from..from + seeds, |figures, seed| {
        let plan = drawn(seed);
        let life = figures.live(seed, &plan);
        if seed.is_multiple_of(10) && live(seed, &plan).bytes() != life.bytes() {
            figures.failures.push(format!("seed {seed}, plan {plan}: two runs differ"));
        }
    });
    println!("== drawn plans, seeds {from} to {}", from + seeds - 1);
    figures.print(begin.elapsed().as_secs_f64());
    let looped = Instant::now();
    let every = many(from..from + seeds.div_ceil(LOOPED), |figures, seed| figures.every_fault(seed));
    println!("== every single fault, seeds {from} to {}", from + seeds.div_ceil(LOOPED) - 1);
    every.print(looped.elapsed().as_secs_f64());
    let mut all = figures;
    all.join(every);
    all.judge();
    println!("simulate: {} lives, 0 failed", all.lives);
}
