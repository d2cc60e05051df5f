//! What is known of models: their window, their longest reply, their price. A table that ships, and the person's own over it:
//! `models.toml` beside their policy. A task may name the price of its model itself. What nobody named is unknown, and shown as
//! unknown.

use std::collections::BTreeMap;
use std::path::Path;

use checkrein_contract::Price;
use checkrein_providers::cache_write_times;
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;

use crate::HarnessError;
use crate::task::read;

/// The file in the configuration folder.
const FILE: &str = "models.toml";
/// What it was called while it held nothing but prices.
const FORMER: &str = "prices.toml";
/// The table that ships.
const SHIPPED: &str = include_str!("../models.toml");

/// What is known of models, by their name as `--model` takes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue(BTreeMap<String, Known>);

/// What is known of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Tokens of a request and its reply together.
    pub window: Option<u64>,
    /// Tokens of the longest reply.
    pub max_output: Option<u32>,
    /// Its price.
    pub price: Option<Price>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    version: Spanned<u32>,
    #[serde(default)]
    models: BTreeMap<String, ModelFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    window: Option<Spanned<u64>>,
    max_output: Option<Spanned<u32>>,
    price: Option<Spanned<Price>>,
}

impl Catalogue {
    /// What ships, and over it the table of whoever has this configuration folder, where there is one.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`], or [`HarnessError::File`] with the line: no session runs on half a table.
    pub fn read_from(config: Option<&Path>) -> Result<Self, HarnessError> {
        let mut all = Self::shipped();
        let Some(config) = config else { return Ok(all) };
        let former = config.join(FORMER);
        if former.exists() {
            return Err(HarnessError::Task(format!(
                "{}: this table is {FILE} now; write each line `\"NAME\" = {{ ... }}` of it as `[models.\"NAME\"]` with `price = {{ ... \
                 }}` below, and remove it",
                former.display()
            )));
        }
        let path = config.join(FILE);
        if path.exists() {
            all.add(Self::parse(&path.display().to_string(), &read(&path)?)?);
        }
        Ok(all)
    }

    /// What ships.
    pub fn shipped() -> Self {
        // A test reads it: what ships has no mistake.
        Self::parse(FILE, SHIPPED).unwrap_or_default()
    }

    /// The same with one more model, or with more known of one.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, known: Known) -> Self {
        self.add(Self(BTreeMap::from([(model.into(), known)])));
        self
    }

    /// What is known of this model.
    pub fn of(&self, model: &str) -> Known {
        self.0.get(model).cloned().unwrap_or_default()
    }

    /// What this model costs: by what somebody wrote for it, else by the table. Where they say nothing of tokens that its
    /// provider keeps, the most that such a provider asks for them.
    pub(crate) fn priced(&self, model: &str, own: Option<&Price>) -> Option<Price> {
        let price = own.cloned().or_else(|| self.of(model).price)?;
        let kind = model.split_once(':').map_or(model, |(kind, _)| kind);
        Some(match cache_write_times(kind) {
            Some(times) => price.with_cache_write(times),
            None => price,
        })
    }

    fn add(&mut self, other: Self) {
        for (model, new) in other.0 {
            let old = self.0.entry(model).or_default();
            *old = Known {
                window: new.window.or(old.window),
                max_output: new.max_output.or(old.max_output),
                price: new.price.or(old.price.take()),
            };
        }
    }

    fn parse(shown: &str, text: &str) -> Result<Self, FileError> {
        let source = Source { file: shown, text };
        let file: ModelsFile = source.toml()?;
        if *file.version.get_ref() != 1 {
            let message = format!("version {} is not known here; this program reads version 1", file.version.get_ref());
            return Err(source.error(file.version.span().start, message));
        }
        let mut models = BTreeMap::new();
        for (model, file) in file.models {
            let nothing = |at: usize| source.error(at, "a number of tokens is above nothing");
            let window = file.window.as_ref();
            if let Some(window) = window.filter(|window| *window.get_ref() == 0) {
                return Err(nothing(window.span().start));
            }
            let longest = file.max_output.as_ref();
            if let Some(longest) = longest.filter(|longest| *longest.get_ref() == 0) {
                return Err(nothing(longest.span().start));
            }
            let known = Known {
                window: window.map(|window| *window.get_ref()),
                max_output: longest.map(|longest| *longest.get_ref()),
                price: file.price.as_ref().map(|price| sound(source, price)).transpose()?,
            };
            models.insert(model, known);
        }
        Ok(Self(models))
    }
}

/// A price that somebody wrote, if it is one.
pub(crate) fn sound(source: Source<'_>, price: &Spanned<Price>) -> Result<Price, FileError> {
    let message = "a price is given in US dollars per million tokens, and is not below zero; each of its `tiers` holds `above` \
                   more tokens of a request than the one before it";
    if price.get_ref().is_sound() {
        Ok(price.get_ref().clone())
    } else {
        Err(source.error(price.span().start, message))
    }
}

#[cfg(test)]
mod tests {
    use checkrein_contract::Price;

    use super::{Catalogue, FILE, Known, SHIPPED};

    #[test]
    fn what_ships_can_be_read_and_says_something_of_each() {
        let shipped = Catalogue::parse(FILE, SHIPPED).unwrap();
        assert!(
            !shipped.0.is_empty() && shipped.0.values().all(|known| known.window > known.max_output.map(u64::from))
        );
        assert_eq!(shipped, Catalogue::shipped());
    }

    #[test]
    fn a_persons_table_goes_over_what_ships_number_by_number() {
        let (model, folder) = ("anthropic:claude-haiku-4-5", tempfile::tempdir().unwrap());
        let own = format!(
            "version = 1\n[models.\"{model}\"]\nprice = {{ input = 0.5, output = 2 }}\n[models.\"compatible:x#y\"]\nwindow = 4096\n"
        );
        std::fs::write(folder.path().join(FILE), own).unwrap();
        let all = Catalogue::read_from(Some(folder.path())).unwrap();
        let shipped = Catalogue::read_from(None).unwrap().of(model);
        assert_eq!(all.of(model).window, shipped.window);
        assert_eq!(all.of(model).price.map(|price| (price.input, price.output)), Some((0.5, 2.0)));
        assert_eq!(all.of("compatible:x#y").window, Some(4096));
        assert_eq!(all.of("anthropic:other"), Known::default());
        std::fs::write(folder.path().join("prices.toml"), "version = 1\n").unwrap();
        let former = Catalogue::read_from(Some(folder.path())).unwrap_err().to_string();
        assert!(former.contains("this table is models.toml now"), "{former}");
    }

    /// What a price does not say of kept tokens is the most that such a provider asks for; what it says stays.
    #[test]
    fn kept_tokens_are_never_free_by_omission() {
        let shipped = Catalogue::shipped();
        let own = Price::flat(4.0, 8.0);
        let write = |model: &str| shipped.priced(model, Some(&own)).and_then(|price| price.cache_write);
        assert_eq!([write("anthropic:m"), write("openai:m"), write("compatible:http://x/v1#m")], [Some(5.0); 3]);
        assert_eq!((write("gemini:m"), write("script:m")), (None, None));
        let named = Price { cache_write: Some(8.0), ..own.clone() };
        assert_eq!(shipped.priced("anthropic:m", Some(&named)), Some(named));
        let haiku = shipped.priced("anthropic:claude-haiku-5-5", None).unwrap();
        assert_eq!((haiku.cache_write, haiku.tiers[0].above, haiku.tiers[0].output), (Some(0.125), 100_000, 2.5));
        assert_eq!(shipped.priced("anthropic:nobody-knows", None), None);
    }

    #[test]
    fn a_broken_table_names_its_line() {
        for (wrong, line) in [
            ("version = 2\n", "1"),
            ("version = 1\n[models.a]\nprice = { input = -1.0, output = 2.0 }\n", "3"),
            ("version = 1\n[models.a]\nprice = { input = nan, output = 2.0 }\n", "3"),
            ("version = 1\n[models.a]\nprice = { input = 1.0 }\n", "3"),
            ("version = 1\n[models.a]\nprice = { input = 1.0, output = 2.0, cached = 0.1 }\n", "3"),
            ("version = 1\n[models.a]\nprice = { input = 1.0, output = 2.0, cached_input = -0.1 }\n", "3"),
            (
                "version = 1\n[models.a]\nprice = { input = 1, output = 2, tiers = [{ above = 0, input = 2, output = 3 }] }\n",
                "3",
            ),
            ("version = 1\n[models.a]\nwindow = 0\n", "3"),
            ("version = 1\n[models.a]\nmax_output = 0\n", "3"),
            ("version = 1\n[model.a]\n", "2"),
        ] {
            let error = Catalogue::parse(FILE, wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("{FILE}:{line}")), "{wrong}: {error}");
        }
    }
}
