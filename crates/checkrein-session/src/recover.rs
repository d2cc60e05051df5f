//! After a crash or a cancellation: how calls that were on their way end. Deterministic, from the state alone.

use checkrein_contract::{Code, Finished, FinishedAs, OnAsk, Settlement};
use checkrein_gate::error_text;

use crate::batch::Slot;
use crate::state::State;

/// Ends of calls that a crash left open, to be recorded before anything else when a session is resumed, and again when a
/// person has said what became of one.
///
/// A call that was started, may not be repeated and has no end waits for a person's word ([`State::unknown_outcomes`]);
/// where nobody may be asked, or the person can not tell either, it is `TOOL_OUTCOME_UNKNOWN`, and the calls behind it in the
/// same proposal are `TOOL_NOT_STARTED`, since they may have been meant to follow it. Whatever is pure or idempotent is
/// simply decided and run again (with the same idempotency key), and so is a proposal of which nothing had started.
pub fn recover(state: &State) -> Vec<Finished> {
    let asks_nobody = state.opened().on_ask == OnAsk::Deny;
    let mut ends = Vec::new();
    let mut unknown = false;
    for slot in state.open_slots() {
        match (&slot.settled, slot.is_interrupted()) {
            (Some((Settlement::Done, note)), true) => {
                let text = said("[harness] It was interrupted. A person looked, and says that it took effect", note);
                ends.push(Finished::bare(slot.call.id.clone(), slot.call.tool.clone(), FinishedAs::Ok, None, text));
            }
            (Some((Settlement::Failed, note)), true) => {
                let text = said("it was interrupted. A person looked, and says that it did not take effect", note);
                ends.push(end(slot, FinishedAs::Failed, Code::ToolFailed, &text));
            }
            (Some((Settlement::Unknown, note)), true) => {
                unknown = true;
                let text = said(
                    "the harness stopped while it was running, and a person can not tell whether it took effect",
                    note,
                );
                ends.push(end(slot, FinishedAs::Unknown, Code::ToolOutcomeUnknown, &text));
            }
            (_, true) if asks_nobody => {
                unknown = true;
                let message = "the harness stopped while it was running, and nobody knows whether it took effect";
                ends.push(end(slot, FinishedAs::Unknown, Code::ToolOutcomeUnknown, message));
            }
            _ if slot.started.is_none() && unknown => {
                let message =
                    "the harness stopped before it was started, and the call before it may not have taken effect";
                ends.push(end(slot, FinishedAs::NotStarted, Code::ToolNotStarted, message));
            }
            _ => {}
        }
    }
    ends
}

/// A sentence, with a person's words where there are any.
fn said(what: &str, note: &str) -> String {
    if note.trim().is_empty() { format!("{what}.") } else { format!("{what}: {}", note.trim()) }
}

/// Ends of calls that were not started when a person cancelled the run. Those that were started end by themselves, or wait
/// for a person's word.
pub fn close_unstarted(state: &State) -> Vec<Finished> {
    let message = "the run was cancelled before it was started";
    let open = state.open_slots().filter(|slot| !slot.is_interrupted());
    open.map(|slot| end(slot, FinishedAs::NotStarted, Code::ToolNotStarted, message)).collect()
}

fn end(slot: &Slot, how: FinishedAs, code: Code, message: &str) -> Finished {
    Finished::bare(slot.call.id.clone(), slot.call.tool.clone(), how, Some(code), error_text(code, message))
}
