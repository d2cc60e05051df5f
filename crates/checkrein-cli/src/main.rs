//! `checkrein`: the terminal front. It reads arguments and the environment, prints, and decides nothing.

mod arguments;
mod commands;
mod context;
mod interrupts;
mod typed;
mod view;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::context::Context;

/// Exit code for mistakes in words or files of the person.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // Before anything else: a launcher has one thread and no business with arguments.
    if let Some(code) = checkrein::launch_if_asked(std::env::args_os()) {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no mistakes; clap knows where each goes.
            let code = if error.use_stderr() { USAGE } else { 0 };
            _ = error.print();
            return ExitCode::from(code);
        }
    };
    let mut context = Context::from_environment();
    match commands::run(arguments.command, &mut context) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            context.complain(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}
