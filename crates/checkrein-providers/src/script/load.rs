//! From the text of a script to steps. Everything that can be wrong with a script is found here, with its line, so that
//! nothing but the requests can surprise a session.

use std::collections::BTreeMap;
use std::path::Path;

use checkrein_contract::Usage;
use checkrein_toml::{FileError, Source, Spanned};
use serde_json::Value;

use super::condition::Condition;
use super::delivery::{Cut, Delivery};
use super::file::{CallFile, ErrorFile, ScriptFile, StepFile, WhenFile};
use super::quote::{Shape, Template};
use super::{Answer, Arguments, Guard, Repeat, Reply, Run, Script, Step, StepCall};

/// The key by which the TOML parser hands a date to a type that knows no dates.
const TOML_DATE: &str = "$__toml_private_datetime";

impl Script {
    /// Reads a script: JSON when the name of the file ends in `.json`, else TOML.
    ///
    /// # Errors
    /// The first mistake, with file and line: broken syntax, an unknown key, an `else` that does not follow a `when`, a
    /// broken quote, keys that contradict each other, a step that can never answer.
    pub fn load(source: Source<'_>) -> Result<Self, FileError> {
        let json = Path::new(source.file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let (version, version_at, files) = if json { read_json(source)? } else { read_toml(source)? };
        if version != 1 {
            let message = format!("version {version} is not known here; this program reads version 1");
            return Err(source.error(version_at, message));
        }
        if files.is_empty() {
            return Err(source.error(version_at, "a script needs at least one step"));
        }
        let mut scripts: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for (index, (offset, file)) in files.into_iter().enumerate() {
            if file.sub == Some(0) {
                return Err(source.error(offset, format!("step {}: `sub` counts sub-sessions from 1", index + 1)));
            }
            let script = scripts.entry(file.sub.unwrap_or(0)).or_default();
            let mut step = read_step(file, json)
                .map_err(|message| source.error(offset, format!("step {}: {message}", index + 1)))?;
            step.number = index + 1;
            step.line = source.line(offset);
            script.push(step);
        }
        for steps in scripts.values_mut() {
            find_runs(steps).and_then(|()| find_unreachable(steps)).map_err(|(line, message)| FileError {
                file: source.file.to_owned(),
                line,
                message,
                near: None,
            })?;
        }
        Ok(Self { steps: scripts.remove(&0).unwrap_or_default(), delegated: scripts })
    }

    /// A script written in code: each step as it stands in a file. In messages a step's line is its number and one more.
    ///
    /// # Errors
    /// As [`Script::load`].
    pub fn of_steps(steps: &[Value]) -> Result<Self, FileError> {
        let steps: Vec<String> = steps.iter().map(Value::to_string).collect();
        let text = format!("{{\"version\": 1, \"step\": [\n{}\n]}}", steps.join(",\n"));
        Self::load(Source { file: "script.json", text: &text })
    }
}

/// The version and where it stands, then each step with where it begins.
type Read = (u32, usize, Vec<(usize, StepFile)>);

fn read_toml(source: Source<'_>) -> Result<Read, FileError> {
    let file: ScriptFile<Spanned<u32>, Spanned<StepFile>> = source.toml()?;
    let steps = file.step.into_iter().map(|step| (step.span().start, step.into_inner())).collect();
    Ok((*file.version.get_ref(), file.version.span().start, steps))
}

fn read_json(source: Source<'_>) -> Result<Read, FileError> {
    let file: ScriptFile<u32, StepFile> = source.json()?;
    let version_at = source.text.find("\"version\"").unwrap_or(0);
    Ok((file.version, version_at, json_step_offsets(source.text).into_iter().zip(file.step).collect()))
}

/// Where each step begins in a JSON script that was read already: every object in an array in the outermost object is
/// one, because `step` is the only key there that holds an array.
fn json_step_offsets(text: &str) -> Vec<usize> {
    let (mut offsets, mut open) = (Vec::new(), Vec::new());
    let (mut in_string, mut escaped) = (false, false);
    for (offset, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                if byte == b'{' && open == *b"{[" {
                    offsets.push(offset);
                }
                open.push(byte);
            }
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
    }
    offsets
}

fn read_step(file: StepFile, json: bool) -> Result<Step, String> {
    let guard = match (&file.when, file.otherwise) {
        (Some(_), Some(_)) => return Err("`when` and `else` exclude each other".to_owned()),
        (None, Some(false)) => return Err("`else` is `true` or absent".to_owned()),
        (Some(when), None) => Guard::When(read_when(when)?),
        (None, Some(true)) => Guard::Else,
        (None, None) => Guard::Plain,
    };
    let repeat = file.repeat.unwrap_or(Repeat::Times(1));
    let answer = match &file.error {
        Some(error) => read_error(&file, error)?,
        None => Answer::Reply(read_reply(file, json)?),
    };
    Ok(Step { number: 0, line: 0, guard, run: None, repeat, answer })
}

fn read_when(when: &WhenFile) -> Result<Condition, String> {
    if when.tool_result.is_none() && when.contains.is_none() && when.user_contains.is_none() {
        return Err("`when` needs `tool_result`, `contains` or `user_contains`".to_owned());
    }
    Ok(Condition {
        tool_result: when.tool_result.clone(),
        contains: when.contains.clone(),
        user_contains: when.user_contains.clone(),
    })
}

fn read_error(step: &StepFile, error: &ErrorFile) -> Result<Answer, String> {
    let reply_keys = [
        ("text", step.text.is_some()),
        ("calls", !step.calls.is_empty()),
        ("cut_after", step.cut_after.is_some()),
        ("cut_by", step.cut_by.is_some()),
        ("delay_ms", step.delay_ms.is_some()),
        ("piece_ms", step.piece_ms.is_some()),
        ("chunk_bytes", step.chunk_bytes.is_some()),
        ("ids", step.ids.is_some()),
        ("stop", step.stop.is_some()),
        ("usage", step.usage.is_some()),
    ];
    if let Some((key, _)) = reply_keys.iter().find(|(_, used)| *used) {
        return Err(format!("a step with `error` has no reply, so `{key}` means nothing in it"));
    }
    if !(400..600).contains(&error.status) {
        return Err(format!("status {} is no error; give one from 400 to 599", error.status));
    }
    Ok(Answer::Error { status: error.status, retry_after_ms: error.retry_after_s.map(|s| u64::from(s) * 1000) })
}

fn read_reply(file: StepFile, json: bool) -> Result<Reply, String> {
    let reply_keys = [
        ("delay_ms", file.delay_ms.is_some()),
        ("piece_ms", file.piece_ms.is_some()),
        ("stop", file.stop.is_some()),
        ("usage", file.usage.is_some()),
    ];
    if file.cut_after.is_some()
        && let Some((key, _)) = reply_keys.iter().find(|(_, used)| *used)
    {
        return Err(format!("a reply that is cut off never ends, so `{key}` means nothing beside `cut_after`"));
    }
    let cut = Cut::new(file.cut_after, file.cut_by)?;
    let mut calls = Vec::with_capacity(file.calls.len());
    for call in file.calls {
        calls.push(read_call(call, json)?);
    }
    Ok(Reply {
        text: Template::parse(&file.text.unwrap_or_default())?,
        calls,
        delivery: Delivery {
            cut,
            delay_ms: file.delay_ms.unwrap_or(0),
            piece_ms: file.piece_ms.unwrap_or(0),
            chunk_bytes: file.chunk_bytes,
            ids: file.ids.unwrap_or_default(),
        },
        length: file.stop.is_some(),
        usage: file.usage.map(|usage| Usage {
            input: usage.input,
            output: usage.output,
            cached: usage.cached,
            written: usage.written,
            estimated: false,
        }),
    })
}

fn read_call(call: CallFile, json: bool) -> Result<StepCall, String> {
    let arguments = match (call.args, call.raw) {
        (Some(_), Some(_)) => return Err(format!("call of `{}`: `args` and `raw` exclude each other", call.tool)),
        (None, Some(raw)) => Arguments::Raw(raw),
        (args, None) => {
            let args = args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            if !json {
                check_toml(&args).map_err(|message| format!("call of `{}`: {message}", call.tool))?;
            }
            Arguments::Json(Shape::parse(&args)?)
        }
    };
    Ok(StepCall { tool: call.tool, arguments })
}

/// TOML has two kinds of value that JSON has not, and the parser lets both through in disguise.
fn check_toml(value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Err("`nan` and `inf` are no JSON numbers".to_owned()),
        Value::Object(map) if map.contains_key(TOML_DATE) => {
            Err("a date is no JSON value; put it in quotes".to_owned())
        }
        Value::Object(map) => map.values().try_for_each(check_toml),
        Value::Array(items) => items.iter().try_for_each(check_toml),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// A mistake in the order of the steps: line and message.
type Misplaced = (usize, String);

fn find_runs(steps: &mut [Step]) -> Result<(), Misplaced> {
    let mut first = 0;
    while let Some(step) = steps.get(first) {
        if matches!(step.guard, Guard::Else) {
            let message = format!("step {}: `else` must stand right behind a step with `when`", step.number);
            return Err((step.line, message));
        }
        let conditional = steps.iter().skip(first).take_while(|step| matches!(step.guard, Guard::When(_))).count();
        if conditional == 0 {
            first += 1;
            continue;
        }
        let choice = steps.get(first + conditional).is_some_and(|step| matches!(step.guard, Guard::Else));
        let end = first + conditional + usize::from(choice);
        for step in steps.iter_mut().take(end).skip(first) {
            step.run = Some(Run { first, end, choice });
        }
        first = end;
    }
    Ok(())
}

fn find_unreachable(steps: &[Step]) -> Result<(), Misplaced> {
    for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
        if matches!(step.guard, Guard::Plain) && step.repeat == Repeat::Forever {
            let message = format!("step {} can never answer: step {} repeats forever", next.number, step.number);
            return Err((next.line, message));
        }
    }
    Ok(())
}
