//! What a step answers: text in pieces, calls, stops, errors, broken streams, virtual time, usage.

use checkrein_contract::{Provider, ProviderFault, RawCall, StopReason, ToolChoice, Usage};
use insta::assert_snapshot;
use serde_json::json;

use crate::Session;

#[test]
fn text_comes_in_pieces_that_make_up_the_whole() {
    let mut session = Session::new("[[step]]\ntext = \"I look it up,\\n then  ü.\"");
    let reply = session.next().unwrap();
    assert_eq!(session.deltas, ["I ", "look ", "it ", "up,\n", " ", "then ", " ", "ü."]);
    assert_eq!(session.deltas.concat(), reply.text);
    assert_eq!((reply.stop, reply.usage, reply.virtual_ms), (StopReason::End, None, 0));
}

#[test]
fn an_empty_step_is_an_empty_reply() {
    let mut session = Session::new("[[step]]");
    let reply = session.next().unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len(), session.deltas.len()), ("", 0, 0));
}

#[test]
fn calls_carry_json_or_whatever_raw_says() {
    let steps = r#"
        [[step]]
        calls = [
            { tool = "find", args = { order = "o-1", n = 2.5, deep = [{ ok = true }] } },
            { tool = "find", raw = "not json {{result.find}}" },
            { tool = "list" },
            { tool = "odd", args = [1, 2] },
        ]
    "#;
    let reply = Session::new(steps).next().unwrap();
    let call = |tool: &str, arguments: &str| RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() };
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(
        reply.calls,
        [
            call("find", r#"{"deep":[{"ok":true}],"n":2.5,"order":"o-1"}"#),
            call("find", "not json {{result.find}}"),
            call("list", "{}"),
            call("odd", "[1,2]"),
        ]
    );
}

#[test]
fn the_length_limit_is_a_stop_of_its_own() {
    let steps = "[[step]]\nstop = \"length\"\ntext = \"half a sen\"\ncalls = [{ tool = \"find\", raw = \"{\\\"ord\" }]";
    let reply = Session::new(steps).next().unwrap();
    assert_eq!((reply.stop, reply.calls.len(), reply.text.as_str()), (StopReason::Length, 1, "half a sen"));
}

#[test]
fn the_last_request_gets_the_step_without_its_calls() {
    let steps = "[[step]]\ntext = \"out of time\"\ncalls = [{ tool = \"find\", args = { x = \"{{result.none.x}}\" } }]";
    let mut session = Session::new(steps);
    session.request.tool_choice = ToolChoice::None;
    let reply = session.next().unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len(), reply.stop), ("out of time", 0, StopReason::End));
    assert_eq!(session.close(), "");
}

#[test]
fn an_error_step_fails_with_the_fault_of_its_status_and_counts_as_used() {
    let cases = [
        (429, ProviderFault::RateLimited, true),
        (408, ProviderFault::Server, true),
        (500, ProviderFault::Server, true),
        (529, ProviderFault::Server, true),
        (400, ProviderFault::Refused, false),
        (404, ProviderFault::Refused, false),
    ];
    for (status, fault, again) in cases {
        let mut session = Session::new(&format!("[[step]]\nerror = {{ status = {status} }}\n[[step]]\ntext = \"ok\""));
        let error = session.next().unwrap_err();
        assert_eq!((error.fault, error.can_retry(), error.retry_after_ms), (fault, again, None), "{status}");
        assert!(session.deltas.is_empty());
        assert_eq!((session.says().as_str(), session.close().as_str()), ("ok", ""), "{status}");
    }
}

#[test]
fn an_error_says_how_long_to_wait_and_can_repeat() {
    let steps = "[[step]]\nerror = { status = 429, retry_after_s = 2 }\nrepeat = 2\n[[step]]\ntext = \"ok\"";
    let mut session = Session::new(steps);
    let error = session.next().unwrap_err();
    assert_eq!(error.retry_after_ms, Some(2000));
    assert_snapshot!(error, @"the script answers with status 429: step 1 (line 2)");
    assert_eq!(session.close().lines().count(), 1, "answered once of two");
    assert_eq!(session.next().unwrap_err().fault, ProviderFault::RateLimited);
    assert_eq!(session.says(), "ok");
}

#[test]
fn a_cut_stream_breaks_off_between_characters() {
    // "zwölf" is z w ö(2) l f: the cut after three bytes would split the ö.
    for (cut, streamed) in [(0, ""), (2, "zw"), (3, "zw"), (4, "zwö"), (6, "zwölf"), (500, "zwölf")] {
        let mut session = Session::new(&format!(
            "[[step]]\ntext = \"zwölf\"\ncalls = [{{ tool = \"find\" }}]\ncut_after = {cut}\n[[step]]\ntext = \"ok\""
        ));
        let error = session.next().unwrap_err();
        assert_eq!((error.fault, session.deltas.concat().as_str()), (ProviderFault::Broken, streamed), "{cut}");
        assert_eq!(session.says(), "ok", "the cut step counts as used");
    }
    let mut session = Session::new("[[step]]\ntext = \"hello\"\ncut_after = 2");
    assert_snapshot!(session.says(), @"PROVIDER_FAILED: the script breaks the stream off after 2 bytes: step 1 (line 2)");
}

#[test]
fn time_is_virtual_and_usage_is_stated_or_absent() {
    let steps = "[[step]]\ndelay_ms = 1500\nusage = { input = 12, output = 3 }";
    let mut session = Session::new(steps);
    assert!(session.provider.virtual_time());
    assert_eq!(session.provider.model(), "script:script.toml");
    let reply = session.next().unwrap();
    assert_eq!(reply.virtual_ms, 1500);
    assert_eq!(reply.usage, Some(Usage { input: 12, output: 3, estimated: false, ..Usage::default() }));
    let mut slow = Session::new("[[step]]\ntext = \"in three pieces\"\ndelay_ms = 10\npiece_ms = 4");
    assert_eq!(slow.next().unwrap().virtual_ms, 10 + 3 * 4);
}

/// What is for a wire changes nothing in process, and however a stream breaks off, it is broken.
#[test]
fn a_wire_is_needed_for_what_a_wire_does() {
    let plain = "[[step]]\ntext = \"a b\"\ncalls = [{ tool = \"find\" }, { tool = \"find\" }]";
    let reply = |steps: &str| Session::new(steps).next().unwrap();
    assert_eq!(reply(&format!("{plain}\nchunk_bytes = 1\nids = \"empty\"")), reply(plain));
    for by in ["drop", "end", "garbage", "stall"] {
        let mut session = Session::new(&format!("[[step]]\ntext = \"a b\"\ncut_after = 2\ncut_by = \"{by}\""));
        let error = session.next().unwrap_err();
        assert_eq!((error.fault, session.deltas.concat().as_str()), (ProviderFault::Broken, "a "), "{by}");
    }
}

#[test]
fn the_same_requests_get_the_same_answers() {
    let steps =
        "[[step]]\ntext = \"a b\"\ncalls = [{ tool = \"find\", args = { z = 1, a = 2 } }]\n[[step]]\ntext = \"c\"";
    let run = || {
        let mut session = Session::new(steps);
        (session.next(), session.deltas.clone(), session.next(), session.deltas.clone())
    };
    assert_eq!(run(), run());
    assert_eq!(run().2.unwrap().provider, json!({ "at": 2, "times": 0, "passed": [] }));
}
