//! Program rules: `program`, one name or several. A `*` in a name is any run of letters; *ask* and *deny* also find the
//! program behind a path.

use std::sync::OnceLock;

use checkrein_contract::{Effect, EffectWord, Facts, Run};
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::running::Running;
use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::shell;

pub(super) const KIND: Kind = Kind {
    effects: &[EffectWord::Run],
    keys: &["program", "modelled", "read_only", "does", "informational", "env"],
    build,
    example,
};

#[derive(Debug)]
struct Program {
    /// The names as written; none where any program is meant.
    written: Vec<String>,
    /// Patterns among them, where case counts and where it does not, each built when it is first asked.
    exact: OnceLock<GlobSet>,
    folding: OnceLock<GlobSet>,
    running: Running,
    leaning: Leaning,
}

fn glob(name: &str, folds: bool) -> Result<Glob, globset::Error> {
    GlobBuilder::new(name).literal_separator(true).case_insensitive(folds).build()
}

/// Anything but a plain name.
fn is_pattern(name: &str) -> bool {
    name != "[" && name.contains(['*', '?', '[', '{', '\\'])
}

fn build(context: &Context<'_>) -> Built {
    // `words` names the program itself; both together are two rules, and told so.
    if context.rule.words.is_some() && context.rule.program.is_none() {
        return Ok(None);
    }
    let running = Running::of(context)?;
    let written = match &context.rule.program {
        None if !running.narrows() => return Ok(None),
        None => Vec::new(),
        Some(program) => {
            let at = program.span().start;
            for name in program.get_ref().as_slice() {
                if name.is_empty() || name.contains(char::is_whitespace) {
                    let message =
                        format!("`program` holds `{name}`, which is no program's name; `words` takes arguments");
                    return Err(context.source.error(at, message));
                }
                if is_pattern(name)
                    && let Err(error) = glob(name, false)
                {
                    return Err(context.source.error(at, format!("`{name}`: {}", error.kind())));
                }
            }
            program.get_ref().as_slice().to_vec()
        }
    };
    let (exact, folding) = (OnceLock::new(), OnceLock::new());
    Ok(Some(Box::new(Program { written, exact, folding, running, leaning: context.leaning })))
}

impl Program {
    fn is_named(&self, program: &str, folds: bool) -> bool {
        let same = |name: &String| name == program || folds && name.to_lowercase() == program.to_lowercase();
        if self.written.iter().any(same) {
            return true;
        }
        let built = if folds { &self.folding } else { &self.exact };
        let patterns = built.get_or_init(|| {
            let mut set = GlobSetBuilder::new();
            // Each was built once already, so it builds again.
            for pattern in self.written.iter().filter(|name| is_pattern(name)) {
                if let Ok(glob) = glob(pattern, folds) {
                    set.add(glob);
                }
            }
            set.build().unwrap_or_default()
        });
        patterns.is_match(program)
    }
}

impl Matcher for Program {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Effect::Run(run) = effect else { return Ok(Cover::None) };
        let program = run.program.as_str();
        let named = match self.leaning {
            _ if self.written.is_empty() => true,
            Leaning::Loosens => self.is_named(program, false),
            Leaning::Tightens => {
                let folds = facts.folds_case();
                self.is_named(program, folds) || self.is_named(shell::base_name(program), folds)
            }
        };
        Ok(Cover::of([named && self.running.fits(run)]))
    }

    fn samples(&self) -> Vec<Effect> {
        let plain = self.written.iter().filter(|name| !name.contains('*'));
        let run = |name: &String| Run { program: name.clone(), argv: vec![name.clone()], ..self.running.sample() };
        plain.map(|name| Effect::Run(run(name))).collect()
    }

    fn never(&self) -> Option<String> {
        let models = crate::Models::built_in();
        let wrapper = |name: &&String| models.table(name).is_some_and(|table| table.neutral);
        if let Some(name) = self.written.iter().find(wrapper) {
            return Some(format!("`{name}` only wraps another command, and it is that one which is judged"));
        }
        let placed = self.written.iter().find(|name| self.leaning == Leaning::Loosens && name.contains('/'));
        placed
            .map(|name| format!("`{name}`: an allow rule names a program as the search path finds it, without folders"))
    }
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let argv: Vec<String> = example.as_str()?.split_whitespace().map(str::to_owned).collect();
    let modelled = context.rule.modelled.as_ref().is_some_and(|m| *m.get_ref())
        || context.rule.read_only.as_ref().is_some_and(|m| *m.get_ref());
    let informational = context.rule.informational.is_some();
    Some(Effect::Run(Run { program: argv.first()?.clone(), argv, modelled, informational, ..Run::default() }))
}
