//! One call of a proposal: which tool is asked for, and in which words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CallId;

/// One call of a proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedCall {
    /// The harness's id for it.
    pub id: CallId,
    /// The tool it names.
    pub tool: String,
    /// Its arguments: JSON, or a string holding the text that was not.
    pub args: Value,
    /// The arguments were not JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    /// It may overlap with its neighbours, as its tool says of these very arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// The model asked for it through another tool, and is shown it so. Everything else looks at the tool itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Box<Through>>,
}

/// What a model said that asked for a tool through another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Through {
    /// The other tool.
    pub tool: String,
    /// Its arguments, where they are not simply tool and arguments of the call.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub args: Value,
}
