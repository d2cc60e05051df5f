//! Decisions: a closed set of three, with the trace that says why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Code, Effect, Question};

/// Allow, ask or deny. Ordered by strictness, so that `max` over all parts of a call is the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run, within the grant.
    Allow,
    /// A person must say yes to exactly this first.
    Ask,
    /// It does not run.
    Deny,
}

impl Verdict {
    /// The stable text form: `allow`, `ask`, `deny`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Reads a permission word from outside (a hook, another program). Anything but the three words denies.
    pub fn from_word(word: &str) -> Self {
        match word {
            "allow" => Self::Allow,
            "ask" => Self::Ask,
            _ => Self::Deny,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who wrote a rule. Listed from the strongest to the weakest: an *ask* of the first three beats an *allow* below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Built in; nothing loosens it.
    Floor,
    /// The organisation.
    Managed,
    /// The person.
    User,
    /// The project or the task folder.
    Project,
    /// This session: what the harness itself supplies, and rules a person added from a shown diff.
    Session,
}

impl Layer {
    /// All layers, strongest first.
    pub const ALL: [Self; 5] = [Self::Floor, Self::Managed, Self::User, Self::Project, Self::Session];

    /// The word that traces and pages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

/// A rule by name and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The layer it stands in.
    pub layer: Layer,
    /// Its id.
    pub rule: String,
    /// The file as it was named when loaded.
    pub file: String,
    /// Line of the rule, from 1.
    pub line: usize,
}

/// Why one effect was judged as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Winner {
    /// A rule.
    Rule(RuleRef),
    /// No rule spoke: the policy's default.
    Default,
    /// The effect could not be understood, or a question about it had no answer.
    NotUnderstood,
    /// A rule allows it, but what that rests on does not hold (a script that was changed in this session, say).
    RestsOn {
        /// What was asked.
        on: Question,
    },
    /// Written in a place that the grant chooses: no rule is asked.
    Incidental,
    /// No rule speaks of it, and it follows from what the program is: the rule that lets the program run decides.
    Own,
    /// A pre-hook.
    Hook {
        /// Its name.
        name: String,
    },
    /// A guard.
    Guard {
        /// Its name.
        name: String,
    },
    /// What runs can not be confined here, and nobody said that it may run unconfined.
    Unconfined,
    /// Nothing outside the session would be touched.
    NoEffect,
}

/// One line of the trace: an effect, what decided it, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceStep {
    /// The effect; absent where the whole call was judged (a hook, a guard).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The simple command it belongs to, counted from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u32,
    /// What won.
    #[serde(flatten)]
    pub winner: Winner,
    /// How it was judged.
    pub decision: Verdict,
    /// Rules that matched as well and lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<RuleRef>,
    /// Remembered yeses that speak of it and do not hold here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Silent>,
}

/// A remembered yes that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// The rule.
    pub rule: RuleRef,
    /// What is not as it was when the yes was given, without any path outside the project.
    pub why: String,
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Allow, ask or deny.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// Why, for machines.
    pub code: Code,
    /// Why, for people: the reason of the rule that won.
    pub reason: String,
    /// Every effect with what decided it.
    pub trace: Vec<TraceStep>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(part: &u32) -> bool {
    *part == 0
}
