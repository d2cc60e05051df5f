//! The commands, one file each.

mod approvals;
mod cassette;
mod change;
mod doctor;
mod fork;
mod hook;
mod journal;
mod policy;
mod policy_file;
mod recomposed;
mod record;
mod replay;
mod run;
mod script;
mod sessions;
mod tools;

use std::collections::BTreeMap;

use checkrein::HarnessError;

use crate::arguments::Command;
use crate::context::Context;

/// Runs a command; the result is the exit code.
pub(crate) fn run(command: Command, context: &mut Context) -> Result<u8, HarnessError> {
    match command {
        Command::Run(arguments) => run::run(&arguments, context),
        Command::Resume(arguments) => run::resume(&arguments, context),
        Command::Sessions(arguments) => sessions::list(&arguments, context),
        Command::Show(arguments) => sessions::show(&arguments, context),
        Command::Export(arguments) => sessions::export(&arguments, context),
        Command::Fork(arguments) => fork::run(&arguments, context),
        Command::Replay(arguments) => replay::run(&arguments, context),
        Command::Approvals(arguments) => approvals::run(arguments, context),
        Command::Policy(arguments) => policy::run(arguments, context),
        Command::Script(arguments) => script::run(arguments, context),
        Command::Tools(arguments) => tools::run(&arguments, context),
        Command::Doctor(arguments) => doctor::run(&arguments, context),
        Command::Journal(arguments) => journal::run(arguments, context),
        Command::Cassette(arguments) => cassette::run(arguments, context),
        Command::Record(arguments) => record::run(&arguments, context),
        Command::Hook(arguments) => hook::run(&arguments, context),
    }
}

/// Drives a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, HarnessError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| usage(format!("the runtime could not be started: {error}")))?;
    Ok(runtime.block_on(future))
}

/// A time that was typed after an option, `45s`, `30m`, `1h`, `2d`, in milliseconds.
fn duration_ms(option: &str, text: &str) -> Result<u64, HarnessError> {
    let wrong = || usage(format!("{option} {text}: write a time such as 30m, 1h or 2d"));
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?);
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds * 1_000).filter(|ms| *ms > 0).ok_or_else(wrong)
}

/// A mistake in what was typed.
/// On whose behalf, as `--as NAME=VALUE` says it.
fn identity(pairs: &[String]) -> Result<BTreeMap<String, String>, HarnessError> {
    let pair = |pair: &String| {
        let (name, value) = pair.split_once('=').ok_or_else(|| usage(format!("--as {pair}: write NAME=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    pairs.iter().map(pair).collect()
}

fn usage(message: impl Into<String>) -> HarnessError {
    HarnessError::Task(message.into())
}
