//! The way in: the limits, and what a script that can not be read leaves behind.

use crate::read::{Parser, Shared, Stop};
use crate::{Script, salvage};

/// The longest text that is read, in bytes.
pub const LONGEST: usize = 64 * 1024;

/// Why a script could not be read, and what could.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The byte at which reading stopped.
    pub at: usize,
    /// What was wrong there, for people.
    pub reason: String,
    /// The statements on the lines before the broken one. Bash reads a line at a time, so these run.
    pub before: Script,
    /// Statements which make sense when reading starts anew at the separators behind. Bash runs none of them; they show
    /// what was meant.
    pub pieces: Vec<Script>,
}

/// Reads a whole script.
///
/// # Errors
///
/// [`Broken`] where bash would report a syntax error, where an expansion is one that bash refuses as it runs, and where
/// the text is longer than [`LONGEST`], nested deeper than sixty levels, or holds a NUL.
pub fn parse(text: &str) -> Result<Script, Broken> {
    let refused = |at: usize, reason: &str| Broken {
        at,
        reason: reason.to_owned(),
        before: Script::default(),
        pieces: Vec::new(),
    };
    if text.len() > LONGEST {
        return Err(refused(LONGEST, "longer than 64 KiB"));
    }
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        return Err(refused(at, "holds a NUL"));
    }
    let mut shared = Shared::default();
    let mut parser = Parser::new(text, 0, &mut shared);
    let mut script = Script::default();
    match parser.lines(&mut script) {
        Ok(()) => Ok(script),
        Err(stop) => {
            let rest = parser.line_start();
            Err(Broken {
                at: stop.at.min(text.len()),
                reason: explain(text, &stop),
                before: script,
                pieces: salvage::pieces(text, rest),
            })
        }
    }
}

/// The reason, with the text it is about.
fn explain(text: &str, stop: &Stop) -> String {
    if stop.reason != Stop::UNEXPECTED {
        return stop.reason.to_owned();
    }
    let rest = text.get(stop.at..).unwrap_or_default();
    let token: String = rest.chars().take_while(|letter| !letter.is_whitespace()).take(20).collect();
    match token.as_str() {
        "" if rest.is_empty() => "the text ends too early".to_owned(),
        "" => "unexpected end of line".to_owned(),
        token => format!("unexpected `{token}`"),
    }
}
