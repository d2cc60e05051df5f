//! A call: one tool with its arguments, who it is for, and where it would happen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CallId;

/// One proposed tool call, as the policy sees it: name and arguments, nothing of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The harness's id.
    pub id: CallId,
    /// The registered name, or whatever name was asked for.
    pub tool: String,
    /// The MCP server that owns the tool, when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Arguments after validation. An object for every tool of ours.
    pub args: Value,
}

/// What may be done again when nobody knows whether it happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Changes nothing: may run any number of times, and needs no record before it starts.
    Pure,
    /// Doing it twice is the same as doing it once, given the same idempotency key.
    Idempotent,
    /// Never repeated by the harness itself. The default for whatever does not say.
    #[default]
    Once,
}

/// On whose behalf a session acts. Set by the host (task file, `--as`, builder), never by the model.
///
/// `person`, `tenant` and `customer` are conventions; any name may be used and reached as `{identity.NAME}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub BTreeMap<String, String>);

impl Identity {
    /// The value of one name, such as `customer`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Where a call would happen. All paths absolute, without dot segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The project: the workspace of the session.
    pub root: String,
    /// The directory relative paths start from.
    pub cwd: String,
    /// The person's home folder; empty when there is none.
    pub home: String,
    /// How paths are written there.
    #[serde(default, skip_serializing_if = "PathStyle::is_posix")]
    pub paths: PathStyle,
    /// Where the project was when the session began, if it was moved since: what was asked and answered names it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

/// How paths are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathStyle {
    /// `/srv/project/a`.
    #[default]
    Posix,
    /// `C:\\project\\a`; both slashes separate, case does not count, `/c/project` means the same. Paths are held as
    /// `/c:/project/a`.
    Windows,
}

impl PathStyle {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_posix(&self) -> bool {
        *self == Self::Posix
    }
}
