//! Reserved words. They are words only where a command may begin, so they are looked for there and nowhere else.

use super::cursor::{Parser, Read};
use super::words::ends_word;
use crate::{Part, Word};

/// A reserved word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    Bang,
    Case,
    Coproc,
    Do,
    Done,
    Elif,
    Else,
    Esac,
    Fi,
    For,
    Function,
    If,
    In,
    Select,
    Then,
    Time,
    Until,
    While,
    OpenBrace,
    CloseBrace,
    OpenTest,
    CloseTest,
}

impl Reserved {
    fn named(name: &[u8]) -> Option<Reserved> {
        Some(match name {
            b"!" => Reserved::Bang,
            b"case" => Reserved::Case,
            b"coproc" => Reserved::Coproc,
            b"do" => Reserved::Do,
            b"done" => Reserved::Done,
            b"elif" => Reserved::Elif,
            b"else" => Reserved::Else,
            b"esac" => Reserved::Esac,
            b"fi" => Reserved::Fi,
            b"for" => Reserved::For,
            b"function" => Reserved::Function,
            b"if" => Reserved::If,
            b"in" => Reserved::In,
            b"select" => Reserved::Select,
            b"then" => Reserved::Then,
            b"time" => Reserved::Time,
            b"until" => Reserved::Until,
            b"while" => Reserved::While,
            b"{" => Reserved::OpenBrace,
            b"}" => Reserved::CloseBrace,
            b"[[" => Reserved::OpenTest,
            b"]]" => Reserved::CloseTest,
            _ => return None,
        })
    }

    /// A list of commands ends in front of it.
    pub(super) fn ends_list(self) -> bool {
        use Reserved::{CloseBrace, Do, Done, Elif, Else, Esac, Fi, Then};
        matches!(self, CloseBrace | Do | Done | Elif | Else | Esac | Fi | Then)
    }

    /// A compound command begins with it.
    pub(super) fn opens_compound(self) -> bool {
        use Reserved::{Case, For, If, OpenBrace, OpenTest, Select, Until, While};
        matches!(self, Case | For | If | OpenBrace | OpenTest | Select | Until | While)
    }
}

/// The word is spelled like a reserved one.
pub(super) fn is_reserved(word: &Word) -> bool {
    matches!(word.parts.as_slice(), [Part::Bare(text)] if Reserved::named(text.as_bytes()).is_some())
}

impl Parser<'_> {
    /// The reserved word that stands here, and where it ends.
    pub(super) fn reserved(&mut self) -> Option<(Reserved, usize)> {
        if !matches!(self.peek(), b'a'..=b'z' | b'!' | b'{' | b'}' | b'[' | b']') {
            return None;
        }
        // The longest one is `function`. Copied, because a continued line may run through the middle of it.
        let mut name = [0; 8];
        let mut at = self.pos;
        let mut length = 0;
        loop {
            at = self.joined(at);
            let byte = self.byte(at);
            if ends_word(byte) {
                let found = Reserved::named(name.get(..length)?)?;
                return Some((found, at));
            }
            *name.get_mut(length)? = byte;
            length += 1;
            at += 1;
        }
    }

    /// Goes over any reserved word, if one is the next.
    pub(crate) fn skip_reserved(&mut self) -> Option<usize> {
        self.blanks();
        self.reserved().map(|(_, end)| end)
    }

    /// Goes over one reserved word, if it is the next.
    pub(super) fn eat_reserved(&mut self, wanted: Reserved) -> bool {
        match self.reserved() {
            Some((found, end)) if found == wanted => {
                self.pos = end;
                true
            }
            _ => false,
        }
    }

    /// Goes over one reserved word, which must be the next.
    pub(super) fn expect_reserved(&mut self, wanted: Reserved) -> Read<()> {
        self.blanks();
        if self.eat_reserved(wanted) { Ok(()) } else { Err(self.unexpected()) }
    }
}
