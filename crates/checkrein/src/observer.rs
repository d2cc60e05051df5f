//! Who watches a session, and who is asked. Both are the front's business.

use crate::approvals::Offer;
use checkrein_contract::{Answer, ApprovalRequest, Event, ProposedCall, Settlement};

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

    /// Shows what such a yes would be as a rule, and whether the person agrees to that; or why it can only be given once.
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
