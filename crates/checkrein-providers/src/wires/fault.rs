//! What an error of a model's server means for us. The vendors share their status numbers and the shape of their errors;
//! what they call them is a table here, so that one word means one thing on every wire.

use checkrein_contract::{ProviderError, ProviderFault};
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::transport::failed;

/// Longest message, characters.
const LONGEST: usize = 400;

/// What a kind of error means, by the words that vendors have for it (`type`, `code` or `status` of an error). They
/// count before the status number.
const KINDS: &[(&str, ProviderFault)] = &[
    // A spent quota comes with 429, but waiting does not help.
    ("insufficient_quota", ProviderFault::Refused),
    ("billing_error", ProviderFault::Refused),
    ("context_length_exceeded", ProviderFault::TooLong),
    ("exceed_context_size_error", ProviderFault::TooLong),
    ("request_too_large", ProviderFault::TooLong),
    ("rate_limit_error", ProviderFault::RateLimited),
    ("rate_limit_exceeded", ProviderFault::RateLimited),
    ("resource_exhausted", ProviderFault::RateLimited),
    ("overloaded_error", ProviderFault::Server),
    ("api_error", ProviderFault::Server),
    ("server_error", ProviderFault::Server),
    ("timeout_error", ProviderFault::Server),
    ("internal", ProviderFault::Server),
    ("unavailable", ProviderFault::Server),
    ("deadline_exceeded", ProviderFault::Server),
];

/// How servers say in words that a request is too long; all of these come as plain bad requests.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "context window",
    "context length",
    "context size",
    "exceed context limit",
    "exceeds the maximum number of tokens",
];

/// The error in an answer that is no stream.
pub(super) fn of_answer(status: u16, body: &str) -> ProviderError {
    let json: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    // Gemini puts the error of a stream into a list.
    let json = json.get(0).unwrap_or(&json);
    match json.get("error").filter(|error| !error.is_null()) {
        Some(error) => of_error(Some(status), error),
        None if (200..300).contains(&status) => {
            failed(ProviderFault::Refused, format!("the answer is no stream of events: {body}"))
        }
        None => failed(by_status(status), format!("status {status}: {body}")),
    }
}

/// An error as the vendors write one: an object with `message` and `type`, `code` or `status`; or a text.
pub(super) fn of_error(status: Option<u16>, error: &Value) -> ProviderError {
    let message = error.as_str().or_else(|| error.get("message").and_then(Value::as_str)).unwrap_or_default();
    let words = ["type", "code", "status"].map(|key| error.get(key).and_then(Value::as_str).unwrap_or_default());
    let status = status
        .filter(|status| !(200..300).contains(status))
        .or_else(|| error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()));
    let lower = message.to_lowercase();
    let fault = if TOO_LONG.iter().any(|words| lower.contains(words)) {
        ProviderFault::TooLong
    } else {
        let named = |(word, _): &&(&str, ProviderFault)| words.iter().any(|said| said.eq_ignore_ascii_case(word));
        KINDS
            .iter()
            .find(named)
            .map(|(_, fault)| *fault)
            .or_else(|| status.map(by_status))
            .unwrap_or(ProviderFault::Refused)
    };
    let word = words.iter().find(|word| !word.is_empty()).copied().unwrap_or("error");
    let status = status.map(|status| format!("status {status}, ")).unwrap_or_default();
    ProviderError { retry_after_ms: retry_info_ms(error), ..failed(fault, format!("{status}{word}: {message}")) }
}

/// What a status means. 408 is a time-out of the other side, so it may be tried again like 5xx (529, overloaded, among them).
pub(crate) fn by_status(status: u16) -> ProviderFault {
    match status {
        429 => ProviderFault::RateLimited,
        413 => ProviderFault::TooLong,
        408 | 500.. => ProviderFault::Server,
        _ => ProviderFault::Refused,
    }
}

/// How long the headers ask us to wait, milliseconds: in milliseconds, in seconds, or until a time that is compared with
/// the server's own clock.
pub(super) fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return whole_ms(ms);
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = after.parse::<f64>() {
        return whole_ms(seconds * 1000.0);
    }
    let time = |text: &str| rfc2822::parse(text).ok().map(|zoned| zoned.timestamp().as_millisecond());
    u64::try_from(time(after)?.saturating_sub(time(text(DATE.as_str())?)?)).ok()
}

/// Gemini says it in the error itself: `{"@type": ".../google.rpc.RetryInfo", "retryDelay": "30s"}`.
fn retry_info_ms(error: &Value) -> Option<u64> {
    let details = error.get("details").and_then(Value::as_array)?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay").and_then(Value::as_str))?;
    whole_ms(delay.strip_suffix('s')?.parse::<f64>().ok()? * 1000.0)
}

/// Rounded up; nothing that is no time.
fn whole_ms(ms: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    let whole = ms.ceil() as u64;
    (ms.is_finite() && ms >= 0.0).then_some(whole)
}

/// One line, not too long.
pub(super) fn bounded(message: &str) -> String {
    let plain: String =
        message.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).take(LONGEST + 1).collect();
    let plain = plain.trim();
    match plain.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", plain.get(..end).unwrap_or_default()),
        None => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    #[test]
    fn words_count_before_numbers() {
        let of = |status, error: Value| of_answer(status, &json!({ "error": error }).to_string()).fault;
        for (status, error, fault) in [
            (429, json!({ "type": "rate_limit_error", "message": "slow down" }), ProviderFault::RateLimited),
            (429, json!({ "code": "insufficient_quota", "message": "m" }), ProviderFault::Refused),
            (529, json!({ "type": "overloaded_error", "message": "Overloaded" }), ProviderFault::Server),
            (
                400,
                json!({ "type": "invalid_request_error", "message": "prompt is too long: 9 > 8" }),
                ProviderFault::TooLong,
            ),
            (400, json!({ "code": "context_length_exceeded", "message": "m" }), ProviderFault::TooLong),
            (400, json!({ "code": 400, "status": "INVALID_ARGUMENT", "message": "m" }), ProviderFault::Refused),
            (401, json!({ "type": "authentication_error", "message": "m" }), ProviderFault::Refused),
            (503, json!({ "code": 503, "status": "UNAVAILABLE", "message": "m" }), ProviderFault::Server),
            (500, json!("it broke"), ProviderFault::Server),
            (200, json!({ "code": 429, "message": "m" }), ProviderFault::RateLimited),
            (404, json!(null), ProviderFault::Refused),
            (413, json!(null), ProviderFault::TooLong),
        ] {
            assert_eq!(of(status, error.clone()), fault, "{status} {error}");
        }
        assert_eq!(of_answer(502, "<html>Bad Gateway</html>").message, "status 502: <html>Bad Gateway</html>");
        assert_eq!(of_answer(429, r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"retryDelay":"1.5s"}]}}]"#).retry_after_ms, Some(1500));
    }

    #[test]
    fn a_wait_is_stated_in_three_ways() {
        let of = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)));
            retry_after_ms(&pairs.collect())
        };
        assert_eq!(of(&[("retry-after", "2")]), Some(2000));
        assert_eq!(of(&[("retry-after", "0.25")]), Some(250));
        assert_eq!(of(&[("retry-after", "9"), ("retry-after-ms", "1500")]), Some(1500));
        let (now, then) = ("Mon, 30 Nov 2026 10:00:00 GMT", "Mon, 30 Nov 2026 10:00:07 GMT");
        assert_eq!(of(&[("retry-after", then), ("date", now)]), Some(7000));
        for wrong in [
            &[("retry-after", "soon")][..],
            &[("retry-after", "-1")],
            &[("retry-after", then)],
            &[("retry-after", now), ("date", then)],
            &[],
        ] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_message_is_one_line_of_bounded_length() {
        assert_eq!(bounded(" a\nb\u{1b}[2J "), "a b [2J");
        let long = bounded(&"é".repeat(1000));
        assert_eq!(long.chars().count(), LONGEST + 3);
    }
}
