//! `test` and `[`: what a condition looks at.

use super::super::places::Touch;
use super::super::value::Field;
use super::super::walk::Walker;

/// Tests of a path.
pub(super) const PATH_TESTS: &str = "abcdefghkprstuwxGLNOS";

/// What a condition looks at.
pub(in super::super) fn look(walker: &mut Walker<'_>, fields: &[Field]) {
    let mut rest = fields.iter().peekable();
    while let Some(field) = rest.next() {
        let Some(word) = field.text.as_known() else { continue };
        let Some(letter) = word.strip_prefix('-').filter(|letters| letters.len() == 1) else { continue };
        // Before another operator the word is compared, not looked up: `[ -f = x ]`.
        let Some(operand) = rest.peek() else { continue };
        if letter == "v" || letter == "R" {
            let known = operand.text.as_known().is_some_and(super::super::simple::is_name);
            if !known {
                walker.unknown(format!("`test -{letter}` evaluates the subscript in `{}`", operand.text.shown()));
            }
        } else if PATH_TESTS.contains(letter) {
            walker.touch(Touch::List, &operand.text);
        }
    }
}
