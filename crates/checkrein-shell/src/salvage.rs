//! What can be read of a script that bash refuses, so that a rule can still say what was tried.

use crate::Script;
use crate::read::{Parser, Shared};

/// More of them tell nobody anything, and each will be judged.
const MOST_PIECES: usize = 4096;

/// Statements that make sense when reading starts at `from`, and anew behind each separator of what can not be read.
pub(crate) fn pieces(text: &str, from: usize) -> Vec<Script> {
    let mut found = Vec::new();
    // What can not be read to its end is read once more for each separator in it. Bounded, as that would be quadratic.
    let most = text.len().saturating_add(4096);
    let mut shared = Shared::default();
    shared.most_work = Some(most);
    let mut at = from;
    while let Some(start) = next_start(text, at) {
        if found.len() >= MOST_PIECES {
            break;
        }
        let far = [true, false]
            .into_iter()
            .find_map(|whole| if shared.work < most { attempt(text, start, whole, &mut shared) } else { None });
        if let Some((script, end)) = far {
            found.push(script);
            at = end.max(start + 1);
            continue;
        }
        let mut words = Parser::new(text, start, &mut shared);
        if let Some(end) = words.skip_reserved() {
            at = end;
            continue;
        }
        let end =
            text.get(start..).and_then(|rest| rest.find(is_separator)).map_or(text.len(), |length| start + length);
        let near = attempt(text.get(..end).unwrap_or_default(), start, true, &mut Shared::default());
        found.extend(near.map(|(script, _)| script));
        at = end;
    }
    found
}

/// The first byte at or behind `at` that is no separator and no space.
fn next_start(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    rest.find(|letter: char| !is_separator(letter) && !matches!(letter, ' ' | '\t')).map(|length| at + length)
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '\n' | ';' | '&' | '|' | '(' | ')' | '{' | '}' | '`')
}

fn attempt(text: &str, start: usize, whole: bool, shared: &mut Shared) -> Option<(Script, usize)> {
    let mut parser = Parser::new(text, start, shared);
    match parser.piece(whole) {
        Ok(found) => Some(found),
        Err(stop) => {
            // Something that never closes may have been looked for up to the end of the text.
            let looked = if stop.reason.contains("closed") { text.len().saturating_sub(start) / 16 } else { 0 };
            shared.work = shared.work.saturating_add(looked).saturating_add(16);
            None
        }
    }
}
