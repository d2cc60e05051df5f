//! What a command line would do: it is read as bash reads it, and walked as bash would run it, every branch of it.
//!
//! Three kinds of thing come out: effects, of which each is judged; questions about the world, whose answers make the next
//! walk more exact; and an [`Effect::Unknown`] for everything that can not be known beforehand, which is at least *ask*.
//! What is understood is always listed, also beside what is not: deny rules find it.
//!
//! Rooms: `walk` (lists, pipes, branches, loops, functions), `simple` (one command), `expand` and `parameter` (words), `variables`,
//! `redirect`, `builtins`, `perform`, `operands` and `roles` (programs by their models), `programs` and `scripts` (what tables can not say),
//! `places` (paths), `state`, `flow` and `value` (what is known).

mod branches;
mod builtins;
mod expand;
mod flow;
mod leaving;
mod links;
mod operands;
mod parameter;
mod perform;
mod places;
pub(crate) mod programs;
mod redirect;
mod roles;
mod scripts;
mod simple;
mod state;
pub(crate) mod value;
mod variables;
mod walk;
mod written;

use checkrein_contract::{Effect, Foreseen};

use crate::Scene;
use value::Field;
use walk::Walker;

/// Longest script that is walked, bytes (the parser's own bound).
const MOST_BYTES: usize = checkrein_shell::LONGEST;

/// What a command line would do. Pure and total.
pub fn foresee(command: &str, scene: Scene<'_>) -> Foreseen {
    let mut walker = Walker::new(scene);
    if command.len() > MOST_BYTES {
        // Its beginning is still searched for what is denied.
        walker.text(command.get(..command.floor_char_boundary(MOST_BYTES)).unwrap_or_default());
        walker.note(Effect::unknown("the command line is longer than 65,536 bytes"));
    } else {
        walker.text(command);
    }
    walker.finish()
}

/// What a program with these very words would do; no shell reads them. Pure and total.
pub fn foresee_words(argv: &[String], scene: Scene<'_>) -> Foreseen {
    let fields: Vec<Field> = argv.iter().map(|word| Field::from(word.as_str())).collect();
    let mut walker = Walker::new(scene);
    if let Some((first, arguments)) = fields.split_first() {
        walker.program(first.text.as_known().unwrap_or_default(), arguments.to_vec().as_slice());
    }
    walker.finish()
}

/// The last component of a program's path: `/bin/rm` is `rm`.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
