//! Program rules: `program`, one name or several. A `*` in a name is any run of letters; *ask* and *deny* also find the
//! program behind a path.

use checkrein_contract::{Effect, EffectWord, Facts, Run};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
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
    /// Where case counts, and where it does not.
    names: Option<(GlobSet, GlobSet)>,
    written: Vec<String>,
    running: Running,
    leaning: Leaning,
}

fn build(context: &Context<'_>) -> Built {
    if context.rule.words.is_some() {
        return Ok(None);
    }
    let running = Running::of(context)?;
    let names = match &context.rule.program {
        None if !running.narrows() => return Ok(None),
        None => None,
        Some(program) => {
            let at = program.span().start;
            let (mut set, mut folding) = (GlobSetBuilder::new(), GlobSetBuilder::new());
            for name in program.get_ref().as_slice() {
                if name.is_empty() || name.contains(char::is_whitespace) {
                    let message =
                        format!("`program` holds `{name}`, which is no program's name; `words` takes arguments");
                    return Err(context.source.error(at, message));
                }
                // `[` is a program as well.
                let pattern = if name == "[" { "\\[" } else { name };
                for (set, folds) in [(&mut set, false), (&mut folding, true)] {
                    let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(folds).build();
                    set.add(glob.map_err(|e| context.source.error(at, format!("`{name}`: {}", e.kind())))?);
                }
            }
            let built = |set: GlobSetBuilder| set.build().map_err(|e| context.source.error(at, e.to_string()));
            Some((built(set)?, built(folding)?))
        }
    };
    let written =
        context.rule.program.as_ref().map(|program| program.get_ref().as_slice().to_vec()).unwrap_or_default();
    Ok(Some(Box::new(Program { names, written, running, leaning: context.leaning })))
}

impl Matcher for Program {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Effect::Run(run) = effect else { return Ok(Cover::None) };
        let program = run.program.as_str();
        let named = match (&self.names, self.leaning) {
            (None, _) => true,
            (Some((names, _)), Leaning::Loosens) => names.is_match(program),
            (Some((exact, folding)), Leaning::Tightens) => {
                let names = if facts.folds_case() { folding } else { exact };
                names.is_match(program) || names.is_match(shell::base_name(program))
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
