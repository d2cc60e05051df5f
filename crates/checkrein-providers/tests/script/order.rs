//! Which step answers: cursor, choices, open runs, repeats. What the step then says is tested in `answers`.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Session;

/// Steps that end in a choice: `A` if a result of `find` shows `delivered`, `B` if one shows `lost`, else `C`; then
/// `D`.
const CHOICE: &str = r#"
    [[step]]
    when = { tool_result = "find", contains = "delivered" }
    text = "A"
    [[step]]
    when = { tool_result = "find", contains = "lost" }
    text = "B"
    [[step]]
    else = true
    text = "C"
    [[step]]
    text = "D"
"#;

/// The same conditions without `else`.
const OPEN: &str = r#"
    [[step]]
    when = { tool_result = "find", contains = "delivered" }
    text = "A"
    [[step]]
    when = { tool_result = "find", contains = "lost" }
    text = "B"
    [[step]]
    text = "D"
"#;

#[test]
fn plain_steps_answer_in_order_and_one_request_more_is_an_error() {
    let mut session = Session::new("[[step]]\ntext = \"one\"\n[[step]]\ntext = \"two\"");
    assert_eq!([session.says(), session.says()], ["one", "two"]);
    assert_snapshot!(session.says(), @"SCRIPT_EXHAUSTED: script:script.toml: this request is one more than the script has steps for; its last is step 2 (line 4)");
}

#[test]
fn a_choice_is_left_whole_after_its_first_branch_that_holds() {
    for (shown, expected) in
        [("delivered", ["A", "D"]), ("lost", ["B", "D"]), ("lost, delivered", ["A", "D"]), ("?", ["C", "D"])]
    {
        let mut session = Session::new(CHOICE);
        session.show("find", shown);
        assert_eq!([session.says(), session.says()], expected, "{shown}");
        assert_eq!(session.close(), "", "untaken branches are fine: {shown}");
    }
}

/// Shows R160: what a request shows decides which branch answers, also when the branches are meant one after the other.
#[test]
fn the_branches_of_a_choice_may_be_meant_one_after_the_other() {
    let steps = CHOICE.replace("[[step]]\n    text = \"D\"", "");
    let mut session = Session::new(&steps);
    session.show("find", "delivered");
    assert_eq!(session.says(), "A");
    session.show("find", "lost");
    assert_eq!(session.says(), "B", "its condition began to hold after the first branch had answered");
    assert_eq!(session.close(), "");

    let mut session = Session::new(&steps);
    session.show("find", "delivered");
    assert_eq!([session.says(), session.says()], ["A", "C"], "else answers where the script ends");
    assert_eq!(session.close(), "");
}

#[test]
fn an_open_run_goes_on_behind_the_step_that_answered() {
    let mut session = Session::new(OPEN);
    session.show("find", "delivered, then lost");
    assert_eq!([session.says(), session.says(), session.says()], ["A", "B", "D"]);
    assert_eq!(session.close(), "");

    let mut session = Session::new(OPEN);
    session.show("find", "lost");
    assert_eq!([session.says(), session.says()], ["B", "D"]);
    assert_eq!(session.close(), "", "passed over, but another step of the run was used");
}

#[test]
fn an_open_run_none_of_whose_steps_holds_is_left_within_one_request() {
    let mut session = Session::new(OPEN);
    assert_eq!(session.says(), "D");
    assert_eq!(session.request.provider, json!({ "at": 3, "times": 0, "passed": [0, 1] }));
}

#[test]
fn an_open_run_at_the_end_says_what_it_wanted_and_what_was_visible() {
    let steps = r#"
        [[step]]
        when = { tool_result = "find", contains = "delivered" }
        [[step]]
        when = { tool_result = "refund" }
        [[step]]
        when = { contains = "lost", user_contains = "hurry" }
    "#;
    let mut session = Session::new(steps);
    assert_snapshot!(session.says(), @r#"SCRIPT_EXHAUSTED: script:script.toml: no step answers this request: step 1 (line 3) wants a result of `find` that contains "delivered"; step 2 (line 5) wants a result of `refund`; step 3 (line 7) wants a result that contains "lost" and a user message that contains "hurry"; no result is visible"#);
    assert_eq!(session.request.provider, Value::Null, "a request without an answer moves nothing");
    session.show("find", "on its way");
    session.show_all(&[("find", "on its way", false), ("price", "refused", true)]);
    assert_snapshot!(session.says(), @r#"SCRIPT_EXHAUSTED: script:script.toml: no step answers this request: step 1 (line 3) wants a result of `find` that contains "delivered"; step 2 (line 5) wants a result of `refund`; step 3 (line 7) wants a result that contains "lost" and a user message that contains "hurry"; visible results: `price` (an error), `find` (2)"#);
}

#[test]
fn conditions_see_results_by_role_errors_too_and_words_of_users() {
    let when = |condition: &str| {
        format!("[[step]]\nwhen = {{ {condition} }}\ntext = \"yes\"\n[[step]]\nelse = true\ntext = \"no\"")
    };
    let says = |condition: &str| {
        let mut session = Session::new(&when(condition)).user("result of find: delivered");
        session.show_all(&[("find", "lost", false), ("refund", "DENIED", true)]);
        session.says()
    };
    assert_eq!(says("tool_result = \"find\""), "yes");
    assert_eq!(says("tool_result = \"price\""), "no");
    assert_eq!(says("contains = \"DENIED\""), "yes", "an error is visible too");
    assert_eq!(says("contains = \"delivered\""), "no", "what a user says is no result");
    assert_eq!(says("user_contains = \"delivered\""), "yes");
    assert_eq!(says("user_contains = \"lost\""), "no", "a result is no user message");
    assert_eq!(says("tool_result = \"find\", contains = \"DENIED\""), "no", "both must hold of one result");
    assert_eq!(says("tool_result = \"find\", user_contains = \"please\""), "yes");
    assert_eq!(says("tool_result = \"find\", user_contains = \"thanks\""), "no");
}

#[test]
fn a_step_repeats_as_often_as_it_says() {
    let mut session = Session::new("[[step]]\nrepeat = 3\ntext = \"again\"\n[[step]]\ntext = \"done\"");
    let said: Vec<_> = (0..4).map(|_| session.says()).collect();
    assert_eq!(said, ["again", "again", "again", "done"]);
    assert_eq!(session.close(), "");
}

#[test]
fn a_repeating_branch_keeps_the_choice_and_leaves_it_whole() {
    let steps = CHOICE.replacen("text = \"A\"", "text = \"A\"\nrepeat = 2", 1);
    let mut session = Session::new(&steps);
    session.show("find", "delivered");
    assert_eq!([session.says(), session.says(), session.says()], ["A", "A", "D"]);

    let mut session = Session::new(&steps);
    session.show("find", "delivered");
    assert_eq!(session.says(), "A");
    session.request.messages.pop();
    session.show("find", "lost");
    assert_eq!(session.says(), "D", "a branch that no longer holds is left with its choice");
}

#[test]
fn a_forever_step_answers_while_its_condition_holds() {
    let mut session = Session::new("[[step]]\nrepeat = \"forever\"\ntext = \"again\"");
    assert!((0..50).all(|_| session.says() == "again"));
    assert_eq!(session.close(), "");

    let steps = OPEN.replacen("text = \"A\"", "text = \"A\"\nrepeat = \"forever\"", 1);
    let mut session = Session::new(&steps);
    session.show("find", "delivered");
    assert_eq!([session.says(), session.says(), session.says()], ["A", "A", "A"]);
    session.request.messages.pop();
    assert_eq!(session.says(), "D", "none of the run holds any more");
    assert_eq!(session.close(), "", "the forever step was used");
}

#[test]
fn the_position_alone_decides_so_another_process_goes_on_where_the_first_stopped() {
    let mut first = Session::new("[[step]]\ntext = \"one\"\nrepeat = 2\n[[step]]\ntext = \"two\"");
    assert_eq!(first.says(), "one");
    assert_eq!(first.request.provider, json!({ "at": 0, "times": 1, "passed": [] }));
    let mut second = Session::new("[[step]]\ntext = \"one\"\nrepeat = 2\n[[step]]\ntext = \"two\"");
    second.request.provider = first.request.provider.clone();
    assert_eq!([second.says(), second.says()], ["one", "two"]);
    assert_eq!(first.says(), "one", "the first one is not moved by it");
}

#[test]
fn a_position_that_is_none_is_refused() {
    let mut session = Session::new("[[step]]\ntext = \"one\"");
    session.request.provider = json!({ "cursor": 3 });
    assert_snapshot!(session.says(), @"PROVIDER_FAILED: script:script.toml: the recorded position in the script can not be read: unknown field `cursor`, expected one of `at`, `times`, `passed`, `short`, `later`");
    assert_snapshot!(session.close(), @"PROVIDER_FAILED: script:script.toml: the recorded position in the script can not be read: unknown field `cursor`, expected one of `at`, `times`, `passed`, `short`, `later`");
    session.request.provider = json!({ "at": u32::MAX, "times": 7, "passed": [90] });
    assert_snapshot!(session.says(), @"SCRIPT_EXHAUSTED: script:script.toml: this request is one more than the script has steps for; its last is step 1 (line 2)");
}

proptest! {
    /// Whatever a script and a conversation are, the position stays small and a session ends after a bounded number of
    /// requests.
    #[test]
    fn positions_stay_small_and_scripts_end(guards in proptest::collection::vec((0..4_u8, 1..4_u32), 1..12),
                                            shown in proptest::collection::vec(any::<bool>(), 0..64)) {
        let mut steps = String::new();
        let mut after_when = false;
        for (guard, repeat) in &guards {
            let guard = match guard {
                0 | 1 => "when = { contains = \"yes\" }",
                2 if after_when => "else = true",
                _ => "",
            };
            after_when = guard.starts_with("when");
            steps.push_str(&format!("[[step]]\nrepeat = {repeat}\ntext = \"t\"\n{guard}\n"));
        }
        let most: u32 = guards.iter().map(|(_, repeat)| repeat).sum();
        let mut session = Session::new(&steps);
        let mut answers = 0;
        for yes in shown {
            session.request.messages.truncate(1);
            session.show("find", if yes { "yes" } else { "no" });
            answers += u32::from(session.next().is_ok());
            let position = session.request.provider.to_string();
            prop_assert!(position.len() <= 50 + 4 * guards.len(), "{position}");
        }
        prop_assert!(answers <= most);
    }
}
