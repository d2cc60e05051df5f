//! `cargo xtask`: the checks of this repository, the one test command, and the pages that programs write.
//!
//! It stands outside the workspace's crates: it imports none of them, so it can judge all of them even when one does
//! not compile. It must hold no logic that users of Checkrein need.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod cargo;
mod catalog;
mod corpus;
mod coverage;
mod long;
mod requirements;
mod rust;
mod stages;
mod steps;
mod tidy;
mod workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The automation of this repository", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the rules of the house
    Tidy {
        /// Only this check
        #[arg(long, value_name = "CHECK")]
        only: Option<String>,
        /// Name the checks and end
        #[arg(long)]
        list: bool,
    },
    /// Run everything that CI runs, in order, and stop at the first failure
    Test {
        /// Only this step
        #[arg(long, value_name = "STEP")]
        only: Option<String>,
        /// Name the steps and end
        #[arg(long)]
        list: bool,
    },
    /// Write docs/requirements.md from the list and from what tests say they show
    Requirements {
        /// Compare with the page instead of writing it
        #[arg(long)]
        check: bool,
    },
    /// Write the pages that the binary prints
    Catalog {
        /// Compare with the pages instead of writing them
        #[arg(long)]
        check: bool,
    },
    /// Run the benchmarks
    Bench,
    /// Judge what others collected: the labelled commands of another guard, or command lines of this machine
    Corpus {
        /// Command lines of this machine instead
        #[arg(long)]
        lines: bool,
        /// Also print each difference, or each line that is not understood
        #[arg(long)]
        verbose: bool,
    },
    /// Compare the parser with real bash over many scripts
    Oracle {
        /// How many
        #[arg(long, default_value_t = 30_000)]
        scripts: u32,
        /// Where the dice start
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Live through whole sessions in a simulated world, under faults
    Simulate {
        /// How many seeds; one in a thousand is also lived through with every single fault
        #[arg(long, default_value_t = 10_000)]
        seeds: u64,
        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        from: u64,
        /// Only that seed under this plan (as a failure prints it), with its journal
        #[arg(long, value_name = "FAULTS")]
        plan: Option<String>,
    },
    /// Kill the real binary at random moments, and take its sessions up again until they are done
    Kill {
        /// How often
        #[arg(long, default_value_t = 500)]
        times: u64,
        /// Where the dice start
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Fuzz what a command line would do, on the nightly compiler
    Fuzz {
        /// For how long
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Change the deciding code in small ways and see tests fail
    Mutants {
        /// Which part of them, K/N counted from 0
        #[arg(long, default_value = "0/20")]
        shard: String,
    },
    /// Hold the lines of the deciding crates that no test reaches against their list
    Coverage {
        /// Write risen floors, and take from the list what is covered or gone
        #[arg(long)]
        tighten: bool,
        /// Judge the last measurement again
        #[arg(long)]
        kept: bool,
    },
    /// Take each stage out of a copy of the gate and see its tests fail
    Stages {
        /// Only this stage
        #[arg(long, value_name = "STAGE")]
        only: Option<String>,
        /// Only see that each removal still compiles
        #[arg(long)]
        build: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let workspace = match workspace::Workspace::find() {
        Ok(workspace) => workspace,
        Err(message) => return ended(Err(message)),
    };
    ended(match arguments.command {
        Command::Tidy { list: true, .. } => tidy::list(),
        Command::Tidy { only, list: false } => tidy::run(&workspace, only.as_deref()),
        Command::Test { list: true, .. } => steps::list(),
        Command::Test { only, list: false } => steps::run(&workspace, only.as_deref()),
        Command::Requirements { check } => requirements::run(&workspace, check),
        Command::Catalog { check } => catalog::run(&workspace, check),
        Command::Bench => bench::run(&workspace),
        Command::Corpus { lines, verbose } => corpus::run(&workspace, lines, verbose),
        Command::Oracle { scripts, seed } => long::oracle(&workspace, scripts, seed),
        Command::Simulate { seeds, from, plan } => long::simulate(&workspace, seeds, from, plan.as_deref()),
        Command::Kill { times, seed } => long::kill(&workspace, times, seed),
        Command::Fuzz { seconds } => long::fuzz(&workspace, seconds),
        Command::Mutants { shard } => long::mutants(&workspace, &shard),
        Command::Coverage { tighten, kept } => coverage::run(&workspace, tighten, kept),
        Command::Stages { only, build } => stages::run(&workspace, only.as_deref(), build),
    })
}

/// One line says what is wrong and what to do.
fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
