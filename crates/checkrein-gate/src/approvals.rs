//! Recorded approvals: what the journal says of one request, ready to be held against a call.

use checkrein_contract::{Answer, ApprovalId, ApprovalRequest, ApprovalState, Code, Dependency, SessionId};

use crate::dependencies;

/// A request with its answer and its use, as folded from the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedApproval {
    request: ApprovalRequest,
    answer: Option<Answer>,
    used: u32,
}

impl RecordedApproval {
    /// A request that nobody has answered yet.
    pub fn new(request: ApprovalRequest) -> Self {
        Self { request, answer: None, used: 0 }
    }

    /// The request.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// The last answer.
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    /// Takes an answer from the journal. The first yes or no stands; only a revocation comes after it.
    pub fn record(&mut self, answer: Answer) {
        let takes = match (&self.answer, &answer) {
            (None, _) => true,
            (Some(Answer::Approved { .. }), Answer::Revoked { .. }) => true,
            (Some(_), _) => false,
        };
        if takes {
            self.answer = Some(answer);
        }
    }

    /// Takes a use from the journal.
    pub fn record_use(&mut self) {
        self.used = self.used.saturating_add(1);
    }

    /// Uses that are left.
    pub fn uses_left(&self) -> u32 {
        match &self.answer {
            Some(Answer::Approved { uses, .. }) => uses.saturating_sub(self.used),
            _ => 0,
        }
    }

    /// Where it stands at this time (milliseconds since 1970).
    pub fn state(&self, now: u64) -> ApprovalState {
        match &self.answer {
            None if now > self.request.expires_at => ApprovalState::Expired,
            None => ApprovalState::Pending,
            Some(Answer::Denied { .. }) => ApprovalState::Denied,
            Some(Answer::Revoked { .. }) => ApprovalState::Revoked,
            Some(Answer::Approved { .. }) if self.uses_left() == 0 => ApprovalState::Spent,
            Some(Answer::Approved { expires_at, .. }) if now > *expires_at => ApprovalState::Expired,
            Some(Answer::Approved { .. }) => ApprovalState::Approved,
        }
    }

    /// Whether it lets a call that rests on this run, in this session, now.
    pub(crate) fn covers(&self, session: &SessionId, rests_on: &[Dependency], now: u64) -> Result<ApprovalId, Refusal> {
        if self.request.session != *session {
            return Err((Code::ApprovalOtherSession, "the approval was given in another session".to_owned()));
        }
        match self.state(now) {
            ApprovalState::Approved if self.request.binds == dependencies::digest(rests_on) => {
                Ok(self.request.id.clone())
            }
            ApprovalState::Approved => {
                Err((Code::ApprovalStale, dependencies::changes(&self.request.rests_on, rests_on)))
            }
            ApprovalState::Pending => Err((Code::NeedsApproval, "nobody has answered yet".to_owned())),
            ApprovalState::Spent => Err((Code::ApprovalSpent, "the approval was used already".to_owned())),
            ApprovalState::Expired => {
                Err((Code::ApprovalExpired, "the approval came too late or is too old".to_owned()))
            }
            ApprovalState::Denied => {
                let reason = match &self.answer {
                    Some(Answer::Denied { reason }) if !reason.is_empty() => reason.clone(),
                    _ => "a person said no".to_owned(),
                };
                Err((Code::DeniedByPerson, reason))
            }
            ApprovalState::Revoked => Err((Code::ApprovalRevoked, "the approval was taken back".to_owned())),
        }
    }
}

/// A code with its reason.
pub(crate) type Refusal = (Code, String);
