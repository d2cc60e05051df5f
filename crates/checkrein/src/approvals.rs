//! Approvals across sessions: listed from the journal, answered by an event.

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, ApprovalState, Body, Code, EVENT_VERSION, Event, SessionId,
};
use checkrein_gate::RecordedApproval;
use checkrein_journal::EventStore;
use checkrein_session::State;

use crate::HarnessError;
use crate::driver::APPROVAL_MS;
use crate::prune::readable;

/// A request with where it stands.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The request with its answer and its use.
    pub approval: RecordedApproval,
    /// Where it stands now.
    pub state: ApprovalState,
}

impl Listed {
    /// The request.
    pub fn request(&self) -> &ApprovalRequest {
        self.approval.request()
    }

    /// Uses that are left; of a pending request the uses it asks for.
    pub fn uses_left(&self) -> u32 {
        if self.state == ApprovalState::Pending { 1 } else { self.approval.uses_left() }
    }
}

/// All requests of all sessions, oldest first. `now` in milliseconds since 1970.
///
/// # Errors
/// [`HarnessError`] when a journal can not be read.
pub fn list(store: &dyn EventStore, now: u64) -> Result<Vec<Listed>, HarnessError> {
    let mut sessions: Vec<SessionId> = Vec::new();
    for (session, _) in store.by_kind(&["ask"])? {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    let mut all = Vec::new();
    for session in sessions {
        let Some(events) = readable(store.read(&session, 1))? else { continue };
        let state = State::fold(&events)?;
        all.extend(state.approvals().map(|approval| Listed { state: approval.state(now), approval: approval.clone() }));
    }
    all.sort_by(|a, b| (a.request().requested_at, &a.request().id).cmp(&(b.request().requested_at, &b.request().id)));
    Ok(all)
}

/// One request, by its id or an unambiguous beginning of it.
///
/// # Errors
/// [`HarnessError::NotFound`].
pub fn find(store: &dyn EventStore, id: &str, now: u64) -> Result<Listed, HarnessError> {
    let mut found: Vec<_> = list(store, now)?.into_iter().filter(|l| l.request().id.as_str().starts_with(id)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => {
            Err(HarnessError::NotFound(format!("there is no approval request `{id}`; see `checkrein approvals list`")))
        }
        (Some(_), false) => Err(HarnessError::NotFound(format!("`{id}` fits several requests; give more of its id"))),
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Yes; for so many milliseconds, else for 24 hours.
    Approve {
        /// How long the yes holds.
        for_ms: Option<u64>,
    },
    /// No, with a reason the model is told.
    Deny {
        /// The reason.
        reason: String,
    },
    /// An earlier yes is taken back.
    Revoke {
        /// The reason.
        reason: String,
    },
}

/// Records a person's answer to one request. `session`, when given, is the session they mean it for.
///
/// # Errors
/// [`HarnessError::Approval`] with the code that says why it does not count.
pub fn answer(
    store: &dyn EventStore,
    id: &str,
    session: Option<&SessionId>,
    person: &str,
    word: &Word,
    now: u64,
) -> Result<Listed, HarnessError> {
    let listed = find(store, id, now)?;
    let request = listed.request().clone();
    let refuse = |code: Code, reason: &str| Err(HarnessError::Approval { code, reason: reason.to_owned() });
    if session.is_some_and(|session| *session != request.session) {
        return refuse(Code::ApprovalOtherSession, "the request belongs to another session");
    }
    let head = store.head(&request.session)?;
    let state = State::fold(&store.read(&request.session, 1)?)?;
    match (listed.state, word) {
        (ApprovalState::Approved, Word::Approve { .. }) => return Ok(listed),
        (ApprovalState::Approved, Word::Revoke { .. }) => {}
        (ApprovalState::Pending, Word::Approve { .. } | Word::Deny { .. }) => {}
        (ApprovalState::Pending, Word::Revoke { .. }) => {
            return refuse(Code::ApprovalRevoked, "nobody has said yes to it, so there is nothing to take back");
        }
        (ApprovalState::Spent, _) => return refuse(Code::ApprovalSpent, "it was used already"),
        (ApprovalState::Expired, _) => return refuse(Code::ApprovalExpired, "its time is over"),
        (ApprovalState::Revoked, _) => return refuse(Code::ApprovalRevoked, "it was taken back"),
        (ApprovalState::Denied, _) => return refuse(Code::DeniedByPerson, "a person said no to it already"),
        (ApprovalState::Approved, Word::Deny { .. }) => {
            return refuse(Code::ApprovalRevoked, "a person said yes to it already; take that back with `revoke`");
        }
    }
    if !state.is_waiting_for(&request.call) {
        return refuse(Code::ApprovalStale, "the call it was asked for does not wait any more");
    }
    let answer = match word {
        Word::Approve { for_ms } => {
            Answer::Approved { expires_at: now.saturating_add(for_ms.unwrap_or(APPROVAL_MS)), uses: 1 }
        }
        Word::Deny { reason } => Answer::Denied { reason: checkrein_gate::redact_text(reason).into_owned() },
        Word::Revoke { reason } => Answer::Revoked { reason: checkrein_gate::redact_text(reason).into_owned() },
    };
    let event = Event {
        v: EVENT_VERSION,
        seq: state.seq() + 1,
        at: now,
        by: Actor::Person(person.to_owned()),
        body: Body::Approval { id: ApprovalId::new(request.id.as_str()), answer },
    };
    // Whoever else wrote in between wins; the answer is then given again on what is there.
    store.append(&request.session, &head, std::slice::from_ref(&event))?;
    find(store, request.id.as_str(), now)
}
