//! Kills at random moments: the real binary over real files, with random work from a seed. It is killed, taken up again and
//! killed again until the work is done; then the world is read independently. `cargo xtask kill` does it many hundred times.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::env;
use std::fmt::Write as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use checkrein_contract::Digest;
use serde_json::Value;

use crate::kills::Bench;
use crate::support::{Ended, ended};

const TIMES: &str = "CHECKREIN_KILL_TIMES";
const SEED: &str = "CHECKREIN_KILL_SEED";
/// Kills of one session before it may end in peace: more of them would only hit the start again and again.
const EACH: u64 = 12;

/// Throws that follow from a seed and a name.
fn throw(seed: u64, what: &str, below: u64) -> u64 {
    let digest = Digest::of(format!("{seed}/{what}").as_bytes());
    u64::from_str_radix(&digest.as_str()[..12], 16).expect("hex") % below
}

/// A script of three to seven turns, and the words it leaves in the ledger.
fn work(seed: u64) -> (String, Vec<String>) {
    let mut script = "version = 1\n".to_owned();
    let mut words = Vec::new();
    for turn in 0..3 + throw(seed, "turns", 5) {
        script.push_str("[[step]]\ncalls = [\n");
        for call in 0..1 + throw(seed, &format!("{turn}"), 3) {
            let word = format!("w{turn}-{call}");
            let line = match throw(seed, &word, 4) {
                0 => format!("{{ tool = \"write\", args = {{ file_path = \"{word}.txt\", content = \"x\" }} }}"),
                1 => format!("{{ tool = \"note\", args = {{ word = \"{word}\" }} }}"),
                _ => format!("{{ tool = \"bash\", args = {{ command = \"sh append.sh {word}\" }} }}"),
            };
            if !line.contains("\"write\"") {
                words.push(word);
            }
            writeln!(script, "    {line},").expect("a string");
        }
        script.push_str("]\n");
    }
    script.push_str("[[step]]\ntext = \"done\"\n");
    words.sort_unstable();
    (script, words)
}

/// What the kills came to.
#[derive(Debug, Default)]
struct Figures {
    sessions: u64,
    kills: u64,
    /// Processes that were done before the kill came.
    missed: u64,
    /// Events that a later process did not find.
    lost: u64,
    /// How often a person had to say what became of a call.
    asked: u64,
    events: u64,
    effects: u64,
}

impl Figures {
    /// One process, killed after a random time if it takes that long.
    fn killed(&mut self, bench: &Bench, arguments: &[&str], after: Duration) -> Option<Ended> {
        let mut command = bench.desk.command(arguments);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        thread::sleep(after); // no wait: the moment of the kill is what is random here
        if child.try_wait().expect("it can be asked").is_none() {
            child.kill().expect("it can be killed");
        }
        let output = child.wait_with_output().expect("it ends");
        if output.status.code().is_some() {
            self.missed += 1;
            return Some(ended(output));
        }
        self.kills += 1;
        None
    }

    /// One session, killed and taken up until it is done.
    fn session(&mut self, seed: u64, whole_run: Duration) {
        let (script, words) = work(seed);
        let bench = Bench::with(&script, &words.iter().map(String::as_str).collect::<Vec<_>>());
        let mut known: Vec<Value> = Vec::new();
        for attempt in 0_u64.. {
            let begun = bench.session().filter(|(_, events)| *events > 0).map(|(session, _)| session);
            let arguments =
                begun.as_deref().map_or(vec!["run", "task", "--json"], |session| vec!["resume", session, "--json"]);
            let longest = if attempt < EACH { whole_run } else { Duration::from_secs(60) };
            let after = longest.mul_f64(throw(seed, &format!("kill {attempt}"), 1_000) as f64 / 1_000.0);
            let done =
                if attempt < EACH { self.killed(&bench, &arguments, after) } else { Some(bench.desk.run(&arguments)) };
            let Some((session, _)) = bench.session().filter(|(_, events)| *events > 0) else { continue };
            let events = bench.lines(&session);
            let what = format!("seed {seed}, attempt {attempt}, {after:?}");
            if !events.starts_with(&known) {
                self.lost += known.iter().zip(&events).filter(|(before, now)| before != now).count() as u64;
                self.lost += known.len().saturating_sub(events.len()) as u64;
                panic!("{what}: events are gone");
            }
            known = events;
            let verified = bench.desk.run(["journal", "verify", &session]);
            assert_eq!(verified.code, 0, "{what}: {}", verified.out);
            let Some(mut done) = done else { continue };
            while done.code == 3 {
                done = bench.settle(&session, &done, &what);
            }
            assert!(done.code == 0 || done.err.contains("has ended"), "{what}: {}{}", done.out, done.err);
            bench.compare(&session, &what);
            self.events += bench.lines(&session).len() as u64;
            break;
        }
        self.sessions += 1;
        self.effects += words.len() as u64;
        self.asked += u64::from(bench.asked.get());
    }
}

fn many(times: u64, seed: u64) -> Figures {
    // How long a run takes here, so that kills fall on all of it.
    let (script, words) = work(seed);
    let bench = Bench::with(&script, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let begin = Instant::now();
    let run = bench.desk.run(["run", "task", "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let whole_run = begin.elapsed();
    let mut figures = Figures::default();
    for next in seed.. {
        if figures.kills >= times {
            break;
        }
        figures.session(next, whole_run);
    }
    figures
}

/// Shows R147, R167, R169: killed at random moments, nothing is lost and nothing happens twice.
#[test]
fn killed_a_few_times() {
    let figures = many(10, 1);
    assert!(figures.lost == 0 && figures.kills >= 10, "{figures:?}");
}

/// `cargo xtask kill`.
#[test]
#[ignore = "long: cargo xtask kill"]
fn killed_many_times() {
    let number = |name: &str, otherwise: u64| env::var(name).map_or(otherwise, |text| text.parse().expect("a number"));
    let (times, seed) = (number(TIMES, 500), number(SEED, 1));
    let begin = Instant::now();
    let figures = many(times, seed);
    let Figures { sessions, kills, missed, lost, asked, events, effects } = figures;
    println!(
        "\nkill: {kills} kills of {sessions} sessions ({missed} processes ended first), {events} events, {lost} lost, \
         {effects} effects, 0 repeated, 0 missing, a person asked {asked} times, {:.1} s",
        begin.elapsed().as_secs_f64()
    );
}
