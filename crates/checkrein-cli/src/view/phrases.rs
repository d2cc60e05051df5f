//! Short texts for people: calls, arguments, times.

use std::fmt::Write as _;

use checkrein::contract::{CassetteMode, Compacted, SessionOpened, steers};
use checkrein::usage::Counted;
use serde_json::Value;

/// Longest text of a call in one line, characters.
const MAX_CALL: usize = 100;
/// Arguments that say most about a call, most telling first.
const TELLING: &[&str] = &["command", "file_path", "path", "pattern", "question", "name", "run", "file", "json"];

/// A text that can not steer a terminal: control characters are shown as such, direction marks too.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// What was put away, in a line, with what stands for it.
pub(crate) fn put_away(event: &Compacted) -> String {
    let calls = event.calls.len();
    let what = format!("{calls} calls are not shown any more from here on, {} tokens ({})", event.tokens, event.policy);
    match (&event.summary, &event.reason) {
        (Some(summary), _) => format!("{what}; in their place: {summary}"),
        (None, Some(reason)) => format!("{what}; listed without a summary: {reason}"),
        (None, None) => format!("{what}; listed without a summary"),
    }
}

/// The model of a session, and the cassette that answers in its place or that it is recorded into.
pub(crate) fn model_of(opened: &SessionOpened) -> String {
    match &opened.cassette {
        Some(cassette) => {
            let how = match cassette.mode {
                CassetteMode::Replay => "played from",
                CassetteMode::Lenient => "played leniently from",
                CassetteMode::Record => "recorded into",
                CassetteMode::Verify => "held against",
            };
            format!("{}, {how} {}", opened.model, cassette.file)
        }
        None => opened.model.clone(),
    }
}

/// A call in one line: its most telling argument, or all of them.
pub(crate) fn call_in_a_line(args: &Value) -> String {
    let text = match args {
        Value::Object(map) => match TELLING.iter().find_map(|name| map.get(*name)) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(words)) => words
                .iter()
                .map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(" "),
            _ => {
                let pairs = map.iter().map(|(name, value)| format!("{name}={}", plain(value)));
                pairs.collect::<Vec<_>>().join(" ")
            }
        },
        other => plain(other),
    };
    let line = printable(&text.replace(['\n', '\t'], " "));
    match line.char_indices().nth(MAX_CALL) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// All arguments, one a line.
pub(crate) fn arguments_in_lines(args: &Value) -> Vec<(String, String)> {
    match args {
        Value::Object(map) => map.iter().map(|(name, value)| (printable(name), printable(&plain(value)))).collect(),
        other => vec![("arguments".to_owned(), printable(&plain(other)))],
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A time of day for people, in their time zone. `ms` since 1970.
pub(crate) fn time_of(ms: u64) -> String {
    let stamp = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match stamp {
        Some(stamp) => stamp.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        None => "?".to_owned(),
    }
}

/// The message inside the one shape of errors.
pub(super) fn message_of(text: &str) -> String {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let message = value.as_ref().and_then(|value| value.get("message")).and_then(Value::as_str);
    message.unwrap_or(text).to_owned()
}

/// What a provider counted, beside the harness's own estimate of the same exchanges.
pub(super) fn compared(counted: &Counted) -> String {
    let (reported, estimated) = (counted.reported, counted.estimated);
    let off = |estimated: u64, reported: u64| match reported {
        0 => String::new(),
        _ => {
            let parts = (i128::from(estimated) - i128::from(reported)) * 1_000 / i128::from(reported);
            let (sign, parts) = (if parts < 0 { '-' } else { '+' }, parts.unsigned_abs());
            format!(" ({sign}{}.{} %)", parts / 10, parts % 10)
        }
    };
    let kept = [(reported.cached, "cached"), (reported.written, "written")];
    let kept = kept.into_iter().filter(|(tokens, _)| *tokens > 0);
    let kept: Vec<String> = kept.map(|(tokens, how)| format!("{} {how}", grouped(tokens))).collect();
    let cached = if kept.is_empty() { String::new() } else { format!(" ({})", kept.join(", ")) };
    format!(
        "{} in{cached}, {} out; estimated: {} in{}, {} out{}",
        grouped(reported.input),
        grouped(reported.output),
        grouped(estimated.input),
        off(estimated.input, reported.input),
        grouped(estimated.output),
        off(estimated.output, reported.output),
    )
}

/// A number with its thousands set off.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
