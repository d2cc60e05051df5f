//! What a tree says would run: the commands in it, and the files that redirections name.

use checkrein_shell::{
    Arithmetic, Assignment, Command, Kind, Operation, Parameter, Part, Redirect, Script, Target, Test, Value, Word,
    expand_braces, parse,
};

/// Everything that was found in a tree.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The words of each command, `None` for one that is not literal.
    pub(crate) commands: Vec<Vec<Option<String>>>,
    /// There is a command whose name is not literal.
    pub(crate) dynamic: bool,
    /// The targets of redirections that can create a file.
    pub(crate) targets: Vec<Option<String>>,
}

impl Found {
    /// All there is in a tree.
    pub(crate) fn of(script: &Script) -> Found {
        let mut found = Found::default();
        found.script(script);
        found
    }

    /// The literal names of commands.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().filter_map(|words| words.first()?.as_deref())
    }

    fn script(&mut self, script: &Script) {
        for statement in &script.statements {
            for pipeline in std::iter::once(&statement.first).chain(statement.rest.iter().map(|(_, next)| next)) {
                pipeline.stages.iter().for_each(|command| self.command(command));
            }
        }
    }

    fn command(&mut self, command: &Command) {
        command.redirects.iter().for_each(|redirect| self.redirect(redirect));
        match &command.kind {
            Kind::Simple(simple) => {
                simple.assignments.iter().chain(&simple.arrays).for_each(|assignment| self.assignment(assignment));
                self.words(&simple.words);
                self.simple(&simple.words);
            }
            Kind::Group(script) | Kind::Subshell(script) => self.script(script),
            Kind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                otherwise.iter().for_each(|script| self.script(script));
            }
            Kind::While { condition, body, .. } => {
                self.script(condition);
                self.script(body);
            }
            Kind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.script(body);
            }
            Kind::Count { head, body } => {
                head.iter().for_each(|part| self.arithmetic(part));
                self.script(body);
            }
            Kind::Case { word, arms } => {
                self.word(word);
                for arm in arms {
                    self.words(&arm.patterns);
                    self.script(&arm.body);
                }
            }
            Kind::Arithmetic(expression) => self.arithmetic(expression),
            Kind::Test(test) => self.test(test),
            Kind::Function { body, .. } | Kind::Coprocess(body) => self.command(body),
        }
    }

    /// A simple command. Braces in its words are expanded; a first word that vanishes makes the next one the name.
    fn simple(&mut self, words: &[Word]) {
        let expanded: Vec<Word> = words
            .iter()
            .flat_map(|word| expand_braces(word, 1000).unwrap_or_else(|| vec![word.clone()]))
            .filter(|word| !word.parts.is_empty())
            .collect();
        let texts: Vec<Option<String>> = expanded.iter().map(literal).collect();
        if let Some(first) = texts.first() {
            self.dynamic |= first.is_none();
            if first.as_deref() == Some("eval") {
                self.eval(texts.get(1..).unwrap_or_default());
            }
            self.commands.push(texts);
        }
    }

    /// `eval` reads its arguments as a script. One that can not be read may run in parts.
    fn eval(&mut self, arguments: &[Option<String>]) {
        let text: Option<Vec<&str>> = arguments.iter().map(Option::as_deref).collect();
        match text.map(|words| parse(&words.join(" "))) {
            Some(Ok(script)) => self.script(&script),
            _ => {
                self.dynamic = true;
                self.targets.push(None);
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        assignment.subscript.iter().for_each(|word| self.word(word));
        match &assignment.value {
            Value::Word(word) => self.word(word),
            Value::Array(elements) => {
                for (subscript, word) in elements {
                    subscript.iter().for_each(|word| self.word(word));
                    self.word(word);
                }
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        match &redirect.to {
            Target::Read(word) | Target::Here(word) | Target::HereString(word) | Target::Duplicate { word, .. } => {
                self.word(word);
            }
            Target::Write(word)
            | Target::Append(word)
            | Target::ReadWrite(word)
            | Target::WriteBoth(word)
            | Target::AppendBoth(word) => {
                self.word(word);
                self.targets.push(literal(word));
            }
        }
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::Word(word) | Test::Unary(_, word) => self.word(word),
            Test::Binary(left, _, right) => {
                self.word(left);
                self.word(right);
            }
            Test::Not(inner) => self.test(inner),
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
        }
    }

    fn words(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.word(word));
    }

    fn word(&mut self, word: &Word) {
        word.parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Bare(_) | Part::Quoted(_) => {}
            Part::Double(inside) => inside.iter().for_each(|part| self.part(part)),
            Part::Parameter(parameter) => self.parameter(parameter),
            Part::Command(script) | Part::Process { script, .. } => self.script(script),
            Part::Arithmetic(expression) => self.arithmetic(expression),
        }
    }

    fn arithmetic(&mut self, expression: &Arithmetic) {
        expression.parts.iter().for_each(|part| self.part(part));
    }

    fn parameter(&mut self, parameter: &Parameter) {
        parameter.subscript.iter().for_each(|word| self.word(word));
        match &parameter.operation {
            Operation::Plain | Operation::Length | Operation::Transform(_) | Operation::Names => {}
            Operation::Default(word)
            | Operation::Assign(word)
            | Operation::Require(word)
            | Operation::Alternative(word)
            | Operation::Trim(word)
            | Operation::Case(word) => self.word(word),
            Operation::Replace(pattern, replacement) => {
                self.word(pattern);
                self.word(replacement);
            }
            Operation::Slice(offset, extent) => {
                self.arithmetic(offset);
                extent.iter().for_each(|extent| self.arithmetic(extent));
            }
        }
    }
}

/// The text of a word that no expansion changes, but for patterns: they stay as they are where nothing matches.
pub(crate) fn literal(word: &Word) -> Option<String> {
    // Bash expands a tilde in front, and behind `=` in any word that looks like an assignment.
    let tilde = word.parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('~')));
    let mut text = String::new();
    let known = !tilde && word.parts.iter().all(|part| push(part, &mut text));
    known.then_some(text)
}

/// Adds the text of a part, if it has one.
pub(crate) fn push(part: &Part, text: &mut String) -> bool {
    match part {
        Part::Bare(plain) | Part::Quoted(plain) => text.push_str(plain),
        Part::Double(inside) => return inside.iter().all(|part| push(part, text)),
        _ => return false,
    }
    true
}
