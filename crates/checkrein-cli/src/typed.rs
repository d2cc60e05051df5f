//! What a person types at the terminal, a line at a time.

use std::io::BufRead as _;

use rustix::termios::{QueueSelector, tcflush};

use crate::interrupts;

/// A line; `None` at the end of the input, and where Ctrl-C or SIGTERM came instead.
pub(crate) fn line() -> Option<String> {
    if !interrupts::typed() {
        return None;
    }
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim().to_owned()),
    }
}

/// Throws away what was typed before the question that is about to be asked: it was no answer to it.
pub(crate) fn discard_earlier() {
    // Not a terminal: nothing was typed.
    _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}
