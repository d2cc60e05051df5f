//! Replay: a session again from its journal, without a model and without running anything. Each event that follows from
//! those before it is made again by the code that made it, and held against the one that is there.
//!
//! What comes from outside is taken from the journal: the time, the model's words, what a tool brought, what a person said,
//! the facts that were found out. It proves nothing about the chain; `verify` does.

mod again;

use checkrein_contract::{Body, Event, FinishedAs, SessionId, SessionOpened, first_difference};
use checkrein_session::State;

use self::again::Again;

/// A session that is the same again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Events that were folded.
    pub events: usize,
    /// Requests that were built again, to the same digest.
    pub requests: usize,
    /// Proposals that were parsed again.
    pub proposals: usize,
    /// Decisions that were made again, from the policy and the facts in the journal.
    pub decisions: usize,
    /// Results that were made again to the same text.
    pub results: usize,
    /// Results of tools that ran. What they brought is not in the journal, so their text is taken as it is.
    pub taken: usize,
}

/// The first event that is not what follows from those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The session.
    pub session: SessionId,
    /// Number of the event.
    pub seq: u64,
    /// Its kind, as the `type` of its line says.
    pub kind: &'static str,
    /// Where in the event, as a JSON Pointer; empty for the whole.
    pub pointer: String,
    /// What follows from the events before it, bounded.
    pub expected: String,
    /// What the journal says, bounded.
    pub found: String,
    /// What else helps to find the reason.
    pub note: Option<String>,
}

/// Replays the events of one session.
///
/// # Errors
/// The first [`Divergence`].
pub fn replay(events: &[Event]) -> Result<Replayed, Box<Divergence>> {
    let Some((first, rest)) = events.split_first() else { return Ok(Replayed::default()) };
    let Body::Session(opened) = &first.body else {
        let whole = Broken::whole("the beginning of a session", first.body.kind());
        return Err(Box::new(whole.at(first, &SessionId::new(""), env!("CARGO_PKG_VERSION"))));
    };
    let from = |event: &Event, broken: Broken| Box::new(broken.at(event, &opened.session, &opened.harness));
    let mut state = State::open(first).map_err(|error| from(first, Broken::fold(&error)))?;
    let mut again = Again::new(opened).map_err(|broken| from(first, broken))?;
    let mut replayed = Replayed { events: 1, ..Replayed::default() };
    for event in rest {
        let made = again.body(&mut state, event).map_err(|broken| from(event, broken))?;
        if let Some(made) = &made {
            held_against(made, &event.body).map_err(|broken| from(event, broken))?;
        }
        state.apply(event).map_err(|error| from(event, Broken::fold(&error)))?;
        again.applied(&event.body, &state).map_err(|broken| from(event, broken))?;
        replayed.count(&event.body, made.is_some());
    }
    Ok(replayed)
}

impl Replayed {
    fn count(&mut self, body: &Body, made: bool) {
        self.events += 1;
        match body {
            Body::Request { .. } => self.requests += 1,
            Body::Proposal { .. } => self.proposals += 1,
            Body::Decision { .. } if made => self.decisions += 1,
            Body::Finished(_) if made => self.results += 1,
            Body::Finished(finished) if finished.ended != FinishedAs::Left => self.taken += 1,
            _ => {}
        }
    }
}

/// Where an event and what follows from the events before it part.
struct Broken {
    pointer: String,
    expected: String,
    found: String,
    note: Option<String>,
}

impl Broken {
    fn whole(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { pointer: String::new(), expected: expected.into(), found: found.into(), note: None }
    }

    fn fold(error: &checkrein_session::ApplyError) -> Self {
        Self::whole("an event that follows from those before it", error.reason.clone())
    }

    fn at(self, event: &Event, session: &SessionId, harness: &str) -> Divergence {
        let ours = env!("CARGO_PKG_VERSION");
        let other = (harness != ours).then(|| format!("it was recorded by version {harness}, and this is {ours}"));
        let note = [self.note, other].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Divergence {
            session: session.clone(),
            seq: event.seq,
            kind: event.body.kind(),
            pointer: self.pointer,
            expected: self.expected,
            found: self.found,
            note: (!note.is_empty()).then_some(note),
        }
    }
}

fn held_against(made: &Body, found: &Body) -> Result<(), Broken> {
    let json = |body: &Body| serde_json::to_value(body).map_err(|error| Broken::whole("an event", error.to_string()));
    let Some(difference) = first_difference(&json(made)?, &json(found)?) else { return Ok(()) };
    Err(Broken {
        pointer: difference.pointer,
        expected: difference.expected,
        found: difference.found,
        note: match (made, found) {
            (Body::Request { prefix, .. }, Body::Request { prefix: sent, .. }) => Some(request_note(prefix == sent)),
            _ => None,
        },
    })
}

/// A digest does not say what of a request is another; this narrows it down.
fn request_note(same_prefix: bool) -> String {
    let part = if same_prefix {
        "what the request before it had too is the same, so it is among the words and results that came since"
    } else {
        "it is already in what the request before it had too: instructions, tools, or earlier words and results"
    };
    part.to_owned()
}

/// The context policy and the rules of a session, or the first thing that is wrong with its beginning.
fn checked(opened: &SessionOpened) -> Result<std::sync::Arc<checkrein_policy::Policy>, Broken> {
    let policy = crate::setup::policy_of(opened);
    let wrong = |pointer: &str, expected: String, found: String| Broken {
        pointer: pointer.to_owned(),
        expected,
        found,
        note: None,
    };
    let policy = policy.map_err(|error| wrong("/policy", "a policy".to_owned(), error.to_string()))?;
    if *policy.digest() != opened.policy_digest {
        return Err(wrong("/policy_digest", policy.digest().to_string(), opened.policy_digest.to_string()));
    }
    Ok(policy)
}
