//! The rule kinds. A new kind is one file here and one line in [`KINDS`].

mod anything;
mod host;
mod path;
mod program;
mod running;
pub(crate) mod scope;
mod tool;
mod words;

use checkrein_contract::{Effect, EffectWord, Facts};
use checkrein_toml::{FileError, Source};
use serde_json::Value;

use crate::file::RuleFile;
use crate::variables::Variables;

/// How much of an effect a rule covers. An effect can have several names (a written path and a real one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// None of its names.
    None,
    /// Something inside it, which it walks over: enough for *ask*.
    Within,
    /// Some of its names: enough for *ask* and *deny*, not for *allow*.
    Some,
    /// All of them.
    All,
}

impl Cover {
    /// Folds the names of one effect.
    pub(crate) fn of(names: impl IntoIterator<Item = bool>) -> Self {
        let (mut any, mut all) = (false, true);
        for hit in names {
            any |= hit;
            all &= hit;
        }
        match (any, all) {
            (true, true) => Self::All,
            (true, false) => Self::Some,
            (false, _) => Self::None,
        }
    }
}

/// Whether the rule allows, or asks or denies: some kinds read words more widely for the latter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaning {
    Loosens,
    Tightens,
}

/// The part of a rule that looks at effects.
pub(crate) trait Matcher: Send + Sync + std::fmt::Debug {
    /// How much of the effect it covers.
    ///
    /// # Errors
    /// A reason why it can not tell. Such a rule denies.
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String>;

    /// The patterns of paths it speaks of.
    fn patterns(&self) -> &[String] {
        &[]
    }

    /// Effects of the kind it was written for, each as plain as can be. Where it matches none of them, it never matches.
    fn samples(&self) -> Vec<Effect>;

    /// Why it can not match, where that can be told from the rule alone.
    fn never(&self) -> Option<String> {
        None
    }

    /// Whether it must know what a name resolves to.
    fn asks_for_addresses(&self) -> bool {
        false
    }
}

/// What a kind needs to build a matcher.
pub(crate) struct Context<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) rule: &'a RuleFile,
    pub(crate) word: EffectWord,
    pub(crate) leaning: Leaning,
    pub(crate) variables: &'a Variables,
}

/// A matcher, nothing, or a mistake of the file.
pub(crate) type Built = Result<Option<Box<dyn Matcher>>, FileError>;

/// One kind of rule.
pub(crate) struct Kind {
    /// The words of `effect` that it serves.
    pub(crate) effects: &'static [EffectWord],
    /// The keys that only it understands.
    pub(crate) keys: &'static [&'static str],
    /// Builds the matcher; `None` when the rule does not use this kind's keys.
    pub(crate) build: fn(&Context<'_>) -> Built,
    /// Reads an example of `matches` as the effect it stands for.
    pub(crate) example: fn(&Context<'_>, &Value) -> Option<Effect>,
}

/// Every kind, in the order they are tried.
pub(crate) const KINDS: &[Kind] = &[path::KIND, words::KIND, program::KIND, host::KIND, tool::KIND, anything::KIND];

/// The keys of a rule that are set, with where they stand.
pub(crate) fn keys_set(rule: &RuleFile) -> Vec<(&'static str, usize)> {
    [
        ("paths", rule.paths.as_ref().map(|s| s.span().start)),
        ("except", rule.except.as_ref().map(|s| s.span().start)),
        ("words", rule.words.as_ref().map(|s| s.span().start)),
        ("exact", rule.exact.as_ref().map(|s| s.span().start)),
        ("program", rule.program.as_ref().map(|s| s.span().start)),
        ("content", rule.content.as_ref().map(|s| s.span().start)),
        ("modelled", rule.modelled.as_ref().map(|s| s.span().start)),
        ("read_only", rule.read_only.as_ref().map(|s| s.span().start)),
        ("does", rule.does.as_ref().map(|s| s.span().start)),
        ("informational", rule.informational.as_ref().map(|s| s.span().start)),
        ("env", rule.env.as_ref().map(|s| s.span().start)),
        ("hosts", rule.hosts.as_ref().map(|s| s.span().start)),
        ("schemes", rule.schemes.as_ref().map(|s| s.span().start)),
        ("not_schemes", rule.not_schemes.as_ref().map(|s| s.span().start)),
        ("ports", rule.ports.as_ref().map(|s| s.span().start)),
        ("methods", rule.methods.as_ref().map(|s| s.span().start)),
        ("url_paths", rule.url_paths.as_ref().map(|s| s.span().start)),
        ("addresses", rule.addresses.as_ref().map(|s| s.span().start)),
        ("tool", rule.tool.as_ref().map(|s| s.span().start)),
        ("server", rule.server.as_ref().map(|s| s.span().start)),
        ("where", rule.conditions.values().next().map(|s| s.span().start)),
    ]
    .into_iter()
    .filter_map(|(key, at)| Some((key, at?)))
    .collect()
}
