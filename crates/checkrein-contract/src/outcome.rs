//! How a session ends: a closed set of stop states, and the one value that reports it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, Citation, Code, Cost, Digest, Limit, SessionId, Usage};

/// The stop states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The model answered, and every check passed.
    Completed,
    /// Waits for a person's yes; nothing of the waiting group has run.
    NeedsApproval,
    /// Waits for a person's answer.
    NeedsInput,
    /// A refusal ended it, as the task asked.
    Blocked,
    /// A budget is spent; the limit is named.
    BudgetExhausted,
    /// A person interrupted it.
    Cancelled,
    /// It failed; the code says how.
    Failed,
}

impl Status {
    /// The text form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::NeedsApproval => "needs_approval",
            Self::NeedsInput => "needs_input",
            Self::Blocked => "blocked",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Whether `resume` may go on from here. After a spent budget only with a larger one, which a person gives.
    pub fn can_resume(self) -> bool {
        matches!(self, Self::NeedsApproval | Self::NeedsInput | Self::Cancelled)
    }

    /// Exit code of `run` and `resume`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::NeedsApproval | Self::NeedsInput => 3,
            Self::Blocked => 4,
            Self::BudgetExhausted => 5,
            Self::Cancelled => 130,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The stop itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Which state.
    pub status: Status,
    /// Why, for machines.
    pub code: Code,
    /// Why, for people.
    pub reason: String,
    /// The limit, when a budget did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// The report of a session; the last line of `run --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The stop state.
    pub status: Status,
    /// Why, for machines.
    pub code: Code,
    /// Why, for people.
    pub reason: String,
    /// The limit, when a budget did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The session.
    pub session: SessionId,
    /// The model's answer, when it gave one.
    pub answer: Option<String>,
    /// What results rested on; from the tools, independent of what the model says.
    pub citations: Vec<Citation>,
    /// How often each tool *ran*. A tool that was asked for and never ran stands here with 0.
    pub tool_runs: BTreeMap<String, u32>,
    /// Proposals.
    pub steps: u32,
    /// Tokens.
    pub usage: Usage,
    /// Money; absent where nothing was spent.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
    /// Approvals that still wait.
    pub approvals: Vec<ApprovalId>,
    /// The folder the session worked in.
    pub workspace: String,
    /// Hash of the last event.
    pub journal_head: Digest,
}
