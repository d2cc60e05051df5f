//! Predicted against observed: each line of `lines/*.txt` is foreseen, then run for real in a prepared place under a system
//! call tracer, and every file that was written, removed, renamed or changed in mode, every program that was started, every
//! connection, and every read below the project and the home must have been foreseen. This is how we know that the command
//! models are true.
//!
//! Shows R1, R2, R14: a rule judges what a command would do, and what it would do is what the kernel sees it do.
//!
//! A line is a bash command in `home/project` of `world.sh`. In front of it may stand, in brackets: `[fails]`, it ends with
//! another code than 0 (without it, ending so is an error: a command that did nothing shows nothing); `[needs PROGRAM]`.
//! `$SERVER` is the address of a web server of the test, `$TOOLS` the folder of its tools. What is not installed is skipped, and the run says so.

#![expect(clippy::print_stderr, reason = "the score is for people who run the tests")]

mod compare;
mod line;
mod log;
mod observe;
mod options;
mod server;
mod world;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein::contract::Effect;
use checkrein_policy::{Models, Source};
use libtest_mimic::{Arguments, Trial};

use line::Line;
use options::Options;
use world::Template;

fn main() {
    let arguments = Arguments::from_args();
    let lines = line::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traced/lines"));
    let able = line::on_path("strace") && line::on_path("bash");
    let (template, server) = (Arc::new(Template::new()), server::start());
    let options = Arc::new(Mutex::new(Options::default()));
    // All of them take minutes: without `CHECKREIN_TRACED=all`, as `cargo xtask test` has it, the first of each program.
    let all = std::env::var("CHECKREIN_TRACED").is_ok_and(|which| which == "all") || options::updates();
    let mut begun = BTreeSet::new();
    let lines: Vec<Line> = lines.into_iter().filter(|line| all || begun.insert(line.program().to_owned())).collect();
    let skipped = lines.iter().filter(|line| !able || line.lacks().is_some()).count();
    let trials = lines.into_iter().map(|line| {
        let (template, options) = (Arc::clone(&template), Arc::clone(&options));
        let lacks = !able || line.lacks().is_some();
        Trial::test(line.name(), move || run(&line, &template, server, &options)).with_ignored_flag(lacks)
    });
    let mut trials: Vec<Trial> = trials.collect();
    let total = trials.len();
    trials.push(Trial::test("a wrong model is caught", move || wrong(&template)).with_ignored_flag(!able));
    let conclusion = libtest_mimic::run(&arguments, trials);
    let whole = all && arguments.filter.is_none() && conclusion.num_ignored as usize == skipped && skipped == 0;
    let options = options.lock().unwrap_or_else(PoisonError::into_inner);
    eprintln!(
        "traced: {total} lines, {skipped} skipped (not installed), {} programs, {} options that change effects",
        options.programs(),
        options.count()
    );
    if whole && conclusion.num_failed == 0 && !options.agree(total) {
        eprintln!("traced.txt does not say what was traced: run this test again with CHECKREIN_UPDATE=1");
        std::process::exit(1);
    }
    conclusion.exit();
}

/// Models that keep something quiet: each is told apart from what the kernel sees.
const WRONG: [(&str, &str, &str); 5] = [
    ("[sort]\noptions = \"-o=data\"\noperands = \"read*\"", "sort -o out.txt data.txt", "write ./out.txt"),
    ("[cat]\noperands = \"data*\"", "cat a.txt", "read ./a.txt"),
    ("[rm]\noperands = \"list*\"", "rm a.txt", "delete ./a.txt"),
    ("[chmod]\noperands = \"data list*\"", "chmod 600 a.txt", "metadata ./a.txt"),
    (
        "[tar]\nbundles = true\nflags = \"-c -z\"\noptions = \"-f=write\"\noperands = \"read*\"",
        "tar -czf o.tgz a.txt",
        "run /usr/bin/gzip",
    ),
];

/// A model that leaves an effect out is found out, and by that effect.
fn wrong(template: &Template) -> Result<(), libtest_mimic::Failed> {
    for (text, command, expected) in WRONG {
        let world = template.copy();
        let models =
            Models::built_in().with(&[Source { file: "wrong.toml", text }]).map_err(|error| error.to_string())?;
        let effects = line::foresee(command, &world, &models)?;
        let traced = line::trace(command, &world)?;
        let seen = observe::observe(&log::read(&traced.log), &world.root);
        let holes = compare::unforeseen(&world, &effects, &BTreeSet::new(), &seen);
        let holes: Vec<String> = holes.iter().map(|hole| world.shown(&hole.to_string())).collect();
        if !holes.iter().any(|hole| hole == expected) {
            return Err(format!("`{command}`: {expected} was not found out, only {holes:?}").into());
        }
    }
    Ok(())
}

fn run(line: &Line, template: &Template, server: u16, options: &Mutex<Options>) -> Result<(), libtest_mimic::Failed> {
    let world = template.copy();
    let command = line.command.replace("$SERVER", &format!("127.0.0.1:{server}"));
    let command = command.replace("$PORT", &server.to_string()).replace("$TOOLS", &line::tools());
    let effects = line::foresee(&command, &world, line::models())?;
    let report = |what: &str, extra: &[String]| {
        let foreseen: Vec<String> = effects.iter().map(|effect| world.shown(&line::shown(effect))).collect();
        let extra: Vec<String> = extra.iter().map(|one| world.shown(one)).collect();
        format!(
            "{}\n  {what}:\n    {}\n  foreseen:\n    {}",
            line.command,
            extra.join("\n    "),
            foreseen.join("\n    ")
        )
    };
    // That an option was never seen at work is what this line is for; that it makes what it runs is how it is set up.
    let known = ["was never seen at work", "which the same call writes first"];
    let unknown =
        |effect: &Effect| matches!(effect, Effect::Unknown { what } if !known.iter().any(|end| what.ends_with(end)));
    if effects.iter().any(unknown) {
        return Err(report("not understood", &[]).into());
    }
    let traced = line::trace(&command, &world)?;
    if traced.succeeded == line.fails {
        return Err(report("it ended otherwise", &[traced.code, traced.errors]).into());
    }
    let seen = observe::observe(&log::read(&traced.log), &world.root);
    let holes = compare::unforeseen(&world, &effects, &line::parts(&effects), &seen);
    if !holes.is_empty() {
        let holes: Vec<String> = holes.iter().map(ToString::to_string).collect();
        return Err(report("seen, not foreseen", &holes).into());
    }
    options.lock().unwrap_or_else(PoisonError::into_inner).add(&effects);
    Ok(())
}
