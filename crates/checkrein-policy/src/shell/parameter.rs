//! The values of `$x`, `${x...}`, `$(...)` and `$((...))`.

use checkrein_shell::{Arithmetic, Operation, Parameter, Part, Word};

use super::expand::shown_part;
use super::flow::Flow;
use super::state::Variable;
use super::value::Text;
use super::walk::Walker;

impl Walker<'_> {
    /// The value of `$x`, `$(...)`, `$((...))`.
    pub(super) fn expansion(&mut self, part: &Part) -> Variable {
        match part {
            Part::Parameter(parameter) => self.parameter(parameter),
            Part::Command(script) => {
                let output = std::mem::replace(&mut self.output, Flow::Nothing);
                let stdin = self.stdin.clone();
                self.subshell(script);
                self.stdin = stdin;
                let wrote = std::mem::replace(&mut self.output, output);
                Variable::one(match wrote {
                    Flow::Known(text) => Text::likely(text.trim_end_matches('\n').to_owned()),
                    other => other.as_text("$(...)"),
                })
            }
            Part::Arithmetic(expression) => {
                self.arithmetic(expression);
                Variable::one(Text::number())
            }
            Part::Bare(text) | Part::Quoted(text) => Variable::one(Text::known(text.clone())),
            Part::Double(_) | Part::Process { .. } => Variable::unknown(),
        }
    }

    fn parameter(&mut self, parameter: &Parameter) -> Variable {
        let name = parameter.name.as_str();
        if let Some(subscript) = &parameter.subscript {
            self.subscript(subscript);
        }
        if parameter.indirect && parameter.operation != Operation::Names {
            self.unknown(format!("`${{!{name}}}` is a variable whose name is not known before it runs"));
        }
        let value = self.variable(name);
        match &parameter.operation {
            Operation::Plain if !parameter.indirect => value,
            Operation::Plain => Variable::unknown(),
            Operation::Length => Variable::one(Text::number()),
            Operation::Names => Variable::unknown(),
            Operation::Default(word) | Operation::Assign(word) => {
                let other = self.single(word);
                if matches!(parameter.operation, Operation::Assign(_)) {
                    self.assign(name, Variable::unknown());
                }
                // Which of the two it is depends on a value that nobody knows, unless the script set it.
                if self.is_set(name) { value } else { Variable { values: vec![other], list: true } }
            }
            Operation::Alternative(word) => {
                let other = self.single(word);
                if self.is_set(name) { Variable::one(other) } else { Variable { values: vec![other], list: true } }
            }
            Operation::Require(word) => {
                _ = self.single(word);
                value
            }
            Operation::Trim(word) | Operation::Case(word) => {
                _ = self.single(word);
                Variable::one(Text::any(format!("${{{name}...}}")))
            }
            Operation::Replace(from, to) => {
                _ = self.single(from);
                _ = self.single(to);
                Variable::one(Text::any(format!("${{{name}/...}}")))
            }
            Operation::Slice(from, length) => {
                self.arithmetic(from);
                if let Some(length) = length {
                    self.arithmetic(length);
                }
                Variable::one(Text::any(format!("${{{name}:...}}")))
            }
            Operation::Transform(letter) => {
                if matches!(letter, 'P' | 'E') {
                    self.unknown(format!("`${{{name}@{letter}}}` runs what the variable holds"));
                }
                Variable::one(Text::any(format!("${{{name}@{letter}}}")))
            }
        }
    }

    /// `[...]` behind a name is evaluated as arithmetic, unless it is `@` or `*`.
    pub(super) fn subscript(&mut self, word: &Word) {
        if let [Part::Bare(text)] = word.parts.as_slice()
            && matches!(text.as_str(), "@" | "*")
        {
            return;
        }
        let text = self.single(word);
        if !text.is_known() {
            self.unknown(format!("the subscript `{}` is evaluated, and not known before it runs", text.shown()));
        }
    }

    /// Bash evaluates the values of the names in an expression as expressions again.
    pub(super) fn arithmetic(&mut self, expression: &Arithmetic) {
        for part in &expression.parts {
            match part {
                Part::Bare(_) | Part::Quoted(_) => {}
                Part::Double(parts) => {
                    for part in parts {
                        _ = self.expansion(part);
                    }
                }
                other => {
                    let value = self.expansion(other);
                    if !is_number(&value) {
                        self.unknown(format!("`{}` is evaluated as an expression", shown_part(other)));
                    }
                }
            }
        }
        for name in &expression.reads {
            if !is_number(&self.variable(name)) {
                self.unknown(format!("the value of `{name}` is evaluated as an expression"));
            }
        }
        for name in &expression.sets {
            self.assign(name, Variable::one(Text::number()));
        }
    }
}

/// Whether a variable can hold nothing but a number.
fn is_number(variable: &Variable) -> bool {
    let number =
        |text: &Text| *text == Text::number() || text.as_known().is_some_and(|text| text.parse::<i64>().is_ok());
    !variable.list && !variable.values.is_empty() && variable.values.iter().all(number)
}
