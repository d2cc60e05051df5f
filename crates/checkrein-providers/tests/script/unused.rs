//! What closing a session says about steps that no request reached.

use insta::assert_snapshot;
use serde_json::Value;

use crate::Session;

#[test]
fn a_session_that_never_asked_has_used_nothing() {
    let session =
        Session::new("[[step]]\ntext = \"one\"\n[[step]]\nwhen = { contains = \"x\" }\n[[step]]\nelse = true");
    assert_eq!(session.request.provider, Value::Null);
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 2); step 2 (line 4); step 3 (line 6)");
}

#[test]
fn steps_behind_the_cursor_are_unused() {
    let mut session = Session::new("[[step]]\ntext = \"one\"\n[[step]]\ntext = \"two\"\n\n[[step]]\ntext = \"three\"");
    session.says();
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 2 (line 4); step 3 (line 7)");
}

#[test]
fn a_step_that_answered_too_seldom_is_unused() {
    let mut session = Session::new("[[step]]\ntext = \"one\"\nrepeat = 3");
    session.says();
    session.says();
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 2) was to answer 3 times");
}

#[test]
fn a_repeating_step_that_was_left_early_is_unused_even_in_a_choice() {
    for guard in ["else = true", ""] {
        let steps = format!(
            "[[step]]\nwhen = {{ contains = \"yes\" }}\nrepeat = 2\ntext = \"a\"\n[[step]]\n{guard}\ntext = \"b\"\n[[step]]\ntext = \"c\""
        );
        let mut session = Session::new(&steps);
        session.show("find", "yes");
        assert_eq!(session.says(), "a");
        session.request.messages.pop();
        while session.next().is_ok() {}
        insta::allow_duplicates! {
            assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 2) was to answer 2 times");
        }
    }
}

#[test]
fn a_run_without_else_that_was_passed_over_whole_is_unused() {
    let steps = r#"
        [[step]]
        when = { contains = "yes" }
        [[step]]
        when = { contains = "no" }
        [[step]]
        text = "end"
    "#;
    let mut session = Session::new(steps);
    assert_eq!(session.says(), "end");
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 3); step 2 (line 5)");
}

#[test]
fn the_rest_of_a_run_at_the_end_is_unused_but_what_was_passed_over_before_a_used_step_is_not() {
    let steps = r#"
        [[step]]
        when = { contains = "a" }
        [[step]]
        when = { contains = "b" }
        [[step]]
        when = { contains = "c" }
    "#;
    let mut session = Session::new(steps);
    session.show("find", "b");
    session.next().unwrap();
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 3 (line 7)");
}

#[test]
fn a_forever_step_is_used_once_it_has_answered() {
    let mut session = Session::new("[[step]]\nrepeat = \"forever\"");
    assert_snapshot!(session.close(), @"SCRIPT_UNUSED: script:script.toml: the session ended before every step was used: step 1 (line 2)");
    session.says();
    assert_eq!(session.close(), "");
}

#[test]
fn a_conditional_forever_step_that_has_answered_ends_the_script() {
    let mut session =
        Session::new("[[step]]\nwhen = { contains = \"x\" }\nrepeat = \"forever\"\n[[step]]\ntext = \"later\"");
    session.show("find", "x");
    session.says();
    assert_eq!(session.close(), "");
}
