//! Path rules: `paths` and `except`, matched against the written and the real name of an effect's path.

use checkrein_contract::{Effect, EffectWord, Facts};
use checkrein_toml::FileError;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Matcher};
use crate::paths;

pub(super) const KIND: Kind = Kind {
    effects: &[EffectWord::Read, EffectWord::Write, EffectWord::Delete, EffectWord::Metadata],
    keys: &["paths", "except"],
    build,
    example,
};

#[derive(Debug)]
struct Paths {
    paths: GlobSet,
    except: GlobSet,
    /// A name without a value, when the rule uses one: it can not be evaluated.
    broken: Option<String>,
}

fn build(context: &Context<'_>) -> Built {
    let Some(wanted) = &context.rule.paths else {
        if let Some(except) = &context.rule.except {
            return Err(context.source.error(except.span().start, "`except` without `paths` takes nothing away"));
        }
        return Ok(None);
    };
    if wanted.get_ref().is_empty() {
        return Err(context.source.error(wanted.span().start, "`paths` is empty, so this rule can never match"));
    }
    let reads = context.word == EffectWord::Read;
    let mut broken = None;
    let set = |patterns: &[String], at: usize, broken: &mut Option<String>| -> Result<GlobSet, FileError> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            let filled = match context.variables.fill(pattern, globset::escape) {
                Ok(filled) => filled,
                Err(name) => {
                    *broken = Some(name);
                    continue;
                }
            };
            if !filled.starts_with('/') && !filled.starts_with("**/") {
                let message = format!("`{pattern}` must begin with `/`, `**/`, `{{root}}` or `{{home}}`");
                return Err(context.source.error(at, message));
            }
            let mut add = |text: &str| -> Result<(), FileError> {
                let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
                builder.add(
                    glob.map_err(|e| context.source.error(at, format!("`{pattern}` is no pattern: {}", e.kind())))?,
                );
                Ok(())
            };
            add(&filled)?;
            // Listing a folder is part of reading what is in it.
            if let (true, Some(folder)) = (reads, filled.strip_suffix("/**")) {
                add(if folder.is_empty() { "/" } else { folder })?;
            }
        }
        builder.build().map_err(|e| context.source.error(at, format!("these patterns can not be used together: {e}")))
    };
    let paths = set(wanted.get_ref(), wanted.span().start, &mut broken)?;
    let except = match &context.rule.except {
        Some(except) => set(except.get_ref(), except.span().start, &mut broken)?,
        None => GlobSet::empty(),
    };
    Ok(Some(Box::new(Paths { paths, except, broken })))
}

impl Matcher for Paths {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Some(written) = effect.path() else { return Ok(Cover::None) };
        if let Some(name) = &self.broken {
            return Err(format!("`{{{name}}}` has no value here"));
        }
        let hit = |path: &str| self.paths.is_match(path) && !self.except.is_match(path);
        let real = facts.real_path(written).filter(|real| *real != written);
        Ok(Cover::of(std::iter::once(written).chain(real).map(hit)))
    }
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let written = context.variables.fill(example.as_str()?, str::to_owned).ok()?;
    let root = context.variables.fill("{root}", str::to_owned).ok()?;
    let place = checkrein_contract::Place { cwd: root.clone(), root, home: String::new() };
    let path = paths::absolute(&written, &place);
    Some(match context.word {
        EffectWord::Read => Effect::Read { path },
        EffectWord::Write => Effect::Write { path },
        EffectWord::Delete => Effect::Delete { path, recursive: false },
        EffectWord::Metadata => Effect::Metadata { path },
        EffectWord::Run | EffectWord::Connect | EffectWord::Tool | EffectWord::Unknown => return None,
    })
}
