//! Rules without a narrower key: every effect of their word. They may ask or deny, never allow.

use checkrein_contract::{Effect, EffectWord, Facts};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};

pub(super) const KIND: Kind = Kind {
    effects: &[
        EffectWord::Read,
        EffectWord::Write,
        EffectWord::Delete,
        EffectWord::Metadata,
        EffectWord::Run,
        EffectWord::Connect,
        EffectWord::Tool,
    ],
    keys: &[],
    build,
    example: |_, _: &Value| None,
};

#[derive(Debug)]
struct Anything(EffectWord);

fn build(context: &Context<'_>) -> Built {
    if context.leaning == Leaning::Loosens {
        let message = format!(
            "this rule would allow every `{}`: say which ({})",
            context.word.as_str(),
            match context.word {
                EffectWord::Run => "`words`, `program` or `modelled`",
                EffectWord::Tool => "`tool`, `server` or `where`",
                EffectWord::Connect => "`hosts`",
                _ => "`paths`",
            }
        );
        return Err(context.source.error(context.rule.effect.span().start, message));
    }
    Ok(Some(Box::new(Anything(context.word))))
}

impl Matcher for Anything {
    fn covers(&self, effect: &Effect, _facts: &Facts) -> Result<Cover, String> {
        Ok(Cover::of([effect.word() == self.0]))
    }

    fn samples(&self) -> Vec<Effect> {
        Vec::new()
    }
}
