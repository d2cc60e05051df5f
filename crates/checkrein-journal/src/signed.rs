//! Signed heads: how far a chain reached and in what hash it ended, in the words of whoever holds the key.
//!
//! A chain alone shows that no event in it was changed, and not that somebody who can write the file did not compute all of
//! it anew. A head signed with a key that they do not have does. The key is read and made in `key.rs`.

use std::fmt;

use checkrein_contract::{Digest, SessionId, canonical_string};
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Head;

/// A public key: 32 bytes as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicKey(String);

impl PublicKey {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Takes a key that was written down; `None` unless it is 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        bytes::<32>(text).map(|_| Self::new(text))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A head and its signature. As JSON it is a line of `journal head`, made to be kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// Time of the head's event, milliseconds since 1970.
    pub at: u64,
    /// Hash of the last event.
    pub hash: Digest,
    /// Whose signature it is.
    pub key: PublicKey,
    /// Number of the last event.
    pub seq: u64,
    /// The session.
    pub session: SessionId,
    /// Ed25519 over [`SignedHead::text`]: 64 bytes as 128 lower-case hex digits.
    pub signature: String,
}

impl SignedHead {
    /// What is signed: `checkrein-head 1 `, then time, hash, number and session as canonical JSON.
    pub fn text(session: &SessionId, head: &Head, at: u64) -> String {
        let fields = json!({ "at": at, "hash": head.hash, "seq": head.seq, "session": session });
        format!("checkrein-head 1 {}", canonical_string(&fields))
    }

    /// The head.
    pub fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash.clone() }
    }

    /// Whether the signature is one of its key over these very words.
    pub fn holds(&self) -> bool {
        let (Some(key), Some(signature)) = (bytes::<32>(self.key.as_str()), bytes::<64>(&self.signature)) else {
            return false;
        };
        let text = Self::text(&self.session, &self.head(), self.at);
        let key = VerifyingKey::from_bytes(&key);
        key.is_ok_and(|key| key.verify_strict(text.as_bytes(), &Signature::from_bytes(&signature)).is_ok())
    }
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many bytes, from exactly the digits that [`hex`] writes.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text.bytes().map(digit).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    if digits.len() == N.saturating_mul(2) { bytes.try_into().ok() } else { None }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte.saturating_sub(b'0')),
        b'a'..=b'f' => Some(byte.saturating_sub(b'a').saturating_add(10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read_as_it_is_written_and_in_no_other_way() {
        assert_eq!(hex(&[0, 9, 10, 255]), "00090aff");
        assert_eq!(bytes::<4>("00090aff"), Some([0, 9, 10, 255]));
        for wrong in ["00090af", "00090aff0", "00090aFF", "00090agg", "", "00090aff00"] {
            assert_eq!(bytes::<4>(wrong), None, "{wrong}");
        }
    }
}
