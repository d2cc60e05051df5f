//! Tool rules: `tool`, `server` and conditions on arguments (`where.amount = { max = 50 }`).
//!
//! An *allow* names its tool exactly. In an *ask* or *deny* a `*` is any run of letters, and case does not count.

use checkrein_contract::{Effect, EffectWord, Facts};
use checkrein_toml::FileError;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::condition::Condition;

pub(super) const KIND: Kind = Kind { effects: &[EffectWord::Tool], keys: &["tool", "server", "where"], build, example };

#[derive(Debug)]
enum Name {
    Exactly(String),
    Like(GlobMatcher),
}

impl Name {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Exactly(wanted) => wanted == name,
            Self::Like(glob) => glob.is_match(name),
        }
    }
}

#[derive(Debug)]
struct Tool {
    tool: Option<Name>,
    server: Option<Name>,
    conditions: Vec<(String, Condition)>,
    leaning: Leaning,
}

fn build(context: &Context<'_>) -> Built {
    let rule = context.rule;
    if rule.tool.is_none() && rule.server.is_none() && rule.conditions.is_empty() {
        return Ok(None);
    }
    let name = |text: &checkrein_toml::Spanned<String>| -> Result<Name, FileError> {
        let wanted = text.get_ref();
        if wanted.is_empty() {
            return Err(context.source.error(text.span().start, "an empty name, so this rule can never match"));
        }
        match context.leaning {
            Leaning::Loosens if wanted.contains('*') => {
                Err(context.source.error(text.span().start, "an allow rule names its tool exactly, without `*`"))
            }
            Leaning::Loosens => Ok(Name::Exactly(wanted.clone())),
            Leaning::Tightens => GlobBuilder::new(wanted)
                .case_insensitive(true)
                .build()
                .map(|glob| Name::Like(glob.compile_matcher()))
                .map_err(|e| context.source.error(text.span().start, format!("`{wanted}`: {}", e.kind()))),
        }
    };
    let mut conditions = Vec::new();
    for (argument, condition) in &rule.conditions {
        let at = condition.span().start;
        let built = Condition::build(condition.get_ref(), context.variables)
            .map_err(|message| context.source.error(at, format!("`where.{argument}`: {message}")))?;
        conditions.push((argument.clone(), built));
    }
    Ok(Some(Box::new(Tool {
        tool: rule.tool.as_ref().map(name).transpose()?,
        server: rule.server.as_ref().map(name).transpose()?,
        conditions,
        leaning: context.leaning,
    })))
}

impl Matcher for Tool {
    fn covers(&self, effect: &Effect, _facts: &Facts) -> Result<Cover, String> {
        let Effect::Tool { tool, server, args } = effect else { return Ok(Cover::None) };
        if self.tool.as_ref().is_some_and(|wanted| !wanted.is(tool)) {
            return Ok(Cover::None);
        }
        let same_server = match (&self.server, server) {
            (None, None) => true,
            (Some(wanted), Some(server)) => wanted.is(server),
            // A rule without `server` speaks of the host's own tools only: names on servers prove nothing.
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !same_server {
            return Ok(Cover::None);
        }
        for (argument, condition) in &self.conditions {
            let failed = |why| format!("`where.{argument}`: {why}");
            let plain = argument.trim_end_matches('?');
            if !plain.contains('.') {
                if !condition.holds(args.get(plain)).map_err(failed)? {
                    return Ok(Cover::None);
                }
                continue;
            }
            // `ops.*.op`: each of them.
            let mut values = Vec::new();
            crate::manifest::collect(plain, args, &mut values);
            if values.is_empty() && !argument.ends_with('?') {
                return Ok(Cover::None);
            }
            // An *allow* speaks of calls in which it is so everywhere, an *ask* or *deny* of those in which it is so anywhere.
            let mut held = 0;
            for value in &values {
                held += usize::from(condition.holds(Some(value)).map_err(failed)?);
            }
            let holds = match self.leaning {
                Leaning::Loosens => held == values.len(),
                Leaning::Tightens => held > 0 || values.is_empty(),
            };
            if !holds {
                return Ok(Cover::None);
            }
        }
        Ok(Cover::All)
    }

    fn samples(&self) -> Vec<Effect> {
        // Conditions narrow it; what it says of the rest is another rule's business.
        let name = |name: &Name| match name {
            Name::Exactly(name) => Some(name.clone()),
            Name::Like(_) => None,
        };
        let tool = self.tool.as_ref().and_then(name);
        match (tool, self.conditions.is_empty()) {
            (Some(tool), true) => {
                let server = self.server.as_ref().and_then(name);
                vec![Effect::Tool { tool, server, args: Value::Object(serde_json::Map::new()) }]
            }
            _ => Vec::new(),
        }
    }
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let mut args = example.as_object()?.clone();
    for value in args.values_mut() {
        if let Value::String(text) = value {
            *text = context.variables.fill(text, str::to_owned).ok()?;
        }
    }
    Some(Effect::Tool {
        tool: context.rule.tool.as_ref().map_or_else(|| "any".to_owned(), |t| t.get_ref().clone()),
        server: context.rule.server.as_ref().map(|s| s.get_ref().clone()),
        args: Value::Object(args),
    })
}
