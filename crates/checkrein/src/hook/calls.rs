//! Calls in the session files of other agents, as the payloads their hooks would have got.

use serde_json::{Value, json};

use super::Caller;

/// Calls, and lines that could not be read as what they seem to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// Each call as a payload.
    pub payloads: Vec<Value>,
    /// What was left, with its line.
    pub left: Vec<String>,
    /// Where the session began.
    pub root: Option<String>,
}

impl Caller {
    /// The tool calls of a session file: a transcript of Claude Code, a rollout of Codex.
    pub fn calls(self, text: &str) -> Calls {
        let mut calls = Calls::default();
        let mut session = Value::Null;
        let mut cwd = Value::Null;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                calls.left.push(format!("line {}: it is no JSON", number + 1));
                continue;
            };
            let text = |key: &str| line.pointer(key).filter(|value| value.is_string()).cloned();
            session = text("/sessionId").unwrap_or(session);
            cwd = text("/cwd").or_else(|| text("/payload/cwd")).unwrap_or(cwd);
            if let Some(id) = line.pointer("/payload/id").filter(|_| line["type"] == "session_meta") {
                session = id.clone();
            }
            if calls.root.is_none() {
                calls.root = cwd.as_str().map(str::to_owned);
            }
            for (tool, input, folder) in self.in_line(&line, number + 1, &mut calls.left) {
                calls.payloads.push(json!({
                    "session_id": session.as_str().unwrap_or("unnamed"),
                    "cwd": joined(cwd.as_str().unwrap_or("/"), folder.as_deref()),
                    "hook_event_name": "PreToolUse",
                    "tool_name": tool,
                    "tool_input": input,
                }));
            }
        }
        calls
    }

    fn in_line(self, line: &Value, number: usize, left: &mut Vec<String>) -> Vec<(String, Value, Option<String>)> {
        match self {
            Self::Claude => {
                let content = line.pointer("/message/content").and_then(Value::as_array);
                let used = content.into_iter().flatten().filter(|part| part["type"] == "tool_use");
                used.filter_map(|part| Some((part["name"].as_str()?.to_owned(), part["input"].clone(), None))).collect()
            }
            Self::Codex => {
                let payload = &line["payload"];
                let name = payload["name"].as_str().unwrap_or_default();
                let call = match payload["type"].as_str() {
                    Some("function_call") => function_call(name, payload),
                    Some("custom_tool_call") => Some((name.to_owned(), json!({ "command": payload["input"] }), None)),
                    _ => return Vec::new(),
                };
                if call.is_none() {
                    left.push(format!("line {number}: the arguments of `{name}` are no JSON"));
                }
                call.into_iter().collect()
            }
        }
    }
}

fn joined(cwd: &str, folder: Option<&str>) -> String {
    match folder {
        None => cwd.to_owned(),
        Some(folder) if folder.starts_with('/') => folder.to_owned(),
        Some(folder) => format!("{cwd}/{folder}"),
    }
}

/// A call of Codex: its arguments are JSON in a text, and a command is what its hook shows as `Bash`.
fn function_call(name: &str, payload: &Value) -> Option<(String, Value, Option<String>)> {
    let arguments: Value = serde_json::from_str(payload["arguments"].as_str()?).ok()?;
    let folder = arguments["workdir"].as_str().map(str::to_owned);
    let command = match &arguments["command"] {
        Value::Array(words) => match words.as_slice() {
            [Value::String(shell), Value::String(option), script @ Value::String(_)]
                if matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
                    && matches!(option.as_str(), "-c" | "-lc") =>
            {
                Some(script.clone())
            }
            // Words that no shell reads: quoted, they are a command line.
            words => {
                let quoted: Option<Vec<String>> =
                    words.iter().map(|word| Some(format!("'{}'", word.as_str()?.replace('\'', "'\\''")))).collect();
                Some(Value::String(quoted?.join(" ")))
            }
        },
        Value::String(_) => Some(arguments["command"].clone()),
        _ => arguments.get("cmd").cloned(),
    };
    Some(match (name, command, payload["namespace"].as_str()) {
        ("exec_command" | "shell" | "shell_command", Some(command), _) => {
            ("Bash".to_owned(), json!({ "command": command }), folder)
        }
        (name, _, Some(namespace)) => (format!("{namespace}__{name}"), arguments, None),
        (name, ..) => (name.to_owned(), arguments, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_are_found() {
        let claude = r#"{"type":"user","sessionId":"s","cwd":"/p","message":{"content":"hi"}}
{"type":"assistant","sessionId":"s","cwd":"/p/web","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}
nonsense"#;
        let calls = Caller::Claude.calls(claude);
        let payload = &calls.payloads[0];
        assert_eq!((calls.payloads.len(), calls.left.len()), (1, 1));
        assert_eq!((&payload["cwd"], &payload["tool_input"]["command"]), (&json!("/p/web"), &json!("ls")));

        let codex = r#"{"type":"session_meta","payload":{"id":"u","cwd":"/p"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\",\"workdir\":\"/p/a\"}"}}
{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"pwd\"]}"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch"}}
{"type":"response_item","payload":{"type":"function_call","name":"get","namespace":"mcp__x","arguments":"{}"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{"}}"#;
        let calls = Caller::Codex.calls(codex);
        let tools: Vec<&str> = calls.payloads.iter().filter_map(|payload| payload["tool_name"].as_str()).collect();
        assert_eq!(tools, ["Bash", "Bash", "apply_patch", "mcp__x__get"]);
        assert_eq!(calls.payloads[0]["cwd"], "/p/a");
        assert_eq!(calls.left.len(), 1);
    }
}
