//! Approvals: a person's recorded yes or no to one exact call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalId, Approvers, CallId, Digest, Effect, Identity, SessionId};

/// What a person is asked. Everything that the yes binds is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Name of the request, for `approvals approve ID`.
    pub id: ApprovalId,
    /// The only session it counts in.
    pub session: SessionId,
    /// The call it was raised for.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The exact arguments, amounts included.
    pub arguments: Value,
    /// What the call would do.
    pub effects: Vec<Effect>,
    /// Why a person is asked.
    pub reason: String,
    /// Digest over all that the yes rests on; a call with another digest is not this call.
    pub binds: Digest,
    /// What the yes rests on, part by part. Empty in journals from before there were parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<Dependency>,
    /// The files that it would run, by path, with what was found of their content (`sha256:...`, `none` where nothing is
    /// there); `None`: it could not be found out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: BTreeMap<String, Option<String>>,
    /// For whom: person, tenant, customer.
    pub identity: Identity,
    /// Who may say yes.
    #[serde(default, skip_serializing_if = "Approvers::is_anybody")]
    pub approvers: Approvers,
    /// The policy in force when it was asked.
    pub policy: Digest,
    /// Milliseconds since 1970.
    pub requested_at: u64,
    /// Milliseconds since 1970; no yes after this, and no run after it either.
    pub expires_at: u64,
}

/// One thing that a yes rests on: where it changes, the yes is for something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// What it is, for people and for the model: ``the content of `a.txt` ``.
    pub what: String,
    /// Digest of how it was when the question was raised.
    pub digest: Digest,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes, to exactly this.
    Approved {
        /// Milliseconds since 1970 after which the yes is void.
        expires_at: u64,
        /// How often it may be used.
        uses: u32,
    },
    /// No.
    Denied {
        /// Why; the model is told.
        reason: String,
    },
    /// An earlier yes is taken back.
    Revoked {
        /// Why.
        reason: String,
    },
    /// The question is taken back by the side that asked, before anybody answered.
    Withdrawn {
        /// Why; the model is told.
        reason: String,
    },
}

/// Where a request stands. Folded from the journal, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// Yes, and not used yet.
    Approved,
    /// No.
    Denied,
    /// The yes was taken back.
    Revoked,
    /// The question was taken back.
    Withdrawn,
    /// Used as often as it allowed.
    Spent,
    /// Too late.
    Expired,
}

impl ApprovalState {
    /// The word that lists print.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
            Self::Withdrawn => "withdrawn",
            Self::Spent => "spent",
            Self::Expired => "expired",
        }
    }
}
