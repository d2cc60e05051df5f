//! Reading scripts: both spellings mean the same, and every mistake names file, line and key.

use checkrein_contract::{Lane, ModelRequest, Provider, ToolChoice};
use checkrein_providers::{Script, ScriptProvider};
use checkrein_toml::Source;
use insta::assert_snapshot;
use serde_json::Value;

use crate::ready;

fn error(text: &str) -> String {
    Script::load(Source { file: "script.toml", text }).unwrap_err().to_string()
}

fn step_error(keys: &str) -> String {
    error(&format!("version = 1\n\n[[step]]\n{keys}\n"))
}

fn json_error(text: &str) -> String {
    Script::load(Source { file: "script.json", text }).unwrap_err().to_string()
}

#[test]
fn unknown_keys_are_errors_with_line_and_near_miss() {
    assert_snapshot!(error("version = 1\n[[steps]]\n"), @"script.toml:2: unknown field `steps` (did you mean `step`?)");
    assert_snapshot!(step_error("txet = \"x\""), @"script.toml:4: unknown field `txet` in `step` (did you mean `text`?)");
    assert_snapshot!(step_error("calls = [{ tool = \"a\", agrs = {} }]"), @"script.toml:4: unknown field `agrs` in `step.calls` (did you mean `args`?)");
    assert_snapshot!(step_error("when = { tool_results = \"a\" }"), @"script.toml:4: unknown field `tool_results` in `step.when` (did you mean `tool_result`?)");
    assert_snapshot!(step_error("error = { status = 429, retry_after = 1 }"), @"script.toml:4: unknown field `retry_after` in `step.error` (did you mean `retry_after_s`?)");
    assert_snapshot!(step_error("stop = \"lenght\""), @"script.toml:4: unknown variant `lenght` in `step.stop` (did you mean `length`?)");
    assert_snapshot!(step_error("usage = { input = 1 }"), @"script.toml:4: missing field `output` in `step.usage`");
}

#[test]
fn the_version_must_be_known_and_a_script_must_say_something() {
    assert_snapshot!(error("[[step]]\n"), @"script.toml:1: missing field `version`");
    assert_snapshot!(error("# new\nversion = 2\n[[step]]\n"), @"script.toml:2: version 2 is not known here; this program reads version 1");
    assert_snapshot!(error("version = 1\n"), @"script.toml:1: a script needs at least one step");
}

#[test]
fn else_stands_right_behind_when() {
    assert_snapshot!(step_error("else = true"), @"script.toml:3: step 1: `else` must stand right behind a step with `when`");
    assert_snapshot!(step_error("text = \"a\"\n[[step]]\nelse = true"), @"script.toml:5: step 2: `else` must stand right behind a step with `when`");
    assert_snapshot!(step_error("when = { contains = \"a\" }\n[[step]]\nelse = true\n[[step]]\nelse = true"), @"script.toml:7: step 3: `else` must stand right behind a step with `when`");
    assert_snapshot!(step_error("when = { contains = \"a\" }\nelse = true"), @"script.toml:3: step 1: `when` and `else` exclude each other");
    assert_snapshot!(step_error("else = false"), @"script.toml:3: step 1: `else` is `true` or absent");
    assert_snapshot!(step_error("when = {}"), @"script.toml:3: step 1: `when` needs `tool_result`, `contains` or `user_contains`");
}

#[test]
fn keys_that_contradict_each_other_are_errors() {
    assert_snapshot!(step_error("calls = [{ tool = \"a\", args = {}, raw = \"\" }]"), @"script.toml:3: step 1: call of `a`: `args` and `raw` exclude each other");
    assert_snapshot!(step_error("error = { status = 500 }\ntext = \"a\""), @"script.toml:3: step 1: a step with `error` has no reply, so `text` means nothing in it");
    assert_snapshot!(step_error("error = { status = 500 }\ncut_after = 1"), @"script.toml:3: step 1: a step with `error` has no reply, so `cut_after` means nothing in it");
    assert_snapshot!(step_error("error = { status = 200 }"), @"script.toml:3: step 1: status 200 is no error; give one from 400 to 599");
    assert_snapshot!(step_error("error = { status = 500 }\nids = \"same\""), @"script.toml:3: step 1: a step with `error` has no reply, so `ids` means nothing in it");
    assert_snapshot!(step_error("cut_by = \"end\""), @"script.toml:3: step 1: `cut_by` says how a reply breaks off; say where, with `cut_after`");
    assert_snapshot!(step_error("cut_after = 3\ncut_by = \"half\""), @"script.toml:5: unknown variant `half`, expected one of `drop`, `end`, `garbage`, `stall` in `step.cut_by`");
    assert_snapshot!(step_error("chunk_bytes = 0"), @"script.toml:4: invalid value: integer `0`, expected a nonzero usize in `step.chunk_bytes`");
    assert_snapshot!(step_error("cut_after = 3\npiece_ms = 5"), @"script.toml:3: step 1: a reply that is cut off never ends, so `piece_ms` means nothing beside `cut_after`");
    assert_snapshot!(step_error("cut_after = 3\ndelay_ms = 5"), @"script.toml:3: step 1: a reply that is cut off never ends, so `delay_ms` means nothing beside `cut_after`");
}

#[test]
fn a_repeat_is_a_number_or_forever() {
    assert_snapshot!(step_error("repeat = 0"), @r#"script.toml:4: invalid value: integer `0`, expected a number from 1 to 4294967295 or "forever" in `step.repeat`"#);
    assert_snapshot!(step_error("repeat = -1"), @r#"script.toml:4: invalid value: integer `-1`, expected a number from 1 to 4294967295 or "forever" in `step.repeat`"#);
    assert_snapshot!(step_error("repeat = \"for ever\""), @r#"script.toml:4: invalid value: string "for ever", expected a number from 1 to 4294967295 or "forever" in `step.repeat`"#);
    assert_snapshot!(step_error("repeat = \"forever\"\n[[step]]\ntext = \"never\""), @"script.toml:5: step 2 can never answer: step 1 repeats forever");
}

#[test]
fn broken_quotes_and_values_that_json_has_not_are_errors() {
    assert_snapshot!(step_error("text = \"{{result.a.b\""), @"script.toml:3: step 1: a quote `{{result.` is not closed by `}}`");
    assert_snapshot!(step_error("text = \"{{result.a..b}}\""), @"script.toml:3: step 1: the quote `{{result.a..b}}` has an empty part");
    assert_snapshot!(step_error("calls = [{ tool = \"a\", args = { x = [\"{{result.}}\"] } }]"), @"script.toml:3: step 1: the quote `{{result.}}` has an empty part");
    assert_snapshot!(step_error("calls = [{ tool = \"a\", args = { x = 2026-01-01 } }]"), @"script.toml:3: step 1: call of `a`: a date is no JSON value; put it in quotes");
    assert_snapshot!(step_error("calls = [{ tool = \"a\", args = { x = [inf] } }]"), @"script.toml:3: step 1: call of `a`: `nan` and `inf` are no JSON numbers");
}

#[test]
fn json_scripts_have_the_same_errors_with_lines() {
    assert_snapshot!(json_error("{\n\"version\": 1,\n\"step\": [\n{\"txet\": 1}]}"), @"script.json:4: unknown field `txet` (did you mean `text`?)");
    assert_snapshot!(json_error("{\n\"version\": 3,\n\"step\": [{}]}"), @"script.json:2: version 3 is not known here; this program reads version 1");
    let late = "{\n\"step\": [\n{\"text\": \"[{ \\\"\\\\\"},\n{\"calls\": [{\"tool\": \"a\"}]},\n {\"else\": true}],\n\"version\": 1}";
    assert_snapshot!(json_error(late), @"script.json:5: step 3: `else` must stand right behind a step with `when`");
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = "version = 1\n[[step]]\ntext = \"hi\"\ncalls = [{ tool = \"a\", args = { n = 1 } }]";
    let json = r#"{"version": 1, "step": [{"text": "hi", "calls": [{"tool": "a", "args": {"n": 1}}]}]}"#;
    let request = ModelRequest {
        model: String::new(),
        system: String::new(),
        tools: Vec::new(),
        messages: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 1,
        lane: Lane::main(),
        provider: Value::Null,
    };
    let reply = |file: &str, text: &str| {
        let provider = ScriptProvider::new(Script::load(Source { file, text }).unwrap(), "s");
        ready(provider.complete(&request, &mut |_| {})).unwrap()
    };
    assert_eq!(reply("s.toml", toml), reply("s.JSON", json));
    let null = reply("s.json", r#"{"version": 1, "step": [{"calls": [{"tool": "a", "args": null}]}]}"#);
    assert_eq!(null.calls[0].arguments, "null");
}
