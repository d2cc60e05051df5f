//! What the compiler refuses: forging, cloning, storing or re-using the token.

/// Shows R7, R34, R102: a call that was judged does not change, nothing but `admit` makes an `Approved`, and one yes is one run.
#[test]
fn the_token_can_not_be_forged_cloned_or_used_twice() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
