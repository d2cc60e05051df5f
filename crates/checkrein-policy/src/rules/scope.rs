//! Identity and stage: whom a rule is for, and in which stage of a session it holds.
//!
//! Both are set by the host before anything is judged, so a rule that is for somebody else is not in force at all: it
//! neither allows nor denies.

use super::Context;
use crate::file::OneOrMore;

/// Whether the rule is in force: every name of `identity` has one of its values, and the session is in one of the stages.
pub(crate) fn in_force(context: &Context<'_>) -> bool {
    let is_one_of = |wanted: &OneOrMore, name: &str| {
        context.variables.get(name).is_some_and(|value| wanted.as_slice().iter().any(|one| one == value))
    };
    let rule = context.rule;
    let mut identity = rule.identity.iter();
    identity.all(|(name, wanted)| is_one_of(wanted.get_ref(), &format!("identity.{name}")))
        && rule.stage.as_ref().is_none_or(|stage| is_one_of(stage.get_ref(), "stage"))
}
