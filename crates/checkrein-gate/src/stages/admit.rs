//! admit: from a judged call to the token, or to a refusal.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    ApprovalId, Call, CallKind, Code, Decision, Dependency, Digest, Effect, Facts, Place, Question, SessionId, Verdict,
};
use checkrein_policy::Policy;

use super::{Changed, Refused};
use crate::approvals::RecordedApproval;
use crate::approved::Approved;
use crate::dependencies;
use crate::grant::Grant;
use crate::registry::Entry;

/// A call with its decision.
pub struct Judged {
    pub(crate) session: SessionId,
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) kind: CallKind,
    pub(crate) key: Digest,
    pub(crate) effects: Vec<Effect>,
    pub(crate) facts: Facts,
    pub(crate) changes: Vec<Changed>,
    pub(crate) decision: Decision,
    /// Filled in where a person is to be asked.
    pub(crate) rests_on: Vec<Dependency>,
    /// Likewise.
    pub(crate) runs: BTreeMap<String, Option<String>>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) place: Place,
}

impl Judged {
    /// The call, with its final arguments.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What it would do.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// The answers the decision rests on.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What hooks changed.
    pub fn changes(&self) -> &[Changed] {
        &self.changes
    }

    /// What an approval of this call rests on, part by part; empty where nobody is asked.
    pub fn rests_on(&self) -> &[Dependency] {
        &self.rests_on
    }

    /// The files that it would run, with what they hold; none where nobody is asked.
    pub fn runs(&self) -> &BTreeMap<String, Option<String>> {
        &self.runs
    }

    /// Digest over all that an approval of this call rests on.
    pub fn binds(&self) -> Digest {
        dependencies::digest(&self.rests_on)
    }

    /// The questions about the content of files that an approval rests on.
    pub(crate) fn content(&self) -> Vec<Question> {
        dependencies::questions(&self.call, &self.entry, &self.effects, &self.facts, &self.place)
    }

    /// Takes the answers to [`Judged::content`].
    pub(crate) fn rest_on(&mut self, content: &Facts) {
        self.runs = dependencies::runs(&self.call, &self.entry, &self.effects, content, &self.place);
        self.rests_on = dependencies::of(&self.call, &self.entry, &self.effects, &self.facts, content, &self.place);
    }

    /// The only way to an [`Approved`]: the decision allows, or it asks and this approval covers exactly this call.
    ///
    /// A deny is a deny, whatever was approved. An allow leaves the approval unused.
    ///
    /// # Errors
    /// [`Refused`], with the code that says why: of the decision, or of the approval.
    pub fn admit(self, approval: Option<&RecordedApproval>, now: u64) -> Result<Approved, Refused> {
        let used = match self.decision.verdict {
            Verdict::Allow => None,
            Verdict::Ask => Some(self.covering(approval, now)?),
            Verdict::Deny => {
                return Err(Refused {
                    call: self.call.id.clone(),
                    tool: self.call.tool.clone(),
                    decision: self.decision,
                });
            }
        };
        let by_person = used.is_some();
        Ok(Approved {
            call: self.call,
            entry: self.entry,
            kind: self.kind,
            key: self.key,
            approval: used,
            grant: Grant {
                effects: self.effects,
                facts: self.facts,
                policy: self.policy,
                place: self.place,
                by_person,
            },
        })
    }

    fn covering(&self, approval: Option<&RecordedApproval>, now: u64) -> Result<ApprovalId, Refused> {
        let refuse = |code, reason: String| Refused::new(&self.call.id, &self.call.tool, code, reason);
        let Some(approval) = approval else {
            return Err(refuse(Code::NeedsApproval, self.decision.reason.clone()));
        };
        approval.covers(&self.session, &self.rests_on, now).map_err(|(code, reason)| refuse(code, reason))
    }
}

impl std::fmt::Debug for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judged").field("call", &self.call).field("decision", &self.decision).finish_non_exhaustive()
    }
}
