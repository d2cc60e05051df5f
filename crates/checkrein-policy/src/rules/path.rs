//! Path rules: `paths`, `except` and `content`, matched against the written and the real name of an effect's path.

use std::sync::OnceLock;

use checkrein_contract::{Effect, EffectWord, Facts, Tree};
use checkrein_toml::FileError;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::{paths, patterns};

pub(super) const KIND: Kind = Kind {
    effects: &[EffectWord::Read, EffectWord::Write, EffectWord::Delete, EffectWord::Metadata],
    keys: &["paths", "except", "content"],
    build,
    example,
};

#[derive(Debug)]
struct Paths {
    paths: Patterns,
    except: Patterns,
    /// Looking at names and sizes is no business of this rule.
    content: bool,
    leaning: Leaning,
    word: EffectWord,
    /// The project, as written.
    root: String,
    /// A name without a value, when the rule uses one: it can not be evaluated.
    broken: Option<String>,
}

/// Patterns, ready for names in which case counts, and, once they are met, for names in which it does not.
#[derive(Debug, Default)]
struct Patterns {
    texts: Vec<String>,
    /// Each built when it is first asked: most rules of a policy are about something else than the call at hand.
    exact: OnceLock<GlobSet>,
    folding: OnceLock<GlobSet>,
    /// Those that match whatever the shell's `*` may stand for; the same two.
    wide_exact: OnceLock<GlobSet>,
    wide_folding: OnceLock<GlobSet>,
}

impl Patterns {
    fn is_match(&self, path: &str, folds: bool) -> bool {
        let built = if folds { &self.folding } else { &self.exact };
        built.get_or_init(|| set(&self.texts, folds)).is_match(path)
    }

    /// Whether they match everything that a pattern of the shell may stand for, of which `path` is an ordinary example:
    /// `?` and `[..]` in a rule match less than the shell's `*` may.
    fn is_match_wide(&self, path: &str, folds: bool) -> bool {
        let built = if folds { &self.wide_folding } else { &self.wide_exact };
        built.get_or_init(|| set(self.texts.iter().filter(|text| !text.contains(['?', '['])), folds)).is_match(path)
    }

    fn overlaps(&self, pattern: &str) -> bool {
        self.texts.iter().any(|text| patterns::overlap(pattern, text))
    }
}

/// Each pattern was built once already, when its rule was loaded, so they build again; nothing matches otherwise.
fn set<'t>(texts: impl IntoIterator<Item = &'t String>, folds: bool) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for text in texts {
        match GlobBuilder::new(text).literal_separator(true).backslash_escape(true).case_insensitive(folds).build() {
            Ok(glob) => _ = builder.add(glob),
            Err(_) => return GlobSet::empty(),
        }
    }
    builder.build().unwrap_or_default()
}

fn build(context: &Context<'_>) -> Built {
    let Some(wanted) = &context.rule.paths else {
        for (key, at) in [
            ("except", context.rule.except.as_ref().map(|except| except.span().start)),
            ("content", context.rule.content.as_ref().map(|content| content.span().start)),
        ] {
            if let Some(at) = at {
                return Err(context.source.error(at, format!("`{key}` without `paths` says nothing")));
            }
        }
        return Ok(None);
    };
    if wanted.get_ref().is_empty() {
        return Err(context.source.error(wanted.span().start, "`paths` is empty, so this rule can never match"));
    }
    if let Some(content) = &context.rule.content
        && (context.word != EffectWord::Read || context.leaning == Leaning::Loosens)
    {
        let message = "`content` narrows rules that ask about or deny reading";
        return Err(context.source.error(content.span().start, message));
    }
    let mut broken = None;
    let paths = patterns_of(context, wanted.get_ref(), wanted.span().start, &mut broken)?;
    let except = match &context.rule.except {
        Some(except) => patterns_of(context, except.get_ref(), except.span().start, &mut broken)?,
        None => Patterns::default(),
    };
    Ok(Some(Box::new(Paths {
        paths,
        except,
        content: context.rule.content.as_ref().is_some_and(|content| *content.get_ref()),
        leaning: context.leaning,
        word: context.word,
        root: context.variables.fill("{root}", str::to_owned).unwrap_or_default(),
        broken,
    })))
}

fn patterns_of(
    context: &Context<'_>,
    written: &[String],
    at: usize,
    broken: &mut Option<String>,
) -> Result<Patterns, FileError> {
    let mut texts = Vec::new();
    for pattern in written {
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
        if let Err(error) = GlobBuilder::new(&filled).literal_separator(true).backslash_escape(true).build() {
            return Err(context.source.error(at, format!("`{pattern}` is no pattern: {}", error.kind())));
        }
        // Listing a folder is part of reading what is in it.
        let folder = filled.strip_suffix("/**").map(|folder| if folder.is_empty() { "/" } else { folder }.to_owned());
        texts.push(filled);
        texts.extend(folder.filter(|_| context.word == EffectWord::Read));
    }
    Ok(Patterns { texts, ..Patterns::default() })
}

impl Paths {
    fn hit(&self, path: &str, folds: bool) -> bool {
        self.paths.is_match(path, folds) && !self.except.is_match(path, folds)
    }

    /// A real path under the name that the project has for its people.
    fn in_project<'p>(&self, real: &'p str, facts: &Facts) -> std::borrow::Cow<'p, str> {
        match facts.real_path(&self.root) {
            Some(real_root) if real_root != self.root && paths::is_within(real, real_root) => {
                let rest = real.get(real_root.len()..).unwrap_or_default();
                format!("{}{rest}", self.root).into()
            }
            _ => real.into(),
        }
    }

    /// One place, under its own name and under the one it has as a part of the project.
    fn place(&self, path: &str, facts: &Facts, folds: bool) -> bool {
        let names = [path.into(), self.in_project(path, facts)];
        names.iter().any(|name| self.paths.is_match(name, folds))
            && !names.iter().any(|name| self.except.is_match(name, folds))
    }

    /// A path as it is written, and as what it really is.
    fn named(&self, written: &str, facts: &Facts, folds: bool) -> Cover {
        let real = facts.real_path(written).filter(|real| *real != written);
        Cover::of(std::iter::once(written).chain(real).map(|path| self.place(path, facts, folds)))
    }

    /// Everything that a pattern matches.
    fn pattern(&self, pattern: &str, reads: bool, folds: bool) -> Cover {
        if self.leaning == Leaning::Tightens {
            // What a pattern reads was looked up, name by name; what it would write or delete may not be there yet.
            let all = self.hit(&patterns::ordinary(pattern), folds);
            if reads {
                return if all { Cover::Within } else { Cover::None };
            }
            if all {
                return Cover::Some;
            }
            let met = self.paths.overlaps(pattern) && !self.except_covers(pattern, folds);
            return if met { Cover::Within } else { Cover::None };
        }
        let all = self.paths.is_match_wide(&patterns::ordinary(pattern), folds) && !self.except.overlaps(pattern);
        if all { Cover::All } else { Cover::None }
    }

    fn except_covers(&self, pattern: &str, folds: bool) -> bool {
        self.except.is_match(&patterns::ordinary(pattern), folds)
    }

    /// A folder with everything below it.
    fn tree(&self, root: &str, holds: Option<&[String]>, facts: &Facts, folds: bool) -> Cover {
        let real = facts.real_path(root).filter(|real| *real != root);
        let mut roots = std::iter::once(root).chain(real);
        let inside = |root: &str| patterns::below(root).iter().all(|path| self.place(path, facts, folds));
        if self.leaning == Leaning::Loosens {
            let whole = |root: &str| {
                let everything = |name: &str| format!("{}/**", name.trim_end_matches('/'));
                let names = [everything(root), everything(&self.in_project(root, facts))];
                self.place(root, facts, folds) && inside(root) && !names.iter().any(|name| self.except.overlaps(name))
            };
            return if roots.all(whole) { Cover::All } else { Cover::None };
        }
        if roots.any(|root| self.place(root, facts, folds) || inside(root)) {
            return Cover::Some;
        }
        let walked = holds.is_some_and(|files| files.iter().any(|file| self.named(file, facts, folds) != Cover::None));
        if walked { Cover::Within } else { Cover::None }
    }
}

impl Matcher for Paths {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Some(written) = effect.path() else { return Ok(Cover::None) };
        if let Some(name) = &self.broken {
            return Err(format!("`{{{name}}}` has no value here"));
        }
        let folds = facts.folds_case();
        if self.content && matches!(effect, Effect::List { .. }) {
            return Ok(Cover::None);
        }
        if effect.is_glob() {
            return Ok(self.pattern(written, effect.word() == EffectWord::Read, folds));
        }
        Ok(match effect {
            Effect::ReadTree(tree) => {
                let holds = if tree.asks_each { None } else { facts.holds(tree) };
                self.tree(written, holds, facts, folds)
            }
            Effect::List { deep: true, .. } => self.tree(written, None, facts, folds),
            Effect::Delete { recursive: true, .. } => {
                // Whether a tree may go is said of its top; what lies inside is looked up.
                match self.named(written, facts, folds) {
                    Cover::None if self.leaning == Leaning::Tightens => {
                        let tree = Tree { root: written.to_owned(), ..Tree::default() };
                        self.tree(written, facts.holds(&tree), facts, folds)
                    }
                    cover => cover,
                }
            }
            _ => self.named(written, facts, folds),
        })
    }

    fn patterns(&self) -> &[String] {
        &self.paths.texts
    }

    fn samples(&self) -> Vec<Effect> {
        let ordinary = |text: &String| {
            let text = text.strip_prefix("**/").map_or_else(|| text.clone(), |rest| format!("{}/{rest}", self.root));
            patterns::ordinary(&text)
        };
        let paths = self.paths.texts.iter().map(ordinary);
        let of = |path: String| match self.word {
            EffectWord::Write => Effect::write(path),
            EffectWord::Delete => Effect::delete(path, false),
            EffectWord::Metadata => Effect::metadata(path),
            _ => Effect::read(path),
        };
        paths.filter(|path| self.hit(path, false)).map(of).collect()
    }

    fn never(&self) -> Option<String> {
        let odd = self.paths.texts.iter().find(|text| {
            let inner = text.trim_start_matches('/');
            *text != "/" && (text.ends_with('/') || inner.split('/').any(|name| matches!(name, "" | "." | "..")))
        });
        odd.map(|text| format!("`{text}` names no path: paths have no `.`, `..`, doubled or trailing slash"))
    }
}

fn example(context: &Context<'_>, example: &Value) -> Option<Effect> {
    let written = context.variables.fill(example.as_str()?, str::to_owned).ok()?;
    let root = context.variables.fill("{root}", str::to_owned).ok()?;
    let place = checkrein_contract::Place { cwd: root.clone(), root, ..checkrein_contract::Place::default() };
    let path = paths::absolute(&written, &place);
    Some(match context.word {
        EffectWord::Read => Effect::read(path),
        EffectWord::Write => Effect::write(path),
        EffectWord::Delete => Effect::delete(path, false),
        EffectWord::Metadata => Effect::metadata(path),
        EffectWord::Run | EffectWord::Connect | EffectWord::Tool | EffectWord::Unknown => return None,
    })
}
