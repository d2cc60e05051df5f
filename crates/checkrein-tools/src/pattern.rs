//! File name patterns of `glob` and `grep`: one positive glob, relative to the folder that is searched.

use checkrein_contract::Code;
use checkrein_gate::Failure;
use globset::{GlobBuilder, GlobMatcher};

/// A pattern for paths below a folder.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    glob: GlobMatcher,
    /// Without a `/` it means the file's name, at any depth, as in an ignore file.
    name_only: bool,
    /// It means the same in every folder, so a search can be narrowed by its folder alone.
    pub(crate) same_everywhere: bool,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// `SEARCH_INVALID_PATTERN`, with what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let invalid = |why: &str| Err(Failure::new(Code::SearchInvalidPattern, format!("`{text}`: {why}")));
        let relative = text.strip_prefix("./").unwrap_or(text);
        if relative.is_empty() {
            return invalid("the pattern is empty");
        }
        if relative.starts_with('!') {
            return invalid("say what to find; a pattern can not exclude");
        }
        if relative.starts_with('/') || relative.split('/').any(|part| part == "..") {
            return invalid("a pattern is relative to `path`; give the folder there");
        }
        match GlobBuilder::new(relative).literal_separator(true).backslash_escape(true).build() {
            Ok(glob) => {
                let name_only = !relative.contains('/');
                let same_everywhere = name_only || relative.starts_with("**/");
                Ok(Self { glob: glob.compile_matcher(), name_only, same_everywhere })
            }
            Err(error) => invalid(&error.kind().to_string()),
        }
    }

    /// Whether a path below the searched folder fits.
    pub(crate) fn matches(&self, relative: &str) -> bool {
        let name = relative.rsplit('/').next().unwrap_or(relative);
        self.glob.is_match(if self.name_only { name } else { relative })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_ignore_files_mean() {
        for (pattern, path, fits) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/a.rs", true),
            ("**/*.{rs,toml}", "Cargo.toml", true),
            ("a.rs", "b/a.rs", true),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().matches(path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in ["", "./", "!*.rs", "/etc/*", "../*.rs", "a/../b", "[", "{a"] {
            let failure = Pattern::parse(pattern).unwrap_err();
            assert_eq!(failure.code, Code::SearchInvalidPattern, "{pattern}: {failure}");
        }
    }
}
