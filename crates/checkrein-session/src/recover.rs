//! After a crash or a cancellation: how calls that were on their way end. Deterministic, from the state alone.

use checkrein_contract::{CallKind, Code, Finished, FinishedAs};
use checkrein_gate::error_text;

use crate::batch::Slot;
use crate::state::{Phase, State};

/// Ends of calls that a crash left open, to be recorded before anything else when a session is resumed.
///
/// A call that was started, may not be repeated and has no end is `TOOL_OUTCOME_UNKNOWN`; the calls behind it in the same
/// proposal are `TOOL_NOT_STARTED`, since they may have been meant to follow it. Whatever is pure or idempotent is simply
/// decided and run again (with the same idempotency key), and so is a proposal of which nothing had started.
pub fn recover(state: &State) -> Vec<Finished> {
    let mut ends = Vec::new();
    let mut unknown = false;
    for slot in open_slots(state) {
        match slot.started {
            Some(CallKind::Once) => {
                unknown = true;
                let message = "the harness stopped while it was running, and nobody knows whether it took effect";
                ends.push(end(slot, FinishedAs::Unknown, Code::ToolOutcomeUnknown, message));
            }
            None if unknown => {
                let message =
                    "the harness stopped before it was started, and the call before it may not have taken effect";
                ends.push(end(slot, FinishedAs::NotStarted, Code::ToolNotStarted, message));
            }
            Some(CallKind::Pure | CallKind::Idempotent) | None => {}
        }
    }
    ends
}

/// Ends of calls that were not started when a person cancelled the run. Those that were started end by themselves.
pub fn close_unstarted(state: &State) -> Vec<Finished> {
    let message = "the run was cancelled before it was started";
    open_slots(state).map(|slot| end(slot, FinishedAs::NotStarted, Code::ToolNotStarted, message)).collect()
}

fn open_slots(state: &State) -> impl Iterator<Item = &Slot> {
    let batch = match &state.phase {
        Phase::Calls(batch) | Phase::Checking(batch) => Some(batch),
        Phase::Ready | Phase::Waiting | Phase::Answered | Phase::Ending(_) => None,
    };
    batch.into_iter().flat_map(|batch| &batch.slots).filter(|slot| slot.ended.is_none())
}

fn end(slot: &Slot, how: FinishedAs, code: Code, message: &str) -> Finished {
    Finished::bare(slot.call.id.clone(), slot.call.tool.clone(), how, Some(code), error_text(code, message))
}
