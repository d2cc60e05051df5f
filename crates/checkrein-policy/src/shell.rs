//! What a command line would do, as far as plain words go.
//!
//! A *plain* line is one simple command of words, quoted or not, without anything that bash would expand, split, redirect
//! or chain. Only a plain line can be allowed. Of every other line the parts that look like commands are still listed, so
//! that deny rules find them (`a && sudo b`, `bash -c 'rm -rf /'`, `echo $(reboot)`), and the line as a whole carries an
//! [`Effect::Unknown`], which is at least *ask*.
//!
//! Limits, on purpose: this is word splitting, not parsing. Functions, arrays, here-documents, arithmetic, `case` and
//! `eval` are not understood, only never allowed. Of what programs do with their arguments only the few in `models` are
//! known; a rule that allows a program by name trusts it with every argument.

mod models;
mod words;

use checkrein_contract::{Effect, Foreseen, Place};

pub use words::{Command, Line, Redirect, Word, split};

/// How deep `bash -c 'bash -c ...'` is followed. Deeper text is not lost: the line stays *ask*.
const MAX_DEPTH: usize = 4;
/// Longest line that is looked at, bytes; of a longer one only the beginning is searched for denied commands.
const MAX_BYTES: usize = 64 * 1024;

/// What a command line would do. Pure and total.
pub fn foresee(command: &str, place: &Place) -> Foreseen {
    let mut effects = Vec::new();
    let mut unclear = None;
    collect(command, place, 0, &mut effects, &mut unclear);
    if let Some(why) = unclear {
        effects.push(Effect::Unknown { what: format!("the command line is more than plain words: {why}") });
    }
    Foreseen::of(effects)
}

/// What a program with these very words would do; no shell reads them. Pure and total.
pub fn foresee_words(argv: &[String], place: &Place) -> Foreseen {
    let words = argv.iter().map(|word| Word { text: word.clone(), quoted: true }).collect();
    let command = Command { words, redirects: Vec::new() };
    let mut effects = Vec::new();
    let mut unclear = None;
    collect_command(&command, place, 0, &mut effects, &mut unclear);
    if let Some(why) = unclear {
        effects.push(Effect::Unknown { what: format!("the command is more than one program: {why}") });
    }
    Foreseen::of(effects)
}

/// The last component of a program's path: `/bin/rm` is `rm`.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn collect(text: &str, place: &Place, depth: usize, effects: &mut Vec<Effect>, unclear: &mut Option<String>) {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = split(text.get(..end).unwrap_or_default());
    if text.len() > MAX_BYTES {
        note(unclear, "it is longer than 65,536 bytes");
    }
    if let Some(why) = &line.unclear {
        note(unclear, why);
    }
    for command in &line.commands {
        collect_command(command, place, depth, effects, unclear);
    }
}

fn collect_command(
    command: &Command,
    place: &Place,
    depth: usize,
    effects: &mut Vec<Effect>,
    unclear: &mut Option<String>,
) {
    for (words, through) in look_through(command) {
        let Some(program) = words.first() else { continue };
        if through {
            note(unclear, "a program that runs another program");
        }
        effects.push(Effect::Run {
            program: program.text.clone(),
            argv: words.iter().map(|word| word.text.clone()).collect(),
            modelled: false,
        });
        models::effects(words, place, effects);
        if let Some(script) = models::script_of(words) {
            note(unclear, "a script inside a command");
            if depth < MAX_DEPTH {
                collect(&script.text, place, depth + 1, effects, unclear);
            }
        }
    }
    for redirect in &command.redirects {
        let path = crate::paths::absolute(&redirect.target.text, place);
        effects.push(if redirect.writes { Effect::Write { path } } else { Effect::Read { path } });
    }
}

/// Keeps the first reason why a line is not plain.
fn note(unclear: &mut Option<String>, why: &str) {
    unclear.get_or_insert_with(|| why.to_owned());
}

/// A command as written, then with its wrappers taken off: `env A=1 timeout 5 rm x` is also `timeout 5 rm x` and `rm x`.
fn look_through(command: &Command) -> Vec<(&[Word], bool)> {
    let mut layers = vec![(command.words.as_slice(), false)];
    let mut rest = command.words.as_slice();
    while let Some(inner) = models::wrapped(rest) {
        layers.push((inner, true));
        rest = inner;
    }
    layers
}
