//! Approvals across sessions: listed from the journal, answered by an event.

mod remember;

use checkrein_contract::{Actor, Answer, ApprovalRequest, ApprovalState, Body, Code, EVENT_VERSION, Event, SessionId};
use checkrein_gate::{RecordedApproval, Redactor};
use checkrein_journal::{EventStore, JournalError};
use checkrein_session::State;

pub(crate) use self::remember::of_call;
pub use self::remember::{Offer, Rule, forget, offer, remember, rule, rules};
use crate::HarnessError;
use crate::driver::APPROVAL_MS;
use crate::person::person;
use crate::prune::readable;

/// Shortest beginning of an id that names it: its mark and four characters.
const SHORTEST: usize = "a-0000".len();

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
    let all = list(store, now)?;
    let mut found: Vec<_> = all.into_iter().filter(|listed| names(id, listed.request().id.as_str())).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => {
            Err(HarnessError::NotFound(format!("there is no approval request `{id}`; see `checkrein approvals list`")))
        }
        (Some(_), false) => Err(HarnessError::NotFound(format!("`{id}` fits several requests; give more of its id"))),
    }
}

/// Whether a text names an id: it is the id, or begins it far enough that nobody means every one by it: an empty variable in a
/// script answers nothing.
fn names(text: &str, id: &str) -> bool {
    text == id || (text.len() >= SHORTEST && id.starts_with(text))
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
    /// The question is taken back.
    Withdraw {
        /// The reason; the model is told.
        reason: String,
    },
}

/// Records a person's answer to one request, its reason without what the `redactor` knows. `session`, when given, is the session
/// they mean it for. An answer that does not count is recorded as such.
///
/// # Errors
/// [`HarnessError::Approval`] with the code that says why it does not count.
pub fn answer(
    store: &dyn EventStore,
    redactor: &Redactor,
    id: &str,
    session: Option<&SessionId>,
    person: &str,
    word: &Word,
    now: u64,
) -> Result<Listed, HarnessError> {
    give(store, id, session, person, &word.without_secrets(redactor), None, now)
}

/// The same; a yes may come with what is to be remembered of it, which counts only where nothing happened since it was
/// offered.
fn give(
    store: &dyn EventStore,
    id: &str,
    session: Option<&SessionId>,
    name: &str,
    word: &Word,
    offer: Option<&Offer>,
    now: u64,
) -> Result<Listed, HarnessError> {
    let named = person(name).map_err(HarnessError::Task)?;
    let person = named.as_str();
    let listed = find(store, id, now)?;
    let request = listed.request().clone();
    let head = match offer {
        Some(offer) => offer.head.clone(),
        None => store.head(&request.session)?,
    };
    let state = State::fold(&store.read(&request.session, 1)?)?;
    let refused = refusal(&listed, session, person, word, &state);
    let bodies = match &refused {
        Some((code, reason)) => {
            vec![Body::AnswerRefused { id: request.id.clone(), code: *code, reason: reason.clone() }]
        }
        None => {
            let answer = Body::Approval { id: request.id.clone(), answer: said(word, now) };
            let remembered = offer.map(|offer| Body::Remembered(Box::new(offer.remembered.clone())));
            std::iter::once(answer).chain(remembered).collect()
        }
    };
    let appended = store.append(&request.session, &head, &events_of(&state, person, now, bodies));
    match refused {
        // A refusal stands, whether or not somebody else wrote in between.
        Some((code, reason)) => match appended {
            Ok(_) | Err(JournalError::Conflict { .. }) => Err(HarnessError::Approval { code, reason }),
            Err(error) => Err(error.into()),
        },
        // Of an answer whoever else wrote in between wins; it is then given again on what is there.
        None => {
            appended?;
            find(store, request.id.as_str(), now)
        }
    }
}

/// What a person does, as the next events of a session.
fn events_of(state: &State, person: &str, at: u64, bodies: Vec<Body>) -> Vec<Event> {
    let by = Actor::Person(person.to_owned());
    let numbered = (state.seq() + 1..).zip(bodies);
    numbered.map(|(seq, body)| Event { v: EVENT_VERSION, seq, at, by: by.clone(), body }).collect()
}

impl Word {
    fn without_secrets(&self, redactor: &Redactor) -> Self {
        let mut word = self.clone();
        if let Self::Deny { reason } | Self::Revoke { reason } | Self::Withdraw { reason } = &mut word {
            *reason = redactor.text(reason).into_owned();
        }
        word
    }
}

fn said(word: &Word, now: u64) -> Answer {
    match word {
        Word::Approve { for_ms } => {
            Answer::Approved { expires_at: now.saturating_add(for_ms.unwrap_or(APPROVAL_MS)), uses: 1 }
        }
        Word::Deny { reason } => Answer::Denied { reason: reason.clone() },
        Word::Revoke { reason } => Answer::Revoked { reason: reason.clone() },
        Word::Withdraw { reason } => Answer::Withdrawn { reason: reason.clone() },
    }
}

/// Why an answer does not count.
fn refusal(
    listed: &Listed,
    session: Option<&SessionId>,
    person: &str,
    word: &Word,
    state: &State,
) -> Option<(Code, String)> {
    let request = listed.request();
    let refuse = |code: Code, reason: &str| Some((code, reason.to_owned()));
    if session.is_some_and(|session| *session != request.session) {
        return refuse(Code::ApprovalOtherSession, "the request belongs to another session");
    }
    let revokes = matches!(word, Word::Revoke { .. });
    let decided = || {
        let by = listed.approval.answered_by().map(ToString::to_string).unwrap_or_default();
        let by = by.strip_prefix("person:").unwrap_or(&by).to_owned();
        match listed.approval.answer() {
            Some(Answer::Denied { .. }) => format!("it is decided already: {by} said no to it"),
            _ => format!("it is decided already: {by} said yes to it; take that back with `revoke`"),
        }
    };
    match listed.state {
        ApprovalState::Approved if revokes => {}
        ApprovalState::Approved | ApprovalState::Denied => return Some((Code::ApprovalDecided, decided())),
        ApprovalState::Pending if revokes => {
            return refuse(Code::ApprovalRevoked, "nobody has said yes to it, so there is nothing to take back");
        }
        ApprovalState::Pending => {}
        ApprovalState::Spent => return refuse(Code::ApprovalSpent, "it was used already"),
        ApprovalState::Expired => return refuse(Code::ApprovalExpired, "its time is over"),
        ApprovalState::Revoked => return refuse(Code::ApprovalRevoked, "it was taken back"),
        ApprovalState::Withdrawn => return refuse(Code::ApprovalWithdrawn, "the question was taken back"),
    }
    if !state.is_waiting_for(&request.call) {
        return refuse(Code::ApprovalStale, "the call it was asked for does not wait any more");
    }
    let why = request.approvers.refuses(person, &request.identity).filter(|_| matches!(word, Word::Approve { .. }));
    why.map(|why| (Code::ApprovalNotYours, why))
}
