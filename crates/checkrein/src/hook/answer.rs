//! The answer in the caller's protocol.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Caller;

/// Longest reason that is given, characters. Callers show it to a model, and put aside what is very long.
const MOST_REASON: usize = 2_000;

/// What is to be told, whatever the protocol. The judging process gives it to the one that answers, as one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case", deny_unknown_fields)]
pub enum Word {
    /// It may run.
    Allow {
        /// Why.
        reason: String,
    },
    /// The caller asks its person.
    Ask {
        /// Why.
        reason: String,
    },
    /// It does not run.
    Deny {
        /// Why.
        reason: String,
    },
    /// The caller does as it would without a hook.
    Leave,
}

/// What the hook's process prints and ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code.
    pub code: u8,
}

impl Caller {
    /// The answer that says this.
    pub fn answer(self, word: &Word) -> Answer {
        let said = |permission: &str, reason: &str| Answer {
            stdout: json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": permission,
                "permissionDecisionReason": format!("checkrein: {}", bounded(reason)),
            } })
            .to_string(),
            stderr: String::new(),
            code: 0,
        };
        match (self, word) {
            // Codex takes a bare "allow" for a broken hook; silence is its "no objection".
            (Self::Codex, Word::Allow { .. }) | (_, Word::Leave) => {
                Answer { stdout: String::new(), stderr: String::new(), code: 0 }
            }
            (Self::Claude, Word::Allow { reason }) => said("allow", reason),
            (Self::Claude, Word::Ask { reason }) => said("ask", reason),
            // It does not know the word and would let the call run.
            (Self::Codex, Word::Ask { reason }) | (_, Word::Deny { reason }) => said("deny", reason),
        }
    }

    /// The answer that blocks whatever it is: exit code 2 with a text, which both callers take as *no*.
    pub fn block(self, why: &str) -> Answer {
        let text = format!("checkrein: blocked, since the policy could not be asked: {}\n", bounded(why));
        Answer { stdout: String::new(), stderr: text, code: 2 }
    }
}

fn bounded(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_REASON).collect();
    if short.len() < text.len() {
        short.push_str(" ... (cut)");
    }
    if short.is_empty() { "no reason was given".to_owned() } else { short }
}
