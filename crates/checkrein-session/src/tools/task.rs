//! `task`: a part of the work for a sub-session, with a conversation of its own, tools of its own choice, a policy that is
//! never wider than this session's, and a share of its budget. What comes back is its answer.
//!
//! Parts that are given away in one reply are worked on at the same time where none can come in another's way: one that
//! looks changes nothing, and one that works in places of its own changes only those. One that may change everything is
//! alone.

use checkrein_contract::{CallId, Code};
use checkrein_gate::{Concurrency, input_schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionReply, SessionTool};
use crate::State;

pub(super) struct Task;

/// What a sub-session is given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// The whole assignment: what to do, what is known, and what the answer has to say. Nothing else is seen of this
    /// conversation.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// `look`: it changes nothing. `work`: it may do what this session may.
    #[serde(default)]
    pub may: Access,
    /// With `work`: the files and folders of the project that it may change; none named means all.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub within: Vec<String>,
    /// How much of what is left of this session's budget it may use, in percent.
    #[serde(default = "half")]
    #[schemars(range(min = 5, max = 90))]
    pub share: u8,
}

/// What a sub-session may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Change nothing.
    #[default]
    Look,
    /// What the session may that gave it the work.
    Work,
}

fn half() -> u8 {
    50
}

impl Delegation {
    /// It changes nothing, or only what it names.
    fn has_places_of_its_own(&self) -> bool {
        self.may == Access::Look || !self.within.is_empty()
    }

    /// A place of the project as it may be named: relative, without dots that lead out of it, and no pattern.
    fn misnamed(&self) -> Option<&String> {
        self.within.iter().find(|path| {
            let odd =
                path.is_empty() || path.starts_with('/') || path.contains(['*', '?', '[', ']', '{', '}', '\\', '"']);
            odd || path.chars().any(char::is_control) || path.split('/').any(|part| matches!(part, "" | "." | ".."))
        })
    }
}

/// Whether two delegations could change the same place.
pub(crate) fn would_meet(one: &Value, other: &Value) -> bool {
    let (Ok(one), Ok(other)) = (Delegation::deserialize(one), Delegation::deserialize(other)) else { return false };
    let inside =
        |path: &str, of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    one.within.iter().any(|a| other.within.iter().any(|b| inside(a, b) || inside(b, a)))
}

impl SessionTool for Task {
    fn name(&self) -> &'static str {
        "task"
    }

    fn description(&self) -> &'static str {
        "Give a part of the work to a sub-session and wait for its answer, to keep this conversation short: a search \
         through many files, or a change that can be described in full. It sees nothing of this conversation, its rules \
         are at least as strict, and what it uses counts here. Several in one reply run at the same time, where each \
         looks or has places of its own."
    }

    fn parameters(&self) -> Value {
        input_schema::<Delegation>()
    }

    fn delegates(&self) -> bool {
        true
    }

    fn concurrency(&self, args: &Value) -> Concurrency {
        match Delegation::deserialize(args) {
            Ok(delegation) if delegation.has_places_of_its_own() => Concurrency::Parallel,
            _ => Concurrency::Exclusive,
        }
    }

    fn answer(&self, _call: &CallId, args: &Value, _state: &State) -> SessionReply {
        let failed = |message: String| SessionReply::Failed { code: Code::InvalidArgs, message };
        let delegation = match Delegation::deserialize(args) {
            Ok(delegation) => delegation,
            Err(error) => return failed(error.to_string()),
        };
        if let Some(path) = delegation.misnamed() {
            return failed(format!(
                "`{path}` is no file or folder of the project: name it from its root, without dots"
            ));
        }
        if delegation.may == Access::Look && !delegation.within.is_empty() {
            return failed("`within` says what may be changed, and `look` changes nothing".to_owned());
        }
        SessionReply::Delegate(delegation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn delegation(within: &[&str]) -> Delegation {
        let within = within.iter().map(|path| (*path).to_owned()).collect();
        Delegation { prompt: "x".to_owned(), may: Access::Work, within, share: 50 }
    }

    #[test]
    fn places_are_named_plainly() {
        assert_eq!(delegation(&["src", "docs/a b.md"]).misnamed(), None);
        for wrong in ["", "/etc", "..", "a/../b", "a//b", "./a", "a/*", "{root}", "a\"b", "a\nb"] {
            assert!(delegation(&["src", wrong]).misnamed().is_some(), "{wrong}");
        }
    }

    /// Shows R136, R137: what could come in another's way does not overlap with it.
    #[test]
    fn only_places_of_its_own_may_overlap() {
        let part = |may: &str, within: &[&str]| json!({ "prompt": "x", "may": may, "within": within });
        assert_eq!(Task.concurrency(&part("look", &[])), Concurrency::Parallel);
        assert_eq!(Task.concurrency(&part("work", &["src"])), Concurrency::Parallel);
        assert_eq!(Task.concurrency(&part("work", &[])), Concurrency::Exclusive);
        assert_eq!(Task.concurrency(&json!({ "within": 7 })), Concurrency::Exclusive, "what does not fit is alone");
        let meet = |one: &[&str], other: &[&str]| would_meet(&part("work", one), &part("work", other));
        assert!(meet(&["a", "src"], &["src/x.rs"]) && meet(&["src/x.rs"], &["src"]) && meet(&["src"], &["src"]));
        assert!(!meet(&["src"], &["src2", "docs/src"]) && !meet(&["src"], &[]));
        assert!(!would_meet(&part("work", &["src"]), &json!({ "within": 7 })), "it is alone anyway");
    }
}
