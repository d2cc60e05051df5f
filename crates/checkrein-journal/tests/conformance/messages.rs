//! What an operator reads: every error says what happened, where, and what to do next.

use checkrein_contract::{Digest, SessionId};
use checkrein_journal::{ChainFault, ChainProblem, Head, JournalError, PublicKey};

/// A change to a message is a change that somebody looks at.
#[test]
fn messages_say_what_where_and_what_next() {
    let (session, path) = (SessionId::new("s-1"), std::path::PathBuf::from("/state/journal.db"));
    let (digest, reason) = (Digest::of(b"x"), "No such device".to_owned());
    let head = |seq| Head { seq, hash: digest.clone() };
    let fault = |problem| JournalError::from(ChainFault { session: session.clone(), seq: 3, problem });
    let errors = [
        JournalError::Exists { session: session.clone() },
        JournalError::NoSession { prefix: "s-2".to_owned() },
        JournalError::Ambiguous { prefix: "s".to_owned(), found: vec![session.clone(), SessionId::new("s-2")] },
        JournalError::Conflict { session: session.clone(), expected: head(3), found: head(5) },
        JournalError::Gap { session: session.clone(), expected: 3, found: 5 },
        JournalError::Unwritable { session: session.clone(), seq: 3, reason: "it has version 2".to_owned() },
        JournalError::Unknown { session: session.clone(), seq: 3, what: "type `telepathy`".to_owned() },
        JournalError::MissingBlob { session: session.clone(), seq: 3, digest: digest.clone() },
        fault(ChainProblem::Sequence { expected: 3, found: 5 }),
        fault(ChainProblem::Hash),
        fault(ChainProblem::Column { column: "kind" }),
        fault(ChainProblem::Unreadable { reason: "no JSON".to_owned() }),
        fault(ChainProblem::Payload { digest: digest.clone() }),
        fault(ChainProblem::Spelling),
        fault(ChainProblem::Gone { digest: digest.clone() }),
        fault(ChainProblem::Signature),
        fault(ChainProblem::Signed { signed: head(5), reached: 2 }),
        fault(ChainProblem::Signed { signed: head(3), reached: 3 }),
        fault(ChainProblem::Unsigned { signed: 2 }),
        fault(ChainProblem::Key { found: PublicKey::parse(digest.as_str()).unwrap() }),
        fault(ChainProblem::Session { found: "s-2".to_owned() }),
        fault(ChainProblem::Anchor { expected: head(5), reached: 2 }),
        fault(ChainProblem::Anchor { expected: head(3), reached: 3 }),
        JournalError::Full { path: path.clone() },
        JournalError::ReadOnly { path: path.clone() },
        JournalError::NotWritable { path: path.clone(), reason: "Permission denied".to_owned() },
        JournalError::Busy { path: path.clone() },
        JournalError::Corrupt { path: path.clone(), detail: "database disk image is malformed".to_owned() },
        JournalError::Foreign { path: path.clone() },
        JournalError::Key { path: path.clone(), reason: "it is no key of a journal".to_owned() },
        JournalError::Newer { path: path.clone(), found: 9, known: 1 },
        JournalError::Io { doing: "writing", path, reason },
    ];
    let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"));
}
