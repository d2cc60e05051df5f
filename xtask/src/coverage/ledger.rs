//! `coverage.toml`: a floor per file, and every line that no test reaches, with its reason.
//!
//! It is read and written here and compared elsewhere. What it writes holds no comment but the one at its head.

use std::fmt::Write as _;

use serde::Deserialize;

/// The whole list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    /// The comment that it begins with.
    #[serde(skip)]
    pub(crate) head: String,
    /// The files, by path.
    #[serde(default, rename = "file")]
    pub(crate) files: Vec<Listed>,
}

/// One file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    /// From the root.
    pub(crate) path: String,
    /// Percent of its lines that tests reach at least, to one place.
    pub(crate) floor: f64,
    /// Lines that none reaches.
    #[serde(default)]
    pub(crate) gap: Vec<Gap>,
}

/// Lines of one function that stay unreached for one reason.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gap {
    /// The function; empty outside of functions.
    #[serde(default)]
    pub(crate) within: String,
    /// Why.
    pub(crate) reason: String,
    /// What stands there, blanks around it left out; a text that is unreached twice stands here twice.
    pub(crate) lines: Vec<String>,
}

impl Ledger {
    /// Reads it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut ledger: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        ledger.head = head.join("\n");
        let mut last = "";
        for file in &ledger.files {
            if file.path.as_str() <= last {
                return Err(format!("`{}` stands after `{last}`: files stand once each, by path", file.path));
            }
            if let Some(gap) = file.gap.iter().find(|gap| gap.reason.trim().is_empty() || gap.lines.is_empty()) {
                return Err(format!("`{}`, `{}`: a gap has lines and a reason", file.path, gap.within));
            }
            last = &file.path;
        }
        Ok(ledger)
    }

    /// Writes it.
    pub(crate) fn render(&self) -> String {
        let mut out = format!("{}\n", self.head);
        for file in &self.files {
            _ = write!(out, "\n[[file]]\npath = {}\nfloor = {:.1}\n", quoted(&file.path), file.floor);
            for gap in &file.gap {
                out.push_str("[[file.gap]]\n");
                if !gap.within.is_empty() {
                    _ = writeln!(out, "within = {}", quoted(&gap.within));
                }
                _ = writeln!(out, "reason = {}", quoted(&gap.reason));
                match gap.lines.as_slice() {
                    [line] => _ = writeln!(out, "lines = [{}]", quoted(line)),
                    lines => {
                        let lines: String = lines.iter().map(|line| format!("    {},\n", quoted(line))).collect();
                        _ = writeln!(out, "lines = [\n{lines}]");
                    }
                }
            }
        }
        out
    }

    /// What stands about a file.
    pub(crate) fn file(&self, path: &str) -> Option<&Listed> {
        self.files.iter().find(|file| file.path == path)
    }

    /// How many lines are listed of files that begin so.
    pub(crate) fn listed(&self, prefix: &str) -> usize {
        let files = self.files.iter().filter(|file| file.path.starts_with(prefix));
        files.flat_map(|file| &file.gap).map(|gap| gap.lines.len()).sum()
    }
}

/// A string as TOML writes it: without escapes wherever that can be.
fn quoted(text: &str) -> String {
    if text.contains('"') && !text.contains('\'') {
        return format!("'{text}'");
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# What this is.
# And more.

[[file]]
path = "crates/a/src/b.rs"
floor = 97.0
[[file.gap]]
within = "f"
reason = "nobody can"
lines = ['"x" => "it''s",']

[[file]]
path = "crates/a/src/c.rs"
floor = 100.0
"#;

    #[test]
    fn what_is_read_is_written_again() {
        let text = TEXT.replace("''", "");
        let ledger = Ledger::parse(&text).unwrap();
        assert_eq!(ledger.render(), text);
        assert_eq!((ledger.listed("crates/a/"), ledger.listed("crates/b/")), (1, 0));
    }

    #[test]
    fn any_text_survives_being_written() {
        for line in [r#""x" => 'y',"#, r"b'\\' => 1,", r#"'"' => "\t","#, "plain"] {
            let gap = Gap { within: "f".into(), reason: "r".into(), lines: vec![line.into(), line.into()] };
            let file = Listed { path: "a".into(), floor: 1.5, gap: vec![gap] };
            let ledger = Ledger { head: "# h".into(), files: vec![file] };
            let again = Ledger::parse(&ledger.render()).unwrap();
            assert_eq!(again.files[0].gap[0].lines, [line, line]);
            assert_eq!(again.render(), ledger.render());
        }
    }

    #[test]
    fn a_gap_without_a_reason_and_a_file_twice_are_errors() {
        assert!(Ledger::parse(&TEXT.replace("''", "").replace("nobody can", " ")).unwrap_err().contains("a reason"));
        assert!(Ledger::parse(&TEXT.replace("''", "").replace("c.rs", "b.rs")).unwrap_err().contains("once each"));
    }
}
