//! The commands, one file each.

mod approvals;
mod change;
mod doctor;
mod hook;
mod journal;
mod policy;
mod record;
mod run;
mod sessions;
mod tools;

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
        Command::Approvals(arguments) => approvals::run(arguments, context),
        Command::Policy(arguments) => policy::run(arguments, context),
        Command::Tools(arguments) => tools::run(&arguments, context),
        Command::Doctor(arguments) => doctor::run(&arguments, context),
        Command::Journal(arguments) => journal::run(arguments, context),
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

/// A mistake in what was typed.
fn usage(message: impl Into<String>) -> HarnessError {
    HarnessError::Task(message.into())
}
