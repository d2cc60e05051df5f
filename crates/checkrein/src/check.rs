//! Asking a policy about one call without a session, for `policy check` and for tests of policies.

use std::path::Path;
use std::sync::Arc;

use checkrein_contract::{Call, CallId, Decision, Effect, Facts, Identity, Place, PolicySource, ToolSpec};
use checkrein_facts::HostFacts;
use checkrein_gate::{Clock as _, find_out};
use checkrein_policy::fixtures::{FixtureContext, World, foresee};
use checkrein_policy::{Models, Policy, Scene, decide, foreign_tools, foresee_until_known};
use serde_json::Value;

use crate::HarnessError;
use crate::deferral::plain;
use crate::policies::PolicyFiles;
use crate::setup::load_policy;

/// A call with its decision.
#[derive(Clone, Debug)]
pub struct CheckedCall {
    /// What it would do.
    pub effects: Vec<Effect>,
    /// What was found out for it.
    pub facts: Facts,
    /// The decision.
    pub decision: Decision,
}

/// The policy that would hold in a place: floor, machine, person, and these files or the default.
///
/// # Errors
/// [`HarnessError::File`] for a mistake in one of them.
pub fn policy_for(
    files: &PolicyFiles,
    own: &[PolicySource],
    place: &Place,
    identity: &Identity,
) -> Result<Arc<Policy>, HarnessError> {
    let nowhere = files.own.named(vec![("spill".to_owned(), "/dev/null/no-spill".to_owned())], place);
    load_policy(&files.in_force(own), place, identity, &nowhere)
}

/// Judges one call: a bash command line, or a tool by the names other harnesses use. `stated` are facts to take instead of
/// looking at this machine. There is no session, so nothing was changed since one began.
///
/// # Errors
/// [`HarnessError`] when the built-in manifests can not be read.
pub async fn check_call(
    policy: &Policy,
    tool: &str,
    args: Value,
    place: &Place,
    models: &Models,
    stated: Option<&FixtureContext>,
) -> Result<CheckedCall, HarnessError> {
    let call = Call { id: CallId::new("check"), tool: tool.to_owned(), server: None, args };
    let tools = foreign_tools()?;
    let would = |facts: &Facts| foresee(&call, &tools, Scene { place, facts, models });
    let world =
        World { root: place.root.clone(), cwd: place.cwd.clone(), home: place.home.clone(), ..World::default() };
    let (foreseen, facts) = match stated {
        Some(stated) => foresee_until_known(policy, would, |question| stated.answer(question, place, &world)),
        None => find_out(policy, &HostFacts::since(crate::SystemClock::default().now_ms()), would).await,
    };
    let decision = decide(policy, &foreseen, &facts);
    Ok(CheckedCall { effects: foreseen.effects, facts, decision })
}

/// What models are told about the tools that ship, sorted by name.
///
/// # Errors
/// [`HarnessError::Registry`] when one of them can not be registered.
pub fn shipped_tools() -> Result<Vec<ToolSpec>, HarnessError> {
    let task = crate::task::from_words("list the tools", Path::new("/dev/null"))?;
    Ok(plain(crate::defaults::registry(&task, None, Models::built_in())?.specs()))
}
