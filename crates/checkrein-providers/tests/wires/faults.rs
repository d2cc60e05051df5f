//! Whatever can go wrong below a wire: errors by status, waits, stalls, resets, answers that are none.

use std::net::TcpListener;

use checkrein_contract::ProviderFault;
use serde_json::json;

use super::server::{Answer, End};
use super::{KEY, ask, error_of, kinds, open, request};

/// An error by its status is retried when that can help, waits as long as the server says, and never holds the key.
#[test]
fn each_status() {
    for kind in kinds() {
        for (status, fault) in [
            (400, ProviderFault::Refused),
            (401, ProviderFault::Refused),
            (403, ProviderFault::Refused),
            (404, ProviderFault::Refused),
            (408, ProviderFault::Server),
            (413, ProviderFault::TooLong),
            (422, ProviderFault::Refused),
            (429, ProviderFault::RateLimited),
            (500, ProviderFault::Server),
            (502, ProviderFault::Server),
            (503, ProviderFault::Server),
            (504, ProviderFault::Server),
            (529, ProviderFault::Server),
        ] {
            let body =
                json!({ "error": { "message": format!("no: {KEY}\u{1b}[2J\n{}", "x".repeat(9000)) } }).to_string();
            let error = error_of(kind, Answer::error(status, &body).header("retry-after", "7"));
            assert_eq!(error.fault, fault, "{kind} {status}");
            assert_eq!(error.retry_after_ms, Some(7000));
            assert!(error.message.starts_with(&format!("{kind}: status {status}, error: no: [key]")), "{error}");
            assert!(error.message.len() < 600 && !error.message.chars().any(char::is_control), "{error}");
            let plain = error_of(kind, Answer::error(status, "<html>no</html>"));
            assert_eq!((plain.fault, plain.retry_after_ms), (fault, None), "{kind} {status}");
        }
        let moved = error_of(kind, Answer::error(307, "").header("location", "http://localhost:1/"));
        assert_eq!(moved.fault, ProviderFault::Refused, "a key is not sent on");
    }
}

#[test]
fn a_prompt_that_is_too_long_is_known_by_its_words() {
    for kind in kinds() {
        for message in [
            "prompt is too long: 214315 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "Your input exceeds the context window of this model.",
        ] {
            let body = json!({ "error": { "type": "invalid_request_error", "message": message } }).to_string();
            let error = error_of(kind, Answer::error(400, &body));
            assert_eq!((error.fault, error.can_retry()), (ProviderFault::TooLong, false), "{message}");
        }
    }
}

/// Whatever breaks off may be asked for again; what is no answer at all may not.
#[test]
fn stalls_resets_and_nonsense() {
    for kind in kinds() {
        let begun = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
        for end in [End::Stall, End::Reset, End::Closed] {
            for bytes in [0, 5, begun.len()] {
                let error = error_of(kind, Answer::stream(begun).cut(bytes, end));
                // A reset can overtake the answer itself.
                let server = end == End::Reset && error.fault == ProviderFault::Server;
                assert!(server || error.fault == ProviderFault::Broken, "{kind} {end:?} after {bytes}: {error}");
                assert!(error.can_retry());
            }
        }
        for (nonsense, fault) in [
            (Answer::stream("data: {\"type\": \n\n"), ProviderFault::Broken),
            (Answer::stream("data: \u{fffd}"), ProviderFault::Broken),
            (Answer::stream(""), ProviderFault::Broken),
            (Answer { pieces: vec![b"data: \"\xff\xfe\"\n\n".to_vec()], ..Answer::stream("") }, ProviderFault::Broken),
            (Answer::error(200, "{\"content\": \"a whole reply\"}"), ProviderFault::Refused),
            (Answer::error(200, "{\"error\": {\"message\": \"m\", \"code\": 503}}"), ProviderFault::Server),
        ] {
            let error = error_of(kind, nonsense.clone());
            assert_eq!(error.fault, fault, "{kind} {nonsense:?}: {error}");
        }
    }
}

#[test]
fn nobody_answers() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for kind in kinds() {
        let error = ask(&open(kind, &format!("http://127.0.0.1:{port}")), &request()).reply.unwrap_err();
        assert_eq!(error.fault, ProviderFault::Server);
        assert!(error.message.starts_with(&format!("{kind}: no connection: ")), "{error}");
    }
}
