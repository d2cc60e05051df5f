//! What models cost: the person's own table, `prices.toml` beside their policy. A task may name the price of its model
//! itself. What nobody named is unknown, and shown as unknown.

use std::collections::BTreeMap;
use std::path::Path;

use checkrein_contract::Price;
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;

use crate::HarnessError;
use crate::task::read;

/// The file in the configuration folder.
const FILE: &str = "prices.toml";

/// Prices by model, as `--model` names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    version: Spanned<u32>,
    #[serde(default)]
    prices: BTreeMap<String, Spanned<Price>>,
}

impl Prices {
    /// Reads the person's table, where there is one.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`], or [`HarnessError::File`] with the line: no session runs on half a price.
    pub fn read_from(config: Option<&Path>) -> Result<Self, HarnessError> {
        match config.map(|folder| folder.join(FILE)).filter(|path| path.exists()) {
            Some(path) => Ok(Self::parse(&path.display().to_string(), &read(&path)?)?),
            None => Ok(Self::default()),
        }
    }

    fn parse(shown: &str, text: &str) -> Result<Self, FileError> {
        let source = Source { file: shown, text };
        let file: PriceFile = source.toml()?;
        if *file.version.get_ref() != 1 {
            let message = format!("version {} is not known here; this program reads version 1", file.version.get_ref());
            return Err(source.error(file.version.span().start, message));
        }
        let mut prices = BTreeMap::new();
        for (model, price) in file.prices {
            prices.insert(model, sound(source, &price)?);
        }
        Ok(Self(prices))
    }

    /// What this model costs, where the table says.
    pub fn of(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }
}

/// A price that somebody wrote, if it is one.
pub(crate) fn sound(source: Source<'_>, price: &Spanned<Price>) -> Result<Price, FileError> {
    let message = "a price is given in US dollars per million tokens, and is not below zero";
    if price.get_ref().is_sound() { Ok(*price.get_ref()) } else { Err(source.error(price.span().start, message)) }
}

#[cfg(test)]
mod tests {
    use super::Prices;

    #[test]
    fn a_table_names_models_and_a_broken_one_names_its_line() {
        let good = "version = 1\n[prices]\n\"anthropic:some-model\" = { input = 3.0, output = 15 }\n";
        let prices = Prices::parse("prices.toml", good).unwrap();
        assert_eq!(prices.of("anthropic:some-model").map(|price| (price.input, price.output)), Some((3.0, 15.0)));
        assert_eq!(prices.of("anthropic:other"), None);
        for (wrong, line) in [
            ("version = 2\n", "1"),
            ("version = 1\n[prices]\na = { input = -1.0, output = 2.0 }\n", "3"),
            ("version = 1\n[prices]\na = { input = nan, output = 2.0 }\n", "3"),
            ("version = 1\n[prices]\na = { input = 1.0 }\n", "3"),
            ("version = 1\n[price]\n", "2"),
        ] {
            let error = Prices::parse("prices.toml", wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("prices.toml:{line}")), "{wrong}: {error}");
        }
    }
}
