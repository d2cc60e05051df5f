//! Recorded approvals: what the journal says of one request, ready to be held against a call.

use checkrein_contract::{Actor, Answer, ApprovalId, ApprovalRequest, ApprovalState, Code, Dependency, SessionId};

use crate::dependencies;

/// A request with its answer and its use, as folded from the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedApproval {
    request: ApprovalRequest,
    answer: Option<Answer>,
    by: Option<Actor>,
    used: u32,
}

impl RecordedApproval {
    /// A request that nobody has answered yet.
    pub fn new(request: ApprovalRequest) -> Self {
        Self { request, answer: None, by: None, used: 0 }
    }

    /// The request.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// The last answer that counts.
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    /// Who gave it.
    pub fn answered_by(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    /// Takes an answer from the journal. Only a person's counts, a yes only of one who may say it; the harness may take its
    /// question back. The first answer stands; only a revocation of a yes comes after it.
    pub fn record(&mut self, by: &Actor, answer: Answer) {
        let theirs = match (by, &answer) {
            (Actor::Person(name), Answer::Approved { .. }) => {
                self.request.approvers.refuses(name, &self.request.identity).is_none()
            }
            (Actor::Person(_), _) | (Actor::Code, Answer::Withdrawn { .. }) => true,
            (Actor::Code | Actor::Model | Actor::Hook(_), _) => false,
        };
        let in_turn = match (&self.answer, &answer) {
            (None, Answer::Revoked { .. }) => false,
            (None, _) | (Some(Answer::Approved { .. }), Answer::Revoked { .. }) => true,
            (Some(_), _) => false,
        };
        if theirs && in_turn {
            self.by = Some(by.clone());
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
            Some(Answer::Withdrawn { .. }) => ApprovalState::Withdrawn,
            Some(Answer::Approved { .. }) if self.uses_left() == 0 => ApprovalState::Spent,
            Some(Answer::Approved { expires_at, .. }) if now > *expires_at => ApprovalState::Expired,
            Some(Answer::Approved { .. }) => ApprovalState::Approved,
        }
    }

    /// The words of whoever took it back.
    fn because(&self) -> String {
        match &self.answer {
            Some(Answer::Revoked { reason } | Answer::Withdrawn { reason }) if !reason.is_empty() => {
                format!(": {reason}")
            }
            _ => String::new(),
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
            ApprovalState::Revoked => {
                Err((Code::ApprovalRevoked, format!("the approval was taken back{}", self.because())))
            }
            ApprovalState::Withdrawn => {
                Err((Code::ApprovalWithdrawn, format!("the question was taken back{}", self.because())))
            }
        }
    }
}

/// A code with its reason.
pub(crate) type Refusal = (Code, String);
