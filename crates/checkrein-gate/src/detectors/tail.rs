//! How a secret goes on: byte by byte, so that one of any length needs no memory.

/// What belongs to a secret that was found, beyond the bytes by which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The rest of a token: letters, digits, and what encodings use.
    Token,
    /// The rest of a private key.
    Key(Key),
}

/// Where in a private key the next byte stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    /// Dashes right before, at most five.
    dashes: u8,
    /// Letters of `END` behind five dashes.
    end: u8,
    /// Inside of the line that ends it.
    closing: bool,
    /// That line is over.
    over: bool,
}

impl Tail {
    /// Whether this byte still belongs to it.
    pub(crate) fn takes(&mut self, byte: u8) -> bool {
        match self {
            Self::Token => is_token(byte),
            Self::Key(key) => key.takes(byte),
        }
    }
}

/// Letters, digits, and what base64, base64url, percent signs and the parts of a token bring along.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~%".contains(&byte)
}

impl Key {
    /// Base64, headers of the format, escaped line ends, quotes and signs of a text in a program.
    fn takes(&mut self, byte: u8) -> bool {
        if self.over || !(byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\:,.\"'-".contains(&byte))
        {
            return false;
        }
        if byte == b'-' {
            self.dashes = (self.dashes + 1).min(5);
            self.over = self.closing && self.dashes == 5;
            self.end = 0;
            return true;
        }
        let expected = b"END".get(usize::from(self.end)).is_some_and(|letter| *letter == byte);
        let from_dashes = self.dashes == 5 || self.end > 0;
        self.end = if expected && from_dashes { self.end + 1 } else { 0 };
        self.closing |= self.end == 3;
        self.dashes = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut tail: Tail, text: &str) -> &str {
        &text[..text.bytes().take_while(|byte| tail.takes(*byte)).count()]
    }

    #[test]
    fn a_key_ends_with_its_line_or_with_what_is_no_key() {
        let key = || Tail::Key(Key::default());
        assert_eq!(taken(key(), "\nMIIB\\nab==\n-----END A-B KEY-----\nmore"), "\nMIIB\\nab==\n-----END A-B KEY-----");
        assert_eq!(taken(key(), "MIIB;x"), "MIIB");
        assert_eq!(taken(key(), "-----ENX-----a(b"), "-----ENX-----a");
        assert_eq!(taken(Tail::Token, "ab.c%20 d"), "ab.c%20");
    }
}
