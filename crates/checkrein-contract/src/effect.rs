//! Effects: the things a call would do, in words that mean the same for a shell line, a file tool and a business tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Question;

/// The seven words that a policy rule can match, and the one that no rule can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectWord {
    /// Read the content of a file or folder, or learn that it is there.
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
///
/// Where `glob` is true the path is a pattern (`*`, `?`, `[..]`, `**`; a backslash makes a character literal) and the effect
/// is on everything that it matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Read the content of one path.
    Read {
        /// Absolute path as written.
        path: String,
        /// The path is a pattern.
        #[serde(default, skip_serializing_if = "is_false")]
        glob: bool,
    },
    /// Learn names, sizes and times, not content: a *read* that no secret is lost to.
    List {
        /// Absolute path as written.
        path: String,
        /// And of everything below.
        #[serde(default, skip_serializing_if = "is_false")]
        deep: bool,
        /// The path is a pattern.
        #[serde(default, skip_serializing_if = "is_false")]
        glob: bool,
    },
    /// Read the content of whatever a tree holds.
    ReadTree(Tree),
    /// Write one path.
    Write {
        /// Absolute path as written.
        path: String,
        /// A place that the program could as well have elsewhere (a cache, a build folder). The grant gives it a private
        /// one; rules are not asked.
        #[serde(default, skip_serializing_if = "is_false")]
        incidental: bool,
        /// The path is a pattern.
        #[serde(default, skip_serializing_if = "is_false")]
        glob: bool,
    },
    /// Delete one path.
    Delete {
        /// Absolute path as written.
        path: String,
        /// With everything below it.
        #[serde(default, skip_serializing_if = "is_false")]
        recursive: bool,
        /// The path is a pattern.
        #[serde(default, skip_serializing_if = "is_false")]
        glob: bool,
    },
    /// Change mode, owner or times of one path.
    Metadata {
        /// Absolute path as written.
        path: String,
        /// The path is a pattern.
        #[serde(default, skip_serializing_if = "is_false")]
        glob: bool,
    },
    /// Run one program.
    Run(Run),
    /// Connect to one host.
    Connect(Connect),
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

/// A tree whose files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tree {
    /// Absolute path of the top folder, as written.
    pub root: String,
    /// Only files whose names match one of these patterns; all when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Files whose names match one of these patterns are left out; a pattern that ends with `/` leaves out folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Names that begin with a dot are left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skips_hidden: bool,
    /// Files that git ignores are left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skips_ignored: bool,
    /// The reader asks the grant about each file, so a denied file inside is left out by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub asks_each: bool,
}

/// One program that would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its name: bare where it is found on the usual search path, else as written.
    pub program: String,
    /// Its words, the program first, as it would receive them.
    pub argv: Vec<String>,
    /// The words in the spelling that rules are compared with: options by their long names, one by one, before the
    /// operands. Empty where that is `argv`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// A command model said what it does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub modelled: bool,
    /// What it does besides reading, writing and connecting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deeds: Vec<Deed>,
    /// Options that choose which code it runs, or where: a rule that allows it must name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steered_by: Vec<String>,
    /// Where it starts; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Environment variables set for it that are not known to be harmless, as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Words of it are not known before it runs: what stands in `argv` is how they are written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dynamic: bool,
    /// What the command line itself gives it to read (here-documents and here-strings, also of commands around it):
    /// `sha256:...` over the texts, or `unknown` where one of them is not known before it runs. Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// It is asked for its version or its help, and for nothing else.
    #[serde(default, skip_serializing_if = "is_false")]
    pub informational: bool,
    /// What an *allow* rests on: each question must have its harmless answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<Question>,
    /// What it reads and writes by being what it is.
    #[serde(default, skip_serializing_if = "Own::is_empty")]
    pub own: Own,
}

/// Places that a program works on by being what it is, as git does on its repository: absolute paths, each with everything
/// below it. The rule that lets the program run decides about them, and the grant holds them; rules on paths are not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// What it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// What it reads, writes and removes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
}

impl Own {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
}

impl Run {
    /// The `input` that is not known before it runs.
    pub const UNKNOWN: &str = "unknown";

    /// The words that rules are compared with.
    pub fn words(&self) -> &[String] {
        if self.words.is_empty() { &self.argv } else { &self.words }
    }
}

/// What a program does besides reading, writing and connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Changes something that is no path: a repository, a service, the system.
    Changes,
    /// Runs code of the project or of its own arguments.
    Code,
    /// Runs what was downloaded in the same call.
    Downloaded,
    /// Starts itself over and over.
    Multiplies,
}

impl Deed {
    /// All deeds.
    pub const ALL: [Self; 4] = [Self::Changes, Self::Code, Self::Downloaded, Self::Multiplies];

    /// The word as rules and pages spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Code => "code",
            Self::Downloaded => "downloaded",
            Self::Multiplies => "multiplies",
        }
    }
}

/// A connection that would be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// Name or address, lower case, without a trailing dot.
    pub host: String,
    /// Port number; 0 where the protocol has none.
    pub port: u16,
    /// `https`, `http`, ...; absent where no URL was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The path of the URL, decoded where that changes no meaning, without dot segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The method; absent means a plain look (`GET`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The MCP server that opens it, where it is not one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The URL carries a user or a password.
    #[serde(default, skip_serializing_if = "is_false")]
    pub user_info: bool,
    /// The address stands in the settings of the program, not in the call, as that of a git remote does. Where no rule
    /// speaks of the host, the rule that lets the program run decides.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own: bool,
}

impl Effect {
    /// Reads this file.
    pub fn read(path: impl Into<String>) -> Self {
        Self::Read { path: path.into(), glob: false }
    }

    /// Looks whether this path is there and how large it is.
    pub fn list(path: impl Into<String>) -> Self {
        Self::List { path: path.into(), deep: false, glob: false }
    }

    /// Writes this file.
    pub fn write(path: impl Into<String>) -> Self {
        Self::Write { path: path.into(), incidental: false, glob: false }
    }

    /// Deletes this path.
    pub fn delete(path: impl Into<String>, recursive: bool) -> Self {
        Self::Delete { path: path.into(), recursive, glob: false }
    }

    /// Changes mode, owner or times of this path.
    pub fn metadata(path: impl Into<String>) -> Self {
        Self::Metadata { path: path.into(), glob: false }
    }

    /// Something that could not be understood.
    pub fn unknown(what: impl Into<String>) -> Self {
        Self::Unknown { what: what.into() }
    }

    /// Which word a rule must say to match this.
    pub fn word(&self) -> EffectWord {
        match self {
            Self::Read { .. } | Self::List { .. } | Self::ReadTree(_) => EffectWord::Read,
            Self::Write { .. } => EffectWord::Write,
            Self::Delete { .. } => EffectWord::Delete,
            Self::Metadata { .. } => EffectWord::Metadata,
            Self::Run(_) => EffectWord::Run,
            Self::Connect(_) => EffectWord::Connect,
            Self::Tool { .. } => EffectWord::Tool,
            Self::Unknown { .. } => EffectWord::Unknown,
        }
    }

    /// The path of an effect that has one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. }
            | Self::List { path, .. }
            | Self::Write { path, .. }
            | Self::Delete { path, .. }
            | Self::Metadata { path, .. } => Some(path),
            Self::ReadTree(tree) => Some(&tree.root),
            Self::Run(_) | Self::Connect(_) | Self::Tool { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Whether the path is a pattern.
    pub fn is_glob(&self) -> bool {
        match self {
            Self::Read { glob, .. }
            | Self::List { glob, .. }
            | Self::Write { glob, .. }
            | Self::Delete { glob, .. }
            | Self::Metadata { glob, .. } => *glob,
            Self::ReadTree(_) | Self::Run(_) | Self::Connect(_) | Self::Tool { .. } | Self::Unknown { .. } => false,
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
    /// For each effect the number of the simple command it belongs to; empty where all belong together.
    pub parts: Vec<u32>,
}

impl Foreseen {
    /// Foresees these effects, with the question that every path raises: what it really is.
    pub fn of(effects: Vec<Effect>) -> Self {
        let mut foreseen = Self { effects, ..Self::default() };
        foreseen.ask_about_paths();
        foreseen
    }

    /// Adds the question that every path raises.
    pub fn ask_about_paths(&mut self) {
        let plain = self.effects.iter().filter(|effect| !effect.is_glob());
        let paths = plain.filter_map(Effect::path).map(|path| Question::RealPath { path: path.to_owned() });
        self.questions.extend(paths);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
