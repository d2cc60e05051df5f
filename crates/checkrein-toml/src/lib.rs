//! Reads the files that people write, strictly: an unknown key is an error that names file, line, key and the nearest
//! known key.
//!
//! One loader for policies, tasks, tool manifests and scripts, so that a mistake reads the same everywhere. It does no
//! I/O: callers bring the text, and the name to use in messages.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

use serde::de::DeserializeOwned;
use thiserror::Error;

pub use toml::Spanned;

/// A mistake in a file that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {message}{}", near.as_ref().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")))]
pub struct FileError {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong; names the key.
    pub message: String,
    /// The known key that was probably meant.
    pub near: Option<String>,
}

/// A text with the name that errors give it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// File name for messages.
    pub file: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl Source<'_> {
    /// Reads the text as TOML.
    ///
    /// # Errors
    /// A [`FileError`] for broken syntax, an unknown key, a missing key or a value of the wrong type.
    pub fn toml<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(self.text).map_err(|mut error| {
            let offset = error.span().map_or(0, |span| span.start);
            // Without its input the error prints the path of keys that led to it.
            error.set_input(None);
            let printed = error.to_string();
            let within = printed.split("in `").nth(1).and_then(|rest| rest.split('`').next()).unwrap_or_default();
            self.explain(self.line(offset), error.message(), within)
        })
    }

    /// Reads the text as JSON.
    ///
    /// # Errors
    /// As [`Source::toml`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        serde_json::from_str(self.text).map_err(|error| {
            let printed = error.to_string();
            let message = printed.split(" at line ").next().unwrap_or(&printed);
            self.explain(error.line().max(1), message, "")
        })
    }

    /// An error at this byte offset.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> FileError {
        FileError { file: self.file.to_owned(), line: self.line(offset), message: message.into(), near: None }
    }

    /// An error at this byte offset about a word that is none of the known ones.
    pub fn unknown<'k>(
        &self,
        offset: usize,
        message: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> FileError {
        FileError { near: nearest(word, known), ..self.error(offset, message) }
    }

    /// The line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        let upto = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        1 + upto.iter().filter(|byte| **byte == b'\n').count()
    }

    fn explain(&self, line: usize, message: &str, within: &str) -> FileError {
        let mut quoted = message.split('`').skip(1).step_by(2);
        let unknown = message.starts_with("unknown ");
        let near = if unknown { quoted.next().and_then(|word| nearest(word, quoted)) } else { None };
        // Serde lists every known key; the near miss says it better.
        let short = match message.split_once(", expected") {
            Some((head, _)) if unknown && near.is_some() => head,
            _ => message,
        };
        let place = if within.is_empty() { String::new() } else { format!(" in `{within}`") };
        FileError { file: self.file.to_owned(), line, message: format!("{short}{place}"), near }
    }
}

/// The known word that is nearest to a mistyped one, unless all are far away (more than a third of its letters, and more
/// than two).
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| {
            *distance <= 2.max(word.chars().count() / 3) && *distance < candidate.chars().count()
        })
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors are looked at")]
    struct File {
        version: u32,
        #[serde(default)]
        budget: Inner,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        steps: u32,
        seconds: u32,
    }

    fn error(text: &str) -> String {
        Source { file: "task.toml", text }.toml::<File>().unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_names_file_line_key_and_near_miss() {
        assert_eq!(
            error("version = 1\n\n[budget]\nsetps = 3\n"),
            "task.toml:4: unknown field `setps` in `budget` (did you mean `steps`?)"
        );
    }

    #[test]
    fn a_key_like_no_other_lists_the_known_ones() {
        assert_eq!(
            error("version = 1\nxyzzyx = 3\n"),
            "task.toml:2: unknown field `xyzzyx`, expected `version` or `budget`"
        );
    }

    #[test]
    fn a_wrong_type_names_key_and_line() {
        assert_eq!(
            error("version = 1\n[budget]\nsteps = \"three\"\n"),
            "task.toml:3: invalid type: string \"three\", expected u32 in `budget.steps`"
        );
    }

    #[test]
    fn a_missing_key_and_broken_syntax_have_lines() {
        assert_eq!(error("# nothing\n"), "task.toml:1: missing field `version`");
        assert!(error("version = 1\nbudget = {").starts_with("task.toml:2: "), "{}", error("version = 1\nbudget = {"));
    }

    #[test]
    fn json_errors_have_lines_too() {
        let source = Source { file: "s.json", text: "{\n \"version\": 1,\n \"vresion\": 2}" };
        assert_eq!(
            source.json::<File>().unwrap_err().to_string(),
            "s.json:3: unknown field `vresion` (did you mean `version`?)"
        );
    }
}
