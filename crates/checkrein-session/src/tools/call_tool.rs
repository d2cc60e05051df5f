//! `call_tool`: how a tool is called that requests do not declare. The declared tools stay as they are, and with them the
//! beginning of every request.
//!
//! It is taken apart where a reply is parsed, so gate, policy, journal and approvals meet the tool itself, by its name and
//! with its own arguments. Only the conversation shows what the model said.

use std::borrow::Cow;

use checkrein_contract::{CallId, Code, ProposedCall, RawCall, Through};
use checkrein_gate::parse;
use serde_json::{Map, Value, json};

use super::{SessionReply, SessionTool, Wanted};
use crate::State;

const NAME: &str = "call_tool";

pub(super) struct CallTool;

impl SessionTool for CallTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "Call a tool that `find_tools` described. It is decided and answered as if it were called by itself."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "minLength": 1, "description": "Its exact name." },
                "args": { "type": "object", "additionalProperties": true,
                    "description": "Its arguments, as its own schema has them." },
            },
            "required": ["tool"],
            "additionalProperties": false,
        })
    }

    fn wanted(&self) -> Wanted {
        Wanted::WithDeferred
    }

    /// What fits the schema and is still a call of this tool is one of itself.
    fn answer(&self, _call: &CallId, _args: &Value, _state: &State) -> SessionReply {
        let message = format!("`{NAME}` calls other tools, not itself: name the tool in `tool`, with its own `args`");
        SessionReply::Failed { code: Code::InvalidArgs, message }
    }
}

/// The call that is meant by this one; the same where it is meant itself, or is not understood.
pub(crate) fn unwrapped(call: ProposedCall) -> ProposedCall {
    let Some((tool, args)) = behind(&call.tool, &call.args).filter(|_| !call.raw) else { return call };
    let meant = match args {
        // Some models write them as text. That is read as the text of any call is.
        Value::String(arguments) => parse(call.id.clone(), &RawCall { tool, arguments }),
        args => ProposedCall { tool, args, ..call.clone() },
    };
    let plain = wrapped(&meant) == call.args;
    let through = Through { tool: call.tool, args: if plain { Value::Null } else { call.args } };
    ProposedCall { through: Some(Box::new(through)), ..meant }
}

/// The tool and the arguments that a call of this tool with these arguments stands for; `None` where it stands for itself.
pub fn behind(tool: &str, args: &Value) -> Option<(String, Value)> {
    let args = args.as_object().filter(|_| tool == NAME)?;
    let known = args.keys().all(|key| key == "tool" || key == "args");
    let meant = args.get("tool")?.as_str().filter(|meant| known && !meant.is_empty() && *meant != NAME)?;
    let args = args.get("args").filter(|args| !args.is_null()).cloned();
    Some((meant.to_owned(), args.unwrap_or_else(|| Value::Object(Map::new()))))
}

/// Tool and arguments of a call as the model said them.
pub fn said(call: &ProposedCall) -> (&str, Cow<'_, Value>) {
    match &call.through {
        None => (&call.tool, Cow::Borrowed(&call.args)),
        Some(through) if through.args.is_null() => (&through.tool, Cow::Owned(wrapped(call))),
        Some(through) => (&through.tool, Cow::Borrowed(&through.args)),
    }
}

fn wrapped(call: &ProposedCall) -> Value {
    json!({ "tool": call.tool, "args": call.args })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(arguments: &str) -> ProposedCall {
        parse(CallId::new("c1-1"), &RawCall { tool: NAME.to_owned(), arguments: arguments.to_owned() })
    }

    /// Shows R39: what is called through it is the call that is meant, and is told as it was said.
    #[test]
    fn what_is_meant_and_what_was_said() {
        for (said_args, args, raw, plain) in [
            (r#"{"tool": "ship", "args": {"order": "o-1"}}"#, json!({ "order": "o-1" }), false, true),
            (r#"{"tool": "ship", "args": "{\"order\": \"o-1\"}"}"#, json!({ "order": "o-1" }), false, false),
            (r#"{"tool": "ship", "args": "o-1"}"#, json!("o-1"), true, true),
            (r#"{"tool": "ship", "args": ""}"#, json!({}), false, false),
            (r#"{"tool": "ship", "args": [1]}"#, json!([1]), false, true),
            (r#"{"tool": "ship", "args": null}"#, json!({}), false, false),
            (r#"{"tool": "ship"}"#, json!({}), false, false),
        ] {
            let call = proposed(said_args);
            let meant = unwrapped(call.clone());
            assert_eq!((meant.tool.as_str(), &meant.args, meant.raw), ("ship", &args, raw), "{said_args}");
            assert_eq!(meant.through.as_ref().map(|through| through.args.is_null()), Some(plain), "{said_args}");
            assert_eq!(said(&meant), (NAME, Cow::Borrowed(&call.args)), "{said_args}");
        }
    }

    /// Shows R39: what is no call of another tool stays what it is, and is refused as such.
    #[test]
    fn what_stands_for_nothing_else() {
        for arguments in [
            "{}",
            "no JSON",
            r#""ship""#,
            r#"{"tool": 7}"#,
            r#"{"tool": ""}"#,
            r#"{"tool": "ship", "order": "o-1"}"#,
            r#"{"tool": "call_tool", "args": {"tool": "ship", "args": {}}}"#,
        ] {
            let call = proposed(arguments);
            assert_eq!(unwrapped(call.clone()), call, "{arguments}");
            assert_eq!(said(&call), (NAME, Cow::Borrowed(&call.args)), "{arguments}");
        }
        let other = ProposedCall { tool: "ship".to_owned(), ..proposed(r#"{"tool": "bash", "args": {}}"#) };
        assert_eq!(unwrapped(other.clone()), other);
    }

    /// Shows R39: a secret inside arguments that came as text is taken out before anybody sees it, escaped or not.
    #[test]
    fn text_inside_holds_no_secret_either() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).get(..36).unwrap_or_default());
        let inner = json!({ "key": token }).to_string().replace('g', "\\u0067");
        let meant = unwrapped(proposed(&json!({ "tool": "ship", "args": inner }).to_string()));
        assert!(!serde_json::to_string(&meant.args).unwrap().contains(&token), "{meant:?}");
    }
}
