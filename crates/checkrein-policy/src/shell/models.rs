//! The few programs whose arguments are looked into: what deletes, what writes to a device, what starts another program.

use checkrein_contract::{Effect, Place};

use super::{Word, base_name};
use crate::paths;

/// Programs that run the program in their arguments. Only ever used to find denied commands, never to allow one.
const WRAPPERS: &[&str] = &[
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time",
    "timeout", "watch", "xargs",
];
/// Shells that take a script as an argument.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh"];

/// What a simple command does beyond running.
pub(super) fn effects(words: &[Word], place: &Place, out: &mut Vec<Effect>) {
    let Some((program, arguments)) = words.split_first() else { return };
    let absolute = |word: &Word| paths::absolute(&word.text, place);
    match base_name(&program.text) {
        "rm" | "unlink" | "rmdir" | "shred" => {
            let recursive = arguments.iter().take_while(|word| word.text != "--").any(|word| {
                word.text == "--recursive"
                    || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(['r', 'R'])
            });
            out.extend(operands(arguments).map(|word| Effect::Delete { path: absolute(word), recursive }));
        }
        "tee" | "truncate" => out.extend(operands(arguments).map(|word| Effect::Write { path: absolute(word) })),
        "dd" => {
            for word in arguments {
                if let Some(target) = word.text.strip_prefix("of=") {
                    out.push(Effect::Write { path: paths::absolute(target, place) });
                }
            }
        }
        "chmod" | "chown" | "chgrp" | "touch" => {
            out.extend(operands(arguments).map(|word| Effect::Metadata { path: absolute(word) }));
        }
        _ => {}
    }
}

/// Arguments that are no options; all of them after `--`.
fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let mut only_operands = false;
    arguments.iter().filter(move |word| {
        if !only_operands && word.text == "--" {
            only_operands = true;
            return false;
        }
        only_operands || !word.text.starts_with('-')
    })
}

/// The command inside a wrapper, with the wrapper's options, assignments and numbers skipped.
pub(super) fn wrapped(words: &[Word]) -> Option<&[Word]> {
    let (program, arguments) = words.split_first()?;
    if !WRAPPERS.contains(&base_name(&program.text)) {
        return None;
    }
    let skipped = arguments.iter().take_while(|word| {
        let text = &word.text;
        text.starts_with('-') || text.contains('=') || text.starts_with(|c: char| c.is_ascii_digit())
    });
    let inner = arguments.get(skipped.count()..)?;
    (!inner.is_empty()).then_some(inner)
}

/// The literal script of `bash -c SCRIPT` (also `-lc`, `-xec`).
pub(super) fn script_of(words: &[Word]) -> Option<&Word> {
    let (program, arguments) = words.split_first()?;
    if base_name(&program.text) == "eval" {
        return arguments.first();
    }
    if !SHELLS.contains(&base_name(&program.text)) {
        return None;
    }
    let option = arguments
        .iter()
        .position(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c'))?;
    arguments.get(option + 1)
}
