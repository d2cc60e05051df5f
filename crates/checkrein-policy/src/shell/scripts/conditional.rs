//! `[[ ... ]]`: what it looks at, and what it evaluates.

use checkrein_shell::Test;

use super::super::places::Touch;
use super::super::value::Text;
use super::super::walk::Walker;

impl Walker<'_> {
    pub(in super::super) fn conditional(&mut self, test: &Test) {
        match test {
            Test::Word(word) => {
                _ = self.single(word);
            }
            Test::Unary(operator, word) => {
                let text = self.single(word);
                let letter = operator.trim_start_matches('-');
                if letter == "v" || letter == "R" {
                    if !text.as_known().is_some_and(super::super::simple::is_name) {
                        self.unknown(format!("`[[ -{letter} ]]` evaluates the subscript in `{}`", text.shown()));
                    }
                } else if super::test::PATH_TESTS.contains(letter) {
                    self.touch(Touch::List, &text);
                }
            }
            Test::Binary(left, operator, right) => {
                let (left, right) = (self.single(left), self.single(right));
                if matches!(operator.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                    for text in [left, right] {
                        let number =
                            text == Text::number() || text.as_known().is_some_and(|text| text.parse::<i64>().is_ok());
                        if !number {
                            self.unknown(format!("`{}` is evaluated as an expression", text.shown()));
                        }
                    }
                }
            }
            Test::Not(test) => self.conditional(test),
            Test::And(left, right) | Test::Or(left, right) => {
                self.conditional(left);
                self.conditional(right);
            }
        }
    }
}
