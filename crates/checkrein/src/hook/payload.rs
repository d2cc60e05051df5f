//! What a hook is given on standard input.

use serde::Deserialize;
use serde_json::Value;

use super::{Caller, MOST_PAYLOAD};
use crate::HarnessError;

/// The event that is answered.
const EVENT: &str = "PreToolUse";

/// The payload as both agents send it. Fields are added to it often; those that are not known are passed over.
#[derive(Debug, Deserialize)]
struct Payload {
    session_id: String,
    cwd: String,
    hook_event_name: String,
    tool_name: String,
    tool_input: Value,
    #[serde(default)]
    permission_mode: String,
}

/// A call that is asked about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// The caller's own session.
    pub(super) session: String,
    /// Where the call would happen, as the payload says.
    pub(super) cwd: String,
    /// The tool as the caller names it.
    pub(super) tool: String,
    /// The server and tool that it is: one pair, or each way in which an MCP name can be read.
    pub(super) names: Vec<(Option<String>, String)>,
    /// Its arguments, an object.
    pub(super) args: Value,
    /// The caller's mode.
    pub(super) mode: String,
}

impl Asked {
    /// Reads a payload.
    pub(super) fn read(caller: Caller, bytes: &[u8]) -> Result<Self, HarnessError> {
        let wrong = |what: String| HarnessError::Task(format!("the payload of {}'s hook {what}", caller.name()));
        if bytes.len() > MOST_PAYLOAD {
            return Err(wrong(format!("is longer than {} MiB", MOST_PAYLOAD / 1024 / 1024)));
        }
        let payload: Payload =
            serde_json::from_slice(bytes).map_err(|error| wrong(format!("can not be read: {error}")))?;
        if payload.hook_event_name != EVENT {
            let message = format!("is of the event `{}`; only `{EVENT}` is answered", payload.hook_event_name);
            return Err(wrong(message));
        }
        if !payload.tool_input.is_object() {
            return Err(wrong("has a `tool_input` that is no object".to_owned()));
        }
        if payload.tool_name.is_empty() {
            return Err(wrong("names no tool".to_owned()));
        }
        Ok(Self {
            session: payload.session_id,
            cwd: payload.cwd,
            names: names(&payload.tool_name),
            tool: payload.tool_name,
            args: payload.tool_input,
            mode: payload.permission_mode,
        })
    }
}

/// `mcp__SERVER__TOOL`: a server or tool with two underscores in its name can be cut in several ways.
fn names(tool: &str) -> Vec<(Option<String>, String)> {
    let Some(rest) = tool.strip_prefix("mcp__") else { return vec![(None, tool.to_owned())] };
    let cuts = rest.match_indices("__").map(|(at, _)| (rest.get(..at), rest.get(at + 2..)));
    let pairs = cuts.filter_map(|(server, tool)| Some((server?, tool?)));
    let named: Vec<_> = pairs
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
        .map(|(server, tool)| (Some(server.to_owned()), tool.to_owned()))
        .collect();
    if named.is_empty() { vec![(None, tool.to_owned())] } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_mcp_is_read_in_every_way() {
        let pair = |server: &str, tool: &str| (Some(server.to_owned()), tool.to_owned());
        assert_eq!(names("mcp__tracker__get_issue"), [pair("tracker", "get_issue")]);
        assert_eq!(names("mcp__a__b__c"), [pair("a", "b__c"), pair("a__b", "c")]);
        assert_eq!(names("mcp__x"), [(None, "mcp__x".to_owned())]);
        assert_eq!(names("Bash"), [(None, "Bash".to_owned())]);
    }
}
