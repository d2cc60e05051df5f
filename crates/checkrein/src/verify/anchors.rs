//! Heads that were kept elsewhere: written as JSON lines, and read back to hold a journal against them.
//!
//! What lies in one place can be put back to an earlier day as a whole, signatures and all. A head in another place shows it.

use checkrein_contract::{Digest, SessionId, canonical_string};
use checkrein_journal::{ChainProblem, EventStore, Head, PublicKey, SignedHead};
use serde::{Deserialize, Serialize};

use super::Fault;
use crate::HarnessError;

/// One kept head: the signed one, or what is known of a session that nobody signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: u64,
    hash: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<PublicKey>,
    seq: u64,
    session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// One canonical JSON line for each of these sessions: its head with its signature, to be kept elsewhere. A session that
/// was last written by a version that signed nothing has its head alone, which anchors as well as a signed one where it is
/// kept. One without events has none.
///
/// # Errors
/// [`HarnessError::Journal`] when the journal can not be read.
pub fn heads(store: &dyn EventStore, sessions: &[SessionId]) -> Result<Vec<String>, HarnessError> {
    let mut lines = Vec::new();
    for session in sessions {
        let line = match store.signed_head(session)? {
            Some(signed) => Some(Line {
                at: signed.at,
                hash: signed.hash,
                key: Some(signed.key),
                seq: signed.seq,
                session: signed.session,
                signature: Some(signed.signature),
            }),
            None => {
                let head = store.head(session)?;
                let last = store.rows(session, head.seq, 1)?.pop().and_then(|row| row.at());
                let Head { seq, hash } = head;
                last.map(|at| Line { at, hash, key: None, seq, session: session.clone(), signature: None })
            }
        };
        let value = line.and_then(|line| serde_json::to_value(line).ok());
        lines.extend(value.map(|value| canonical_string(&value)));
    }
    Ok(lines)
}

/// Kept heads, of any sessions.
#[derive(Clone, Debug, Default)]
pub struct Anchors {
    kept: Vec<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    session: SessionId,
    head: Head,
    signed: Option<SignedHead>,
}

impl Anchors {
    /// Reads lines of [`heads`]. Empty lines do not count.
    ///
    /// # Errors
    /// [`HarnessError::Task`] names the first line that is no head, or whose signature is not one of its key.
    pub fn read(text: &str) -> Result<Self, HarnessError> {
        let mut kept = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |why: String| HarnessError::Task(format!("line {} of the kept heads: {why}", index + 1));
            let line: Line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            let head = Head { seq: line.seq, hash: line.hash.clone() };
            let signed = match (line.key, line.signature) {
                (None, None) => None,
                (Some(key), Some(signature)) => {
                    let session = line.session.clone();
                    Some(SignedHead { at: line.at, hash: line.hash, key, seq: line.seq, session, signature })
                }
                _ => return Err(wrong("a key goes with a signature, and a signature with a key".to_owned())),
            };
            if signed.as_ref().is_some_and(|signed| !signed.holds()) {
                return Err(wrong("its signature is not one of its key; it was changed".to_owned()));
            }
            kept.push(Kept { session: line.session, head, signed });
        }
        Ok(Self { kept })
    }

    /// One head of one session, as people note it.
    pub fn of(session: SessionId, head: Head) -> Self {
        Self { kept: vec![Kept { session, head, signed: None }] }
    }

    /// The sessions there are heads of, in the order of the lines.
    pub fn sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<SessionId> = Vec::new();
        for kept in &self.kept {
            if !sessions.contains(&kept.session) {
                sessions.push(kept.session.clone());
            }
        }
        sessions
    }

    /// The heads of one session.
    pub(super) fn heads_of<'a>(&'a self, session: &'a SessionId) -> impl Iterator<Item = &'a Head> {
        self.kept.iter().filter(move |kept| kept.session == *session).map(|kept| &kept.head)
    }

    /// The signed head of a session that ends here, if it was kept.
    pub(super) fn signed(&self, session: &SessionId, head: &Head) -> Option<&SignedHead> {
        let mut kept = self.kept.iter().filter(|kept| kept.session == *session && kept.head == *head);
        kept.find_map(|kept| kept.signed.as_ref())
    }

    /// That a session is not in the journal any more, where a head of it was kept.
    pub fn gone(&self, session: &SessionId) -> Option<Fault> {
        let reached = self.heads_of(session).map(|head| head.seq).max()?;
        let problem = format!("the session is gone; it was known to reach event {reached}");
        Some(Fault { session: session.clone(), seq: 1, invariant: "head", problem })
    }

    /// Judges whose signature a session has. `keys` are those that count in its journal; where there is none at all, nobody
    /// here can say.
    pub(super) fn judge(
        &self,
        session: &SessionId,
        reached: u64,
        signed: Option<&SignedHead>,
        keys: &[PublicKey],
    ) -> Result<(), Fault> {
        let fault = |problem| Fault { session: session.clone(), seq: reached, invariant: "head", problem };
        let kept = self.kept.iter().filter(|kept| kept.session == *session);
        let then = kept.filter_map(|kept| kept.signed.as_ref()).map(|signed| &signed.key).next_back();
        let now = signed.map(|signed| &signed.key);
        match (then, now) {
            (Some(then), None) => {
                let problem =
                    format!("its head was signed with the key {} once, and nothing signs it now", then.short());
                Err(fault(problem))
            }
            (Some(then), Some(now)) if then != now => {
                let problem =
                    format!("its head is signed with the key {}, and was signed with {}", now.short(), then.short());
                Err(fault(problem))
            }
            (None, Some(now)) if !keys.is_empty() && !keys.contains(now) && !self.knows(now) => {
                Err(fault(ChainProblem::Key { found: now.clone() }.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn knows(&self, key: &PublicKey) -> bool {
        self.kept.iter().filter_map(|kept| kept.signed.as_ref()).any(|signed| signed.key == *key)
    }
}
