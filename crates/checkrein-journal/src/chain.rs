//! The chain: how an event is tied to everything before it, and the sealing of events before they are stored. The formula
//! stands at the top of the crate.
//!
//! The session stands beside the event and not inside it, because some bodies have a field `session` of their own. Nothing
//! here touches a store.

use checkrein_contract::{Digest, Event, SessionId, canonical_string};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JournalError;
use crate::body::{self, Blob};
use crate::store::StoredRow;

/// How far a session's chain reaches. Kept elsewhere, it is an anchor that shows whether the newest events were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Number of the last event; 0 before any.
    pub seq: u64,
    /// Hash of the last event; before any, a hash of the session's id.
    pub hash: Digest,
}

impl Head {
    /// The head of a session without events.
    pub fn genesis(session: &SessionId) -> Self {
        Self { seq: 0, hash: Digest::of_parts(&[b"checkrein-journal 1 ", session.as_str().as_bytes()]) }
    }
}

/// One session's chain while it is being built or checked.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    session: String,
    pub(crate) head: Head,
}

impl Chain {
    /// The chain of this session from this head on.
    pub(crate) fn from(session: &SessionId, head: Head) -> Self {
        Self { session: canonical_string(&Value::String(session.as_str().to_owned())), head }
    }

    /// The hash that the next event has if this is its stored text.
    pub(crate) fn hash_of_next(&self, text: &str) -> Digest {
        Digest::of_parts(&[
            self.head.hash.as_str().as_bytes(),
            br#"{"event":"#,
            text.as_bytes(),
            br#","session":"#,
            self.session.as_bytes(),
            b"}",
        ])
    }

    /// Goes on to the next event, whose hash this is.
    pub(crate) fn advance(&mut self, hash: Digest) {
        self.head = Head { seq: self.head.seq.saturating_add(1), hash };
    }
}

/// An event that is ready to be stored. Only [`seal`] makes one.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    pub(crate) row: StoredRow,
    pub(crate) blobs: Vec<Blob>,
}

/// Seals events onto a head; also gives the head after them.
///
/// # Errors
/// [`JournalError::Gap`] when they do not follow it one by one, [`JournalError::Unwritable`].
pub(crate) fn seal(
    session: &SessionId,
    expected: &Head,
    events: &[Event],
) -> Result<(Vec<Sealed>, Head), JournalError> {
    let mut chain = Chain::from(session, expected.clone());
    let mut sealed = Vec::with_capacity(events.len());
    for event in events {
        let due = chain.head.seq.saturating_add(1);
        if event.seq != due {
            return Err(JournalError::Gap { session: session.clone(), expected: due, found: event.seq });
        }
        let encoded = body::encode(event).map_err(|reason| JournalError::Unwritable {
            session: session.clone(),
            seq: event.seq,
            reason,
        })?;
        let hash = chain.hash_of_next(&encoded.text);
        let row = StoredRow {
            seq: event.seq,
            kind: event.body.kind().to_owned(),
            hash: hash.as_str().to_owned(),
            body: encoded.text,
        };
        sealed.push(Sealed { row, blobs: encoded.blobs });
        chain.advance(hash);
    }
    Ok((sealed, chain.head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_can_be_recomputed_by_hand() {
        let session = SessionId::new("s-1");
        let chain = Chain::from(&session, Head::genesis(&session));
        assert_eq!(chain.head.hash, Digest::of(b"checkrein-journal 1 s-1"));
        let by_hand = format!("{}{{\"event\":{{\"seq\":1}},\"session\":\"s-1\"}}", chain.head.hash);
        assert_eq!(chain.hash_of_next("{\"seq\":1}"), Digest::of(by_hand.as_bytes()));
    }

    #[test]
    fn sessions_have_chains_of_their_own() {
        assert_ne!(Head::genesis(&SessionId::new("s-1")), Head::genesis(&SessionId::new("s-2")));
    }
}
