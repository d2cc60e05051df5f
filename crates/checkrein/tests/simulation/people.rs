//! The people of the world: they say yes, no, later or nothing, take a yes back, answer questions, and look before they say
//! what became of a lost call.

use std::sync::Arc;

use checkrein::approvals::{self, Word};
use checkrein::contract::{Answer, ApprovalRequest, ApprovalState, CallId, Code, ProposedCall, SessionId, Settlement};
use checkrein::gate::Redactor;
use checkrein::journal::EventStore;
use checkrein::session::State;
use checkrein::{Asker, HarnessError};
use fastrand::Rng;

use crate::world::World;

/// How often people put things off before they make up their minds.
const PATIENCE: u32 = 3;
const DAY_MS: u64 = 24 * 3_600_000;

/// Someone at the terminal.
pub(crate) struct AtTheTerminal(pub(crate) Arc<World>);

impl World {
    fn puts_off(&self, rng: &mut Rng) -> bool {
        let mut inner = self.inner();
        let off = rng.u8(0..5) == 0 && inner.put_off < PATIENCE;
        inner.put_off += u32::from(off);
        off
    }

    /// What a person says became of a call, after a look at the world.
    pub(crate) fn settlement(&self, session: &SessionId, call: &CallId) -> Settlement {
        let mut rng = self.dice(&format!("settles/{session}/{call}"));
        let word = match (self.happened(session, call), rng.u8(0..10)) {
            (_, 0..2) => Settlement::Unknown,
            (true, _) => Settlement::Done,
            (false, 2..7) => Settlement::Repeat,
            (false, _) => Settlement::Failed,
        };
        self.mark(&format!("people/settles-as-{}", word.as_str()));
        word
    }

    /// People come by while no process runs: they answer what waits, all of it in the end.
    pub(crate) fn people_come_by(&self, step: u32) {
        let mut rng = self.dice(&format!("people/{step}"));
        let hours = [0, 1, 9, 30][rng.usize(0..4)];
        self.inner().between_ms += hours * 3_600_000 + 60_000;
        if rng.u8(0..6) == 0 {
            self.inner().version += 1;
            self.mark("people/change-a-file");
        }
        let now = self.now();
        let listed = approvals::list(&self.disk, now).unwrap_or_default();
        for listed in listed.iter().filter(|listed| listed.state == ApprovalState::Pending) {
            if self.puts_off(&mut rng) {
                self.mark("people/put-off");
                continue;
            }
            self.decide(listed.request(), &mut rng, now);
        }
        for row in self.disk.sessions().unwrap_or_default() {
            let known = self.inner().acknowledged.get(&row.id).map_or(0, Vec::len) as u64;
            if known != row.head.seq {
                let events = self.events(&row.id);
                self.inner().acknowledged.insert(row.id, events);
            }
        }
    }

    fn decide(&self, request: &ApprovalRequest, rng: &mut Rng, now: u64) {
        let yes = Word::Approve { for_ms: [None, Some(60_000), Some(2 * DAY_MS)][rng.usize(0..3)] };
        let words = match rng.u8(0..10) {
            0..2 => vec![("denies", Word::Deny { reason: "not today".to_owned() })],
            2 => vec![("approves", yes), ("revokes", Word::Revoke { reason: "on second thought".to_owned() })],
            _ => vec![("approves", yes)],
        };
        for (what, word) in words {
            match approvals::answer(&self.disk, &Redactor::default(), request.id.as_str(), None, "dana", &word, now) {
                Ok(_) => self.mark(&format!("people/{what}")),
                // The call it was asked for is over: the run was cancelled in between.
                Err(HarnessError::Approval { code: Code::ApprovalStale, .. }) => return,
                Err(error) => self.violation(format!("a person's word on a waiting call is refused: {error}")),
            }
        }
    }
}

impl Asker for AtTheTerminal {
    fn person(&self) -> &str {
        "terry"
    }

    fn approval(&mut self, request: &ApprovalRequest) -> Option<(String, Answer)> {
        let mut rng = self.0.dice(&format!("terminal/{}", request.id));
        if self.0.puts_off(&mut rng) {
            return None;
        }
        self.0.mark("people/answer-at-the-terminal");
        let answer = match rng.u8(0..5) {
            0 => Answer::Denied { reason: "no".to_owned() },
            _ => Answer::Approved { expires_at: self.0.now() + DAY_MS, uses: 1 },
        };
        Some(("terry".to_owned(), answer))
    }

    fn input(&mut self, question: &str) -> Option<(String, String)> {
        let mut rng = self.0.dice(&format!("terminal/{question}"));
        (!self.0.puts_off(&mut rng)).then(|| ("terry".to_owned(), "the blue one".to_owned()))
    }

    fn outcome(&mut self, call: &ProposedCall) -> Option<(String, Settlement, String)> {
        // They see the call and not the session, which may be a part of theirs.
        let sessions = self.0.disk.sessions().unwrap_or_default().into_iter().map(|row| row.id);
        let lost = |session: &SessionId| {
            let events = self.0.events(session);
            State::fold(&events).is_ok_and(|state| state.unknown_outcomes().contains(call))
        };
        let session = sessions.into_iter().find(lost)?;
        Some(("terry".to_owned(), self.0.settlement(&session, &call.id), "I looked".to_owned()))
    }
}
