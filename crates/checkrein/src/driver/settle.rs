//! Calls that a lost process left running: a person says what became of them, at the terminal or in a later process.

use checkrein_contract::{Actor, Body, CallId, Code, ProposedCall, Settlement, Status, Stop};
use checkrein_gate::{Recorder, redact_text};
use checkrein_session::recover;

use super::Session;
use crate::HarnessError;

impl Session {
    /// Takes a person's words on calls whose outcome is unknown, each by its id (`c3-1`), with a note that the model reads.
    /// Durable when it returns; nothing is recorded unless every one of them is such a call.
    ///
    /// # Errors
    /// [`HarnessError::Task`] names the first that is none, and those that there are.
    pub fn settle(&mut self, person: &str, words: &[(CallId, Settlement)], note: &str) -> Result<(), HarnessError> {
        let open = self.log.state.unknown_outcomes();
        if let Some((wrong, _)) = words.iter().find(|(call, _)| !open.iter().any(|known| known.id == *call)) {
            let known: Vec<String> = open.iter().map(|call| format!("{} ({})", call.id, call.tool)).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
            let message = format!("`{wrong}` is no call of this session whose outcome is unknown: {known}");
            return Err(HarnessError::Task(message));
        }
        for (call, settlement) in words {
            self.record_settlement(person, call, *settlement, note)?;
        }
        self.log.flush()?;
        Ok(())
    }

    /// Asks the person at the terminal, whatever the task says of asking: they are there, and the session can not go on by
    /// itself. Without one it pauses.
    pub(super) fn settle_or_pause(&mut self, calls: &[ProposedCall]) -> Result<(), HarnessError> {
        for call in calls {
            let answer = self.asker.as_ref().and_then(|asker| asker.outcome(call));
            let Some((person, settlement, note)) = answer else { return self.pause_for_word() };
            self.record_settlement(&person, &call.id, settlement, &note)?;
        }
        self.log.flush()?;
        Ok(())
    }

    fn record_settlement(
        &mut self,
        person: &str,
        call: &CallId,
        settlement: Settlement,
        note: &str,
    ) -> Result<(), HarnessError> {
        let note = redact_text(note).into_owned();
        let body = Body::Settled { call: call.clone(), settlement, note };
        self.log.record(Actor::Person(person.to_owned()), body)?;
        for end in recover(&self.log.state) {
            self.log.record(Actor::Code, Body::Finished(Box::new(end)))?;
        }
        Ok(())
    }

    /// Waits for a person's word on what nobody has settled yet.
    fn pause_for_word(&mut self) -> Result<(), HarnessError> {
        let open = self.log.state.unknown_outcomes();
        let calls: Vec<String> = open.iter().map(|call| format!("`{}` ({})", call.tool, call.id)).collect();
        let reason = format!(
            "the harness stopped while {} ran, and nobody knows what became of it: a person has to say",
            calls.join(" and ")
        );
        self.stop(Stop { status: Status::NeedsInput, code: Code::ToolOutcomeUnknown, reason, limit: None })
    }
}
