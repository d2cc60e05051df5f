//! The agents that have a hook, each with what is particular to it.

use checkrein_contract::{Decision, Verdict};
use checkrein_policy::{Manifest, Source, tools_of};

use super::payload::Asked;
use super::{Word, is_left_alone};
use crate::HarnessError;

/// An agent whose hook is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Caller {
    /// The word after `--for`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// Its tools, as manifests.
    pub(super) fn tools(self) -> Result<Vec<Manifest>, HarnessError> {
        let (file, text) = match self {
            Self::Claude => ("claude.toml", include_str!("claude.toml")),
            Self::Codex => ("codex.toml", include_str!("codex.toml")),
        };
        Ok(tools_of(Source { file, text })?)
    }

    /// Tools of its own that touch nothing but its own session: where no rule speaks of one, the caller does as it always
    /// does, and nobody is asked twice (`AskUserQuestion` is a question already).
    fn session_tools(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                "AskUserQuestion",
                "BashOutput",
                "EnterPlanMode",
                "ExitPlanMode",
                "TaskCreate",
                "TaskGet",
                "TaskList",
                "TaskOutput",
                "TaskUpdate",
                "TodoWrite",
                "ToolSearch",
            ],
            Self::Codex => &["create_goal", "get_goal", "request_user_input", "update_goal", "update_plan"],
        }
    }

    /// Whether a person can be asked through it. Codex fails open on *ask*; Claude Code passes over it in the modes in
    /// which it asks nobody; a mode that is not known may be one of them.
    fn can_ask(self, asked: &Asked) -> bool {
        self == Self::Claude && matches!(asked.mode.as_str(), "" | "default" | "plan" | "acceptEdits")
    }

    /// What it is told of a decision.
    pub(super) fn word(self, asked: &Asked, decision: &Decision) -> Word {
        let reason = decision.reason.clone();
        match decision.verdict {
            Verdict::Allow => Word::Allow { reason },
            Verdict::Deny => Word::Deny { reason },
            Verdict::Ask if is_left_alone(decision) && self.session_tools().contains(&asked.tool.as_str()) => {
                Word::Leave
            }
            Verdict::Ask if self.can_ask(asked) => Word::Ask { reason },
            Verdict::Ask => {
                let who = "a person has to say yes to this, and nobody can be asked here";
                Word::Deny { reason: format!("{reason} ({who}; do without it, or let a person run it)") }
            }
        }
    }
}
