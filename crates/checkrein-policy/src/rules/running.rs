//! What rules about programs have in common: how a program may be run for the rule to speak of it.

use checkrein_contract::{Deed, Run};
use checkrein_toml::FileError;

use super::{Context, Leaning};

/// How it must be run.
#[derive(Debug)]
pub(super) struct Running {
    modelled: Option<bool>,
    read_only: bool,
    does: Vec<Deed>,
    informational: bool,
    env: Vec<String>,
    leaning: Leaning,
}

impl Running {
    /// Reads the keys.
    pub(super) fn of(context: &Context<'_>) -> Result<Self, FileError> {
        let rule = context.rule;
        let mut does = Vec::new();
        if let Some(words) = &rule.does {
            for word in words.get_ref() {
                let known = Deed::ALL.into_iter().find(|deed| deed.as_str() == word);
                does.push(known.ok_or_else(|| {
                    let message = format!("`does` holds `{word}`, which is no deed");
                    context.source.unknown(words.span().start, message, word, Deed::ALL.map(Deed::as_str))
                })?);
            }
        }
        Ok(Self {
            modelled: rule.modelled.as_ref().map(|modelled| *modelled.get_ref()),
            read_only: rule.read_only.as_ref().is_some_and(|read_only| *read_only.get_ref()),
            does,
            informational: rule.informational.as_ref().is_some_and(|informational| *informational.get_ref()),
            env: rule.env.as_ref().map(|env| env.get_ref().clone()).unwrap_or_default(),
            leaning: context.leaning,
        })
    }

    /// Whether any of the keys was given that can stand alone.
    pub(super) fn narrows(&self) -> bool {
        self.modelled.is_some() || self.read_only || !self.does.is_empty() || self.informational
    }

    /// A run that fits, but for its name.
    pub(super) fn sample(&self) -> Run {
        Run {
            modelled: self.modelled.unwrap_or(true),
            deeds: self.does.first().copied().into_iter().collect(),
            informational: self.informational,
            env: self.env.first().map(|name| format!("{name}=x")).into_iter().collect(),
            ..Run::default()
        }
    }

    pub(super) fn fits(&self, run: &Run) -> bool {
        if self.leaning == Leaning::Loosens {
            // Variables that a program goes by are part of what it does, and need their own word.
            let named = |pair: &String| self.env.iter().any(|name| pair.split('=').next() == Some(name));
            if !run.env.iter().all(named) {
                return false;
            }
            if run.deeds.iter().any(|deed| matches!(deed, Deed::Downloaded | Deed::Multiplies)) {
                return false;
            }
        } else if !self.env.is_empty() {
            let named = |name: &String| run.env.iter().any(|pair| pair.split('=').next() == Some(name));
            if !self.env.iter().any(named) {
                return false;
            }
        }
        self.modelled.is_none_or(|wanted| wanted == run.modelled)
            && (!self.read_only || run.modelled && run.deeds.is_empty())
            && (self.does.is_empty() || self.does.iter().any(|deed| run.deeds.contains(deed)))
            && (!self.informational || run.informational)
    }
}
