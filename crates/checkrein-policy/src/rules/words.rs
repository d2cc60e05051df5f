//! Command rules: `words`, whole words of a program's argument list.
//!
//! An *allow* covers exactly these leading words, and only the bare program name. An *ask* or *deny* is wider: it also
//! finds the program behind a path, and the words after it in any order and between other words, since
//! `git push origin --force` is the deed that `["git", "push", "--force"]` names.

use checkrein_contract::{Effect, EffectWord, Facts};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::shell;

pub(super) const KIND: Kind = Kind { effects: &[EffectWord::Run], keys: &["words"], build, example };

#[derive(Debug)]
struct Words {
    program: String,
    rest: Vec<String>,
    leaning: Leaning,
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
    Ok(Some(Box::new(Words { program: program.clone(), rest: rest.to_vec(), leaning: context.leaning })))
}

impl Matcher for Words {
    fn covers(&self, effect: &Effect, _facts: &Facts) -> Result<Cover, String> {
        let Effect::Run { program, argv, .. } = effect else { return Ok(Cover::None) };
        let arguments = argv.get(1..).unwrap_or_default();
        let hit = match self.leaning {
            Leaning::Loosens => *program == self.program && arguments.starts_with(&self.rest),
            Leaning::Tightens => {
                shell::base_name(program) == shell::base_name(&self.program)
                    && self.rest.iter().all(|word| arguments.contains(word))
            }
        };
        Ok(Cover::of([hit]))
    }
}

fn example(_context: &Context<'_>, example: &Value) -> Option<Effect> {
    let argv: Vec<String> = example.as_str()?.split_whitespace().map(str::to_owned).collect();
    Some(Effect::Run { program: argv.first()?.clone(), argv, modelled: false })
}
