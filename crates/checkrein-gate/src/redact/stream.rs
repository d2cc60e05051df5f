//! A text that comes in pieces: what could be a part of a secret is held back until it is seen how it goes on.
//!
//! What comes out is the same wherever the text was cut, and never a part of what is a secret in the whole.

use super::scan::{Found, Scan, scan};
use super::{MARKER, Redactor, shown};
use crate::detectors::rules::{CONTEXT, MOST_BACK};
use crate::detectors::tail::Tail;

/// A text on its way to somebody who must see no secret in it.
#[derive(Debug, Default)]
pub struct RedactingStream {
    redactor: Redactor,
    /// What is kept: a little that was passed on, then what is held back.
    text: Vec<u8>,
    /// Up to here it was passed on, or left out.
    done: usize,
    /// From here on it was not looked at, or has to be looked at again.
    next: usize,
    /// How the secret that was left out last goes on.
    tail: Option<Tail>,
}

impl RedactingStream {
    pub(super) fn new(redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), ..Self::default() }
    }

    /// Takes a piece and returns what may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        shown(self.push_bytes(piece.as_bytes()))
    }

    /// The end: everything that was still held back.
    pub fn finish(&mut self) -> String {
        shown(self.finish_bytes())
    }

    /// The same for a stream of bytes, which may be no text.
    pub fn push_bytes(&mut self, piece: &[u8]) -> Vec<u8> {
        self.text.extend_from_slice(piece);
        self.advance(false)
    }

    /// The end of a stream of bytes.
    pub fn finish_bytes(&mut self) -> Vec<u8> {
        let rest = self.advance(true);
        *self = Self::new(&self.redactor);
        rest
    }

    /// A whole text, of which it was seen already what is in it.
    pub(super) fn whole(mut self, text: &str, seen: &Scan) -> String {
        self.text = text.as_bytes().to_vec();
        shown(self.go_on(seen))
    }

    fn advance(&mut self, last: bool) -> Vec<u8> {
        let seen = scan(&self.text, self.next, last, self.redactor.known());
        self.go_on(&seen)
    }

    fn go_on(&mut self, seen: &Scan) -> Vec<u8> {
        let mut out = Vec::new();
        self.follow();
        for found in &seen.found {
            self.leave_out(found, &mut out);
        }
        self.pass_on(seen.settled, &mut out);
        self.next = seen.next;
        self.forget();
        out
    }

    /// Goes on with the secret that was left out last.
    fn follow(&mut self) {
        let Some(tail) = &mut self.tail else { return };
        let rest = self.text.get(self.done..).unwrap_or_default();
        let taken = rest.iter().take_while(|byte| tail.takes(**byte)).count();
        self.done += taken;
        if self.done < self.text.len() {
            self.tail = None;
        }
    }

    fn leave_out(&mut self, found: &Found, out: &mut Vec<u8>) {
        if found.end <= self.done {
            return;
        }
        // One that begins within another belongs to it.
        let alone = found.start >= self.done;
        if alone {
            self.pass_on(found.start, out);
            out.extend_from_slice(format!("{MARKER}{}]", found.name).as_bytes());
        }
        self.done = found.end;
        self.tail.clone_from(&found.tail);
        self.follow();
    }

    fn pass_on(&mut self, upto: usize, out: &mut Vec<u8>) {
        if upto > self.done {
            out.extend_from_slice(self.text.get(self.done..upto).unwrap_or_default());
            self.done = upto;
        }
    }

    /// Lets go of what no detector looks at any more.
    fn forget(&mut self) {
        let keep = self.done.min(self.next).saturating_sub(CONTEXT + MOST_BACK + 1);
        self.text.drain(..keep);
        self.done -= keep;
        self.next -= keep;
    }
}
