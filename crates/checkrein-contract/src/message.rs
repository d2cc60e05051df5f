//! Messages and tool specifications: what a model sees, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CallId;

/// One message of the conversation. Roles are structure, never text: a result is a result because it is `Tool`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Words of the person, or of the harness where it says so.
    User {
        /// The words.
        text: String,
        /// Said by the harness (a failed check, a last request), not by the person.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        harness: bool,
    },
    /// One reply of the model.
    Assistant {
        /// Its text; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The calls it proposed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCallPart>,
        /// What the provider wants back with this reply, such as its reasoning in the provider's own form. Not shown to
        /// anybody, so not part of the message's identity.
        #[serde(skip)]
        provider: Value,
    },
    /// The results of *all* calls of the reply before, in the order of the calls.
    Tool {
        /// One for each call.
        results: Vec<ResultPart>,
    },
}

/// A call as the conversation shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallPart {
    /// The harness's id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments as proposed; a string when they were not JSON.
    pub args: Value,
}

/// A result as the conversation shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPart {
    /// The call it answers.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What the model reads.
    pub text: String,
    /// The call was refused or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// What a model is told about a tool: exactly these three fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}
