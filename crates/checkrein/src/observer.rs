//! Who watches a session, and who is asked. Both are the front's business.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use checkrein_contract::{Answer, ApprovalRequest, Event, ProposedCall, Settlement};

use crate::approvals::Offer;

/// Sees what happens, as it happens.
pub trait Observer: Send {
    /// An event was recorded.
    fn event(&mut self, _event: &Event) {}

    /// A piece of the model's text, without secrets. A reply that fails half-way is followed by [`Observer::void`].
    fn text(&mut self, _piece: &str) {}

    /// The text since the last request does not count.
    fn void(&mut self) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// A person who can be asked while the session runs.
pub trait Asker: Send {
    /// Who it is, by the name that the journal gets.
    fn person(&self) -> &str;

    /// A call waits for a yes. `None` puts the question off: the session pauses.
    fn approval(&mut self, request: &ApprovalRequest) -> Option<(String, Answer)>;

    /// Whether the yes that was just given is to count for more than this call.
    fn wants_it_remembered(&mut self) -> bool {
        false
    }

    /// Shows what such a yes would be as a rule, and whether the person agrees to that: if not, the call is not approved, and
    /// [`Asker::approval`] asks again. Or shows why it can only be given once; then it is a yes to this call.
    fn remembers(&mut self, _offer: Result<&Offer, &str>) -> bool {
        false
    }

    /// A tool asks a question. `None` puts it off. The first part is the person's name.
    fn input(&mut self, question: &str) -> Option<(String, String)>;

    /// A process was lost while this call ran. `None` puts the question off. The parts: the person's name, what became of it,
    /// and words that the model reads.
    fn outcome(&mut self, _call: &ProposedCall) -> Option<(String, Settlement, String)> {
        None
    }
}

/// One person for a session and all its sub-sessions: one question at a time.
#[derive(Clone)]
pub(crate) struct OnePerson {
    name: String,
    asker: Arc<Mutex<Box<dyn Asker>>>,
}

impl OnePerson {
    pub(crate) fn new(asker: Box<dyn Asker>) -> Self {
        Self { name: asker.person().to_owned(), asker: Arc::new(Mutex::new(asker)) }
    }

    fn asker(&self) -> MutexGuard<'_, Box<dyn Asker>> {
        self.asker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn person(&self) -> &str {
        &self.name
    }

    pub(crate) fn approval(&self, request: &ApprovalRequest) -> Option<(String, Answer)> {
        self.asker().approval(request)
    }

    pub(crate) fn wants_it_remembered(&self) -> bool {
        self.asker().wants_it_remembered()
    }

    pub(crate) fn remembers(&self, offer: Result<&Offer, &str>) -> bool {
        self.asker().remembers(offer)
    }

    pub(crate) fn input(&self, question: &str) -> Option<(String, String)> {
        self.asker().input(question)
    }

    pub(crate) fn outcome(&self, call: &ProposedCall) -> Option<(String, Settlement, String)> {
        self.asker().outcome(call)
    }
}
