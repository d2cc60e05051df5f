//! Guards: last checks that can only refuse.

use checkrein_contract::{Call, Effect, Facts, Identity, Place, Spend};

/// What a guard sees of a call.
#[derive(Clone, Copy, Debug)]
pub struct GuardView<'a> {
    /// The call, with its final arguments.
    pub call: &'a Call,
    /// What it would do.
    pub effects: &'a [Effect],
    /// The answers around it.
    pub facts: &'a Facts,
    /// On whose behalf.
    pub identity: &'a Identity,
    /// Where.
    pub place: &'a Place,
    /// What the session has used.
    pub spend: &'a Spend,
    /// How often in a row this very call (tool and arguments) was refused or failed.
    pub identical_failures: u32,
}

/// A check that refuses or abstains. There is no third answer: no guard can allow anything.
///
/// Guards run after the hooks and the policy, in no order that matters, and once more right before the run.
///
/// ```
/// use checkrein_gate::{Guard, GuardView};
///
/// struct NoWeekends(bool);
/// impl Guard for NoWeekends {
///     fn name(&self) -> &str { "no-weekends" }
///     fn refuse(&self, view: &GuardView<'_>) -> Result<Option<String>, String> {
///         Ok((self.0 && view.call.tool == "deploy").then(|| "no deploys on weekends".to_owned()))
///     }
/// }
/// ```
pub trait Guard: Send + Sync {
    /// The name that refusals give.
    fn name(&self) -> &str;

    /// A reason to refuse, or none.
    ///
    /// # Errors
    /// A guard that can not tell refuses: the text becomes the reason.
    fn refuse(&self, view: &GuardView<'_>) -> Result<Option<String>, String>;
}
