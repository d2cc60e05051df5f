//! Breaks loops: a call that was refused or failed several times in a row, with the very same arguments, is not run again.

use crate::ports::{Guard, GuardView};

/// After this many identical failures in a row the call is refused.
pub const REFUSE_AT: u32 = 3;
/// After this many the session stops as failed: the model does not listen.
pub const STOP_AT: u32 = 6;

/// The guard.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepeatedFailures;

impl Guard for RepeatedFailures {
    fn name(&self) -> &str {
        super::REPEAT
    }

    fn refuse(&self, view: &GuardView<'_>) -> Result<Option<String>, String> {
        let failures = view.identical_failures;
        Ok((failures >= REFUSE_AT).then(|| format!("this exact call failed {failures} times in a row")))
    }
}
