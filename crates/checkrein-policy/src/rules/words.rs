//! Command rules: `words`, the leading words of a program's argument list.
//!
//! Of a program with a model the rule means the deed, in every spelling: `["rm", "-rf"]` finds `rm --recursive --force x`
//! and `rm -fr x`. The rule's words and the command's are brought into one form by the same model; then program and
//! subcommands must be the same, the rule's options must be among the command's, and its operands must come first (*allow*)
//! or be among them (*ask*, *deny*). With `exact` an *allow*
//! covers no further operand; an option that chooses what code runs, or where, it covers only if it names it. Of a program
//! without a model an *allow* covers exactly these leading words; an *ask*
//! or *deny* finds them in any order and between others.

use checkrein_contract::{Effect, EffectWord, Facts, Run};
use serde_json::Value;

use super::running::Running;
use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::commands::{self, Models};
use crate::shell;
use crate::shell::value::Field;

pub(super) const KIND: Kind = Kind {
    effects: &[EffectWord::Run],
    keys: &["words", "exact", "modelled", "read_only", "does", "informational", "env"],
    build,
    example,
};

#[derive(Debug)]
struct Words {
    program: String,
    rest: Vec<String>,
    /// The same in the form of the model.
    canonical: Option<Canonical>,
    running: Running,
    /// No operands but these.
    exact: bool,
    leaning: Leaning,
}

/// Words in the one form: `program sub ... --option ... -- operand ...`.
#[derive(Debug)]
struct Canonical {
    path: Vec<String>,
    options: Vec<String>,
    operands: Vec<String>,
}

impl Canonical {
    fn of(words: &[String]) -> Self {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (head, operands) = words.split_at(end);
        let is_option = |word: &&String| word.starts_with(['-', '+']);
        Self {
            path: head.iter().filter(|word| !is_option(word)).cloned().collect(),
            options: head.iter().filter(is_option).cloned().collect(),
            operands: operands.get(1..).unwrap_or_default().to_vec(),
        }
    }
}

/// The words of a program as its model reads them; `None` without a model, or where it can not read them.
fn canonical(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let fields: Vec<Field> = rest.iter().map(|word| Field::from(word.as_str())).collect();
    let reading = commands::read(Models::built_in(), shell::base_name(program), &fields)?;
    let whole = reading.unknown.is_empty() || reading.cut_short && reading.unknown.len() == 1;
    whole.then(|| reading.words())
}

fn build(context: &Context<'_>) -> Built {
    let Some(words) = &context.rule.words else { return Ok(None) };
    let at = words.span().start;
    let Some((program, rest)) = words.get_ref().split_first() else {
        return Err(context.source.error(at, "`words` is empty, so this rule can never match"));
    };
    for word in words.get_ref() {
        if word.is_empty() || word.contains(char::is_whitespace) {
            let message = format!("`words` holds `{word}`: each entry is one word, so this rule can never match");
            return Err(context.source.error(at, message));
        }
    }
    Ok(Some(Box::new(Words {
        program: program.clone(),
        rest: rest.to_vec(),
        canonical: canonical(words.get_ref()).map(|words| Canonical::of(&words)),
        running: Running::of(context)?,
        exact: context.rule.exact.as_ref().is_some_and(|exact| *exact.get_ref()),
        leaning: context.leaning,
    })))
}

impl Words {
    fn same_deed(&self, rule: &Canonical, run: &Run) -> bool {
        let command = Canonical::of(&run.words);
        if !command.path.get(1..).unwrap_or_default().starts_with(rule.path.get(1..).unwrap_or_default()) {
            return false;
        }
        let given = |wanted: &String| {
            let bare = !wanted.contains('=') && self.leaning == Leaning::Tightens;
            command.options.iter().any(|option| option == wanted || bare && option.split('=').next() == Some(wanted))
        };
        if self.leaning == Leaning::Loosens {
            let named = |option: &String| rule.options.iter().any(|wanted| wanted.split('=').next() == Some(option));
            if !run.steered_by.iter().all(named) {
                return false;
            }
            if self.exact && command.operands != rule.operands {
                return false;
            }
        }
        rule.options.iter().all(given)
            && match self.leaning {
                Leaning::Loosens => command.operands.starts_with(&rule.operands),
                Leaning::Tightens => rule.operands.iter().all(|word| command.operands.contains(word)),
            }
    }
}

impl Matcher for Words {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Effect::Run(run) = effect else { return Ok(Cover::None) };
        let same_program = match self.leaning {
            Leaning::Loosens => run.program == self.program,
            Leaning::Tightens => same(shell::base_name(&run.program), shell::base_name(&self.program), facts),
        };
        if !same_program || !self.running.fits(run) {
            return Ok(Cover::None);
        }
        let arguments = run.argv.get(1..).unwrap_or_default();
        let hit = match (&self.canonical, self.leaning) {
            (Some(rule), _) if !run.words.is_empty() => self.same_deed(rule, run),
            (_, Leaning::Loosens) if self.exact => arguments == self.rest,
            (_, Leaning::Loosens) => arguments.starts_with(&self.rest),
            (_, Leaning::Tightens) => self.rest.iter().all(|word| arguments.contains(word)),
        };
        Ok(Cover::of([hit]))
    }

    fn samples(&self) -> Vec<Effect> {
        let argv: Vec<String> = std::iter::once(&self.program).chain(&self.rest).cloned().collect();
        let words = canonical(&argv).unwrap_or_default();
        vec![Effect::Run(Run { program: self.program.clone(), argv, words, ..self.running.sample() })]
    }

    fn never(&self) -> Option<String> {
        let argv: Vec<String> = std::iter::once(&self.program).chain(&self.rest).cloned().collect();
        let fields: Vec<Field> = self.rest.iter().map(|word| Field::from(word.as_str())).collect();
        let models = Models::built_in();
        let reading = commands::read(models, shell::base_name(&self.program), &fields)?;
        if reading.tables.first().is_some_and(|table| table.neutral) {
            return Some(format!("`{}` only wraps another command, and it is that one which is judged", self.program));
        }
        let why = reading.unknown.first().filter(|_| !reading.cut_short)?;
        (self.leaning == Leaning::Loosens).then(|| format!("`{}` is not understood: {why}", argv.join(" ")))
    }
}

/// Whether two names mean one program, where case may not count.
fn same(one: &str, other: &str, facts: &Facts) -> bool {
    one == other || facts.folds_case() && one.to_lowercase() == other.to_lowercase()
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let argv: Vec<String> = example.as_str()?.split_whitespace().map(str::to_owned).collect();
    let words = canonical(&argv).unwrap_or_default();
    let modelled = !words.is_empty() || context.rule.modelled.is_some();
    Some(Effect::Run(Run { program: argv.first()?.clone(), argv, words, modelled, ..Run::default() }))
}
