//! Short texts for people: calls, arguments, times.

use checkrein::contract::{CassetteMode, Compacted, Effect, SessionOpened, visible};
use checkrein::usage::Counted;
use serde_json::Value;

/// Longest text of a call in one line, characters.
const MAX_CALL: usize = 100;
/// Arguments that say most about a call, most telling first.
const TELLING: &[&str] = &["command", "file_path", "path", "pattern", "question", "name", "run", "file", "json"];

/// A text that can not steer a terminal: control characters are shown as such, direction marks too.
pub(crate) fn printable(text: &str) -> String {
    visible(text).into_owned()
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

/// Hosts that a call would connect to and whose names are written with letters beyond a to z, which may look like others: by the
/// names that are looked up, in plain letters.
pub(crate) fn hosts_in_plain_letters(effects: &[Effect]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for effect in effects {
        let Effect::Connect(to) = effect else { continue };
        let how = match (to.host.is_ascii(), to.host.split('.').any(|part| part.starts_with("xn--"))) {
            (false, _) => "written with letters beyond a to z, which may look like others",
            (true, true) => "stands for letters beyond a to z, which may look like others",
            (true, false) => continue,
        };
        let ascii = idna::domain_to_ascii(&to.host).unwrap_or_else(|_| to.host.escape_unicode().to_string());
        let host = format!("{ascii} ({how})");
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
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

#[cfg(test)]
mod tests {
    use checkrein::contract::Connect;

    use super::*;

    #[test]
    fn a_host_is_told_in_the_letters_that_are_looked_up() {
        let to = |host: &str| Effect::Connect(Connect { host: host.to_owned(), ..Connect::default() });
        let hosts =
            ["p\u{430}ypal.com", "bücher.example", "xn--pypal-4ve.com", "example.org", "127.0.0.1", "\u{301}.com"];
        let told = hosts_in_plain_letters(&hosts.map(to));
        let names: Vec<&str> = told.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(&names[..3], ["xn--pypal-4ve.com", "xn--bcher-kva.example", "xn--pypal-4ve.com"]);
        assert!(told.len() == 4 && told.iter().all(|line| line.is_ascii()), "{told:?}");
    }
}
