//! `task`: a part of the work for a sub-session, with a conversation of its own, tools of its own choice, a policy that is
//! never wider than this session's, and a share of its budget. What comes back is its answer.

use checkrein_contract::{CallId, Code};
use checkrein_gate::input_schema;
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
    /// A place of the project as it may be named: relative, without dots that lead out of it, and no pattern.
    fn misnamed(&self) -> Option<&String> {
        self.within.iter().find(|path| {
            let odd =
                path.is_empty() || path.starts_with('/') || path.contains(['*', '?', '[', ']', '{', '}', '\\', '"']);
            odd || path.chars().any(char::is_control) || path.split('/').any(|part| matches!(part, "" | "." | ".."))
        })
    }
}

impl SessionTool for Task {
    fn name(&self) -> &'static str {
        "task"
    }

    fn description(&self) -> &'static str {
        "Give a part of the work to a sub-session and wait for its answer, to keep this conversation short: a search \
         through many files, or a change that can be described in full. It sees nothing of this conversation, its rules \
         are at least as strict, and what it uses counts here."
    }

    fn parameters(&self) -> Value {
        input_schema::<Delegation>()
    }

    fn wanted(&self, _skills: usize) -> bool {
        true
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
}
