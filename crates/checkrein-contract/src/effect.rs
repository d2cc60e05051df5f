//! Effects: the things a call would do, in words that mean the same for a shell line, a file tool and a business tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Question;

/// The seven words that a policy rule can match, and the one that no rule can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectWord {
    /// Read the content of a file or folder.
    Read,
    /// Create, change or move to a path.
    Write,
    /// Remove a path.
    Delete,
    /// Change mode, owner or times of a path.
    Metadata,
    /// Run a program.
    Run,
    /// Open a connection.
    Connect,
    /// Act through a tool that is no file, program or connection of ours.
    Tool,
    /// Something that could not be understood; at least *ask*, whatever the rules say.
    Unknown,
}

impl EffectWord {
    /// The word as rules, events and pages spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Metadata => "metadata",
            Self::Run => "run",
            Self::Connect => "connect",
            Self::Tool => "tool",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing a call would do. Paths are absolute and without dot segments, as *written*; what they really are is a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Read one path.
    Read {
        /// Absolute path as written.
        path: String,
    },
    /// Read whatever a tree holds. The tool asks the grant about each file, so a denied file inside is left out.
    ReadTree {
        /// Absolute path of the top folder.
        root: String,
    },
    /// Write one path.
    Write {
        /// Absolute path as written.
        path: String,
    },
    /// Delete one path.
    Delete {
        /// Absolute path as written.
        path: String,
        /// With everything below it.
        #[serde(default, skip_serializing_if = "is_false")]
        recursive: bool,
    },
    /// Change mode, owner or times of one path.
    Metadata {
        /// Absolute path as written.
        path: String,
    },
    /// Run one program.
    Run {
        /// The name as written: bare, or with a path.
        program: String,
        /// Its words, the program first, as it would receive them.
        argv: Vec<String>,
        /// Whether a command model said what it does.
        #[serde(default, skip_serializing_if = "is_false")]
        modelled: bool,
    },
    /// Connect to one host.
    Connect {
        /// Name or address.
        host: String,
        /// Port number.
        port: u16,
    },
    /// Act through a tool.
    Tool {
        /// Tool name.
        tool: String,
        /// MCP server that owns it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// The arguments a rule may put conditions on.
        args: Value,
    },
    /// A part that could not be understood.
    Unknown {
        /// What it was and why, for people.
        what: String,
    },
}

impl Effect {
    /// Which word a rule must say to match this.
    pub fn word(&self) -> EffectWord {
        match self {
            Self::Read { .. } | Self::ReadTree { .. } => EffectWord::Read,
            Self::Write { .. } => EffectWord::Write,
            Self::Delete { .. } => EffectWord::Delete,
            Self::Metadata { .. } => EffectWord::Metadata,
            Self::Run { .. } => EffectWord::Run,
            Self::Connect { .. } => EffectWord::Connect,
            Self::Tool { .. } => EffectWord::Tool,
            Self::Unknown { .. } => EffectWord::Unknown,
        }
    }

    /// The path of an effect that has one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path } | Self::Write { path } | Self::Delete { path, .. } | Self::Metadata { path } => {
                Some(path)
            }
            Self::ReadTree { root } => Some(root),
            Self::Run { .. } | Self::Connect { .. } | Self::Tool { .. } | Self::Unknown { .. } => None,
        }
    }
}

/// What a call would do, and what must be known about the world before it can be judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreseen {
    /// The effects. None at all means: nothing outside the session.
    pub effects: Vec<Effect>,
    /// Questions the host must answer first.
    pub questions: Vec<Question>,
}

impl Foreseen {
    /// Foresees these effects, with the question that every path raises: what it really is.
    pub fn of(effects: Vec<Effect>) -> Self {
        let questions =
            effects.iter().filter_map(Effect::path).map(|path| Question::RealPath { path: path.to_owned() }).collect();
        Self { effects, questions }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
