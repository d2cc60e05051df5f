//! Program rules: `program`, one name or several, and `modelled`. A `*` in a name is any run of letters; *ask* and *deny*
//! also find the program behind a path.

use checkrein_contract::{Effect, EffectWord, Facts};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::shell;

pub(super) const KIND: Kind = Kind { effects: &[EffectWord::Run], keys: &["program", "modelled"], build, example };

#[derive(Debug)]
struct Program {
    names: Option<GlobSet>,
    modelled: Option<bool>,
    leaning: Leaning,
}

fn build(context: &Context<'_>) -> Built {
    let modelled = context.rule.modelled.as_ref().map(|m| *m.get_ref());
    let names = match &context.rule.program {
        None if modelled.is_none() => return Ok(None),
        None => None,
        Some(program) => {
            let at = program.span().start;
            let mut set = GlobSetBuilder::new();
            for name in program.get_ref().as_slice() {
                if name.is_empty() || name.contains(char::is_whitespace) {
                    let message =
                        format!("`program` holds `{name}`, which is no program's name; `words` takes arguments");
                    return Err(context.source.error(at, message));
                }
                set.add(Glob::new(name).map_err(|e| context.source.error(at, format!("`{name}`: {}", e.kind())))?);
            }
            Some(set.build().map_err(|e| context.source.error(at, e.to_string()))?)
        }
    };
    Ok(Some(Box::new(Program { names, modelled, leaning: context.leaning })))
}

impl Matcher for Program {
    fn covers(&self, effect: &Effect, _facts: &Facts) -> Result<Cover, String> {
        let Effect::Run { program, modelled, .. } = effect else { return Ok(Cover::None) };
        let named = match (&self.names, self.leaning) {
            (None, _) => true,
            (Some(names), Leaning::Loosens) => names.is_match(program),
            (Some(names), Leaning::Tightens) => names.is_match(program) || names.is_match(shell::base_name(program)),
        };
        Ok(Cover::of([named && self.modelled.is_none_or(|wanted| wanted == *modelled)]))
    }
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let argv: Vec<String> = example.as_str()?.split_whitespace().map(str::to_owned).collect();
    let modelled = context.rule.modelled.as_ref().is_some_and(|m| *m.get_ref());
    Some(Effect::Run { program: argv.first()?.clone(), argv, modelled })
}
