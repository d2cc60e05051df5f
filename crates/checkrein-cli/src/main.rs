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
use crate::view::JsonLines;

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
            if code == USAGE && wants_json() {
                let all = error.to_string();
                let said = all.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
                JsonLines::new(Box::new(std::io::stdout())).error(said, None, code);
            }
            return ExitCode::from(code);
        }
    };
    let mut context = Context::from_environment();
    match commands::run(arguments.command, &mut context) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            context.complain(&error.to_string());
            if wants_json() {
                JsonLines::new(context.out()).error(&error.to_string(), error.code(), error.exit_code());
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Whether a program reads what is printed, also where the arguments could not be read.
fn wants_json() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}
