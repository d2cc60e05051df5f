//! Approvals: a person's recorded yes or no to one exact call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalId, CallId, Digest, Effect, Identity, SessionId};

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
    /// Digest of tool, arguments, effects, working directory, real paths and the tool's definition; a call with another
    /// digest is not this call.
    pub binds: Digest,
    /// For whom: person, tenant, customer.
    pub identity: Identity,
    /// The policy in force when it was asked.
    pub policy: Digest,
    /// Milliseconds since 1970.
    pub requested_at: u64,
    /// Milliseconds since 1970; no yes after this, and no run after it either.
    pub expires_at: u64,
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
    /// Taken back.
    Revoked,
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
            Self::Spent => "spent",
            Self::Expired => "expired",
        }
    }
}
