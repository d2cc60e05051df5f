//! The token. Whoever holds an [`Approved`] may run exactly one call, once.
//!
//! Its fields are private, it can not be cloned, and the only way to one is [`Judged::admit`](crate::Judged::admit).
//! Tools and sandboxes demand a reference to one. This guards against our own mistakes, not against code in the same
//! process that calls the operating system by itself; the sandbox is for that.

use checkrein_contract::{ApprovalId, Call, CallKind, Digest};

use crate::grant::Grant;
use crate::registry::Entry;

/// One call that may run, with what it was granted.
pub struct Approved {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) kind: CallKind,
    pub(crate) key: Digest,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) grant: Grant,
}

impl Approved {
    /// The call, with its final arguments.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// What may be repeated.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// Idempotency key: the same for every attempt at this call, and for no other call.
    pub fn key(&self) -> &Digest {
        &self.key
    }

    /// The approval it uses up.
    pub fn approval(&self) -> Option<&ApprovalId> {
        self.approval.as_ref()
    }

    /// What it may touch.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

impl std::fmt::Debug for Approved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approved").field("call", &self.call).field("kind", &self.kind).finish_non_exhaustive()
    }
}
