//! The escape suite: every attempt of `attempts/` is run for real, first outside, where it has to succeed, then inside,
//! where it has to fail, as root and as an ordinary user. What is not contained is marked so in the attempt, and counted.
//! It must try nothing that would harm this machine outside: each attempt is proved there.
//!
//! `CHECKREIN_ESCAPE_LAYERS=1` runs each again with one layer off, with one alone, and with none, and compares what comes
//! out with the table in `docs/sandbox.md`; `CHECKREIN_UPDATE=1` writes it there.

mod attempt;
mod facts;
mod gate;
mod outside;
mod page;
mod reported;
mod run;
#[path = "../support/tool.rs"]
mod tool;
mod user;
mod world;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Failed, Trial};

use crate::attempt::{Attempt, parse};
use crate::run::{Order, Outcome, Outcomes};
use crate::user::{Launcher, User, WORD, carry_out};

const ATTEMPTS: &[(&str, &str)] = &[
    ("work", include_str!("attempts/work.txt")),
    ("files", include_str!("attempts/files.txt")),
    ("grants", include_str!("attempts/grants.txt")),
    ("limits", include_str!("attempts/limits.txt")),
    ("links", include_str!("attempts/links.txt")),
    ("processes", include_str!("attempts/processes.txt")),
    ("namespaces", include_str!("attempts/namespaces.txt")),
    ("calls", include_str!("attempts/calls.txt")),
    ("network", include_str!("attempts/network.txt")),
    ("devices", include_str!("attempts/devices.txt")),
    ("planted", include_str!("attempts/planted.txt")),
];

/// What came out, by title and user.
type Results = Arc<Mutex<BTreeMap<(String, User), Outcomes>>>;

fn main() -> ExitCode {
    if let Some(code) = checkrein_sandbox::launch_if_asked(std::env::args_os()) {
        return code;
    }
    let words: Vec<String> = std::env::args().collect();
    if let [_, word, order] = &words[..]
        && word == WORD
    {
        let order: Order = serde_json::from_str(order).unwrap();
        serde_json::to_writer(std::io::stdout(), &run::all(&order)).unwrap();
        return ExitCode::SUCCESS;
    }
    let attempts: Vec<Attempt> = ATTEMPTS.iter().flat_map(|(kind, text)| parse(kind, text).unwrap()).collect();
    let launcher = Arc::new(Launcher::new().unwrap());
    let layers = std::env::var_os("CHECKREIN_ESCAPE_LAYERS").is_some();
    let results = Results::default();
    let mut met = BTreeMap::new();
    let env = user::tool_chains();
    let lacks = User::ALL.map(|user| (user, lacks(user, &launcher)));
    let mut trials = reported::trials(&launcher);
    for attempt in &attempts {
        for user in User::ALL.into_iter().filter(|user| !attempt.root_only || *user == User::Root) {
            let meets = *met.entry((attempt.needs.clone(), user)).or_insert_with_key(|(needs, user)| user.meets(needs));
            let env = if attempt.is_work() { env.clone() } else { Vec::new() };
            let order = Order { attempt: attempt.clone(), launcher: launcher.path(), layers, looks: false, env };
            let results = Arc::clone(&results);
            let trial =
                Trial::test(format!("{}/{}", user.as_str(), attempt.title()), move || judge(&order, user, &results));
            let whole = lacks.iter().all(|(of, lacks)| *of != user || lacks.is_empty());
            let meets = meets && whole;
            let kind = match (user.can_be(), meets, attempt.gap.is_empty()) {
                (false, ..) => "needs root",
                _ if !whole => "a layer is missing here",
                (_, false, _) => "not on this machine",
                (_, _, false) => "known gap",
                _ => "",
            };
            trials.push(trial.with_kind(kind).with_ignored_flag(!user.can_be() || !meets));
        }
    }
    let attempts: Vec<Attempt> = attempts.into_iter().filter(|attempt| !attempt.is_work()).collect();
    let listed = attempts.clone();
    trials.push(Trial::test("page/every-attempt-is-in-the-table", move || Ok(page::names_all(&listed)?)));
    let arguments = Arguments::from_args();
    let mut conclusion = libtest_mimic::run(&arguments, trials);
    drop(launcher);
    let gaps = attempts.iter().filter(|attempt| !attempt.gap.is_empty()).count();
    if !arguments.list {
        page::say(&format!(
            "{gaps} of {} attempts are known not to be contained: docs/sandbox.md says why\n",
            attempts.len()
        ));
    }
    if (layers || page::updating()) && !arguments.list && !conclusion.has_failed() {
        let results = results.lock().unwrap();
        if let Err(reason) = page::compare(&results, &attempts) {
            page::say(&reason);
            conclusion.num_failed += 1;
        }
    }
    conclusion.exit_code()
}

/// What this machine lacks for a user: without it nothing here is shown.
fn lacks(user: User, launcher: &Launcher) -> Vec<String> {
    if !user.can_be() {
        return Vec::new();
    }
    let attempt = Attempt { runs: "true".to_owned(), did: "true".to_owned(), ..Attempt::default() };
    let order = Order { attempt, launcher: launcher.path(), layers: false, looks: true, env: Vec::new() };
    let lacks = carry_out(&order, user).map_or_else(|error| vec![error.to_string()], |outcomes| outcomes.lacks);
    for lack in &lacks {
        page::say(&format!("as {}: {lack}", user.as_str()));
    }
    lacks
}

fn judge(order: &Order, user: User, results: &Results) -> Result<(), Failed> {
    /// What looks at the machine as a whole is tried one at a time, so that one does not give back what another takes.
    static WHOLE_MACHINE: Mutex<()> = Mutex::new(());
    let whole = order.attempt.limits.iter().any(|(name, _)| ["all", "disk"].contains(&name.as_str()));
    let _alone = whole.then(|| WHOLE_MACHINE.lock().unwrap_or_else(PoisonError::into_inner));
    let outcomes = carry_out(order, user)?;
    let verdict = verdict(&order.attempt, &outcomes);
    results.lock().unwrap().insert((order.attempt.title(), user), outcomes);
    verdict
}

fn verdict(attempt: &Attempt, outcomes: &Outcomes) -> Result<(), Failed> {
    let Outcomes { outside, inside, .. } = outcomes;
    let said = |what: &str, outcome: &Outcome| Err(format!("{what}: {outcome:#?}").into());
    if !outside.escaped || !outside.failed.is_empty() {
        return said("it proves nothing: it fails outside as well", outside);
    }
    if !inside.failed.is_empty() && attempt.gap.is_empty() {
        return said("it could not be run inside", inside);
    }
    if inside.timed_out && attempt.seconds.is_none() {
        return said("it hung inside", inside);
    }
    if attempt.is_work() {
        return if inside.escaped && inside.left == 0 { Ok(()) } else { said("it does not work inside", inside) };
    }
    match (inside.held(), attempt.gap.is_empty()) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => said("NOT CONTAINED", inside),
        (true, false) => said("it is marked as a gap, but is contained", inside),
    }
}
