//! `while`: how the world has to be for a remembered yes to hold. Only rules that a person's yes added to a session have it, and
//! each of those has: what such a rule allows, it allows in the folder, environment and over the files of the call it was
//! given for.

use std::collections::BTreeMap;

use checkrein_contract::{Effect, EffectWord, Facts, PolicySource, Question, Verdict};
use checkrein_toml::{FileError, Source, Spanned};

use crate::file::RuleFile;
use crate::paths;

/// What has to hold.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where a program is run.
    folder: Option<String>,
    /// The variables that it is run with, neither more nor less.
    env: Vec<String>,
    /// What files hold, by path: `sha256:...`, or `none` where nothing is there.
    files: BTreeMap<String, String>,
    /// The arguments of a tool: no others are given.
    arguments: Option<Vec<String>>,
}

impl Held {
    /// Reads the key.
    pub(crate) fn of(
        source: Source<'_>,
        from: &PolicySource,
        rule: &Spanned<RuleFile>,
        verdict: Verdict,
        word: EffectWord,
    ) -> Result<Option<Self>, FileError> {
        let (id, at) = (rule.get_ref().id.get_ref(), rule.span().start);
        let error = |what: &str| Err(source.error(at, format!("rule `{id}`: {what}")));
        let Some(held) = &rule.get_ref().held else {
            if from.is_remembered() {
                return error("a remembered yes says with `while` what it holds for");
            }
            return Ok(None);
        };
        if !from.is_remembered() || verdict != Verdict::Allow {
            return error("`while` is for a yes that a person gave in a session");
        }
        let held = held.get_ref();
        if word == EffectWord::Run && held.folder.is_none() {
            return error("a remembered yes to a program names its folder: `while.folder`");
        }
        if word == EffectWord::Tool && held.arguments.is_none() {
            return error("a remembered yes to a tool names its arguments: `while.arguments`");
        }
        let (folder, env) = (held.folder.clone(), held.env.clone());
        Ok(Some(Self { folder, env, files: held.files.clone(), arguments: held.arguments.clone() }))
    }

    /// What must be known to tell whether it holds.
    pub(crate) fn questions(&self) -> impl Iterator<Item = Question> {
        self.files.keys().map(|path| Question::Digest { path: path.clone() })
    }

    /// Why it does not hold for this effect, where it does not; in words without paths outside of the project.
    pub(crate) fn fails(&self, effect: &Effect, facts: &Facts, root: &str) -> Option<String> {
        let named = |path: &str| match paths::is_within(path, root) {
            true => path.strip_prefix(root).unwrap_or_default().trim_start_matches('/').to_owned(),
            false => path.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        if let Effect::Run(run) = effect {
            if self.folder.as_deref() != Some(&run.folder) {
                let folder = self.folder.as_deref().map(named).filter(|folder| !folder.is_empty());
                return Some(match folder {
                    Some(folder) => format!("it was given for the folder `{folder}`"),
                    None => "it was given for another folder".to_owned(),
                });
            }
            if self.env != run.env {
                return Some("it was given for another environment".to_owned());
            }
        }
        if let (Effect::Tool { args, .. }, Some(known)) = (effect, &self.arguments) {
            let mut given = args.as_object().into_iter().flat_map(|args| args.keys());
            if let Some(other) = given.find(|name| !known.contains(name)) {
                return Some(format!("it was given without the argument `{other}`"));
            }
        }
        self.files.iter().find_map(|(path, was)| match facts.text(&Question::Digest { path: path.clone() }) {
            Some(is) if is == was => None,
            Some(_) => Some(format!("`{}` is not what it was when the yes was given", named(path))),
            None => Some(format!("what `{}` holds could not be found out", named(path))),
        })
    }
}
