//! What tarpaulin wrote: per file, how many lines count and which of them no test reached.
//!
//! It knows nothing of reasons and floors.

use serde::Deserialize;
use serde_json::Value;

use crate::rust::Source;

/// One file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// From the root.
    pub(crate) path: String,
    /// How many lines count.
    pub(crate) lines: usize,
    /// Those that no test reaches, in order.
    pub(crate) uncovered: Vec<Line>,
}

/// A line that no test reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: usize,
    /// The function around it; empty outside of functions.
    pub(crate) within: String,
    /// What stands there, without the blanks around it.
    pub(crate) text: String,
}

impl Measured {
    /// Fills in what the lines say and where they stand.
    pub(crate) fn place(&mut self, source: &Source) {
        let functions = source.functions();
        let texts: Vec<&str> = source.text.lines().collect();
        for line in &mut self.uncovered {
            let around = functions.iter().rfind(|f| (f.first..=f.last).contains(&line.number));
            line.within = around.map(|f| f.name.clone()).unwrap_or_default();
            let text = line.number.checked_sub(1).and_then(|at| texts.get(at));
            line.text = text.map(|text| text.trim().to_owned()).unwrap_or_default();
        }
    }
}

#[derive(Deserialize)]
struct Report {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    path: Vec<String>,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    line: usize,
    stats: Value,
}

/// Reads the report; only files below `root`, by path, and only those of which a line counts.
pub(crate) fn read(text: &str, root: &str) -> Result<Vec<Measured>, String> {
    let report: Report = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for file in report.files {
        let path = file.path.join("/").replace("//", "/");
        let Some(path) = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) else { continue };
        let mut uncovered = Vec::new();
        for trace in &file.traces {
            let hits = trace.stats.get("Line").and_then(Value::as_u64);
            if hits.ok_or_else(|| format!("{path}:{}: no count of hits", trace.line))? == 0 {
                uncovered.push(Line { number: trace.line, ..Line::default() });
            }
        }
        if !file.traces.is_empty() {
            files.push(Measured { path: path.to_owned(), lines: file.traces.len(), uncovered });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"files": [
        {"path": ["/", "home", "user", "w", "crates", "a", "src", "b.rs"], "traces": [
            {"line": 1, "stats": {"Line": 3}}, {"line": 2, "stats": {"Line": 0}}, {"line": 5, "stats": {"Line": 0}}]},
        {"path": ["/", "home", "user", "w", "crates", "a", "src", "empty.rs"], "traces": []},
        {"path": ["/", "home", "user", "else", "c.rs"], "traces": [{"line": 1, "stats": {"Line": 0}}]}
    ]}"#;

    #[test]
    fn files_of_the_root_are_read_and_lines_know_their_function() {
        let mut files = read(REPORT, "/home/user/w").unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].path.as_str(), files[0].lines), ("crates/a/src/b.rs", 3));
        files[0]
            .place(&Source::new("crates/a/src/b.rs", "fn a() {\n    b()\n}\nmacro_rules! m {\n    () => { x };\n}\n"));
        let seen: Vec<_> = files[0].uncovered.iter().map(|l| (l.number, l.within.as_str(), l.text.as_str())).collect();
        assert_eq!(seen, [(2, "a", "b()"), (5, "", "() => { x };")]);
    }

    #[test]
    fn a_report_without_counts_is_an_error() {
        let report = REPORT.replace(r#"{"Line": 3}"#, r#"{"Branch": 3}"#);
        assert!(read(&report, "/home/user/w").unwrap_err().contains("crates/a/src/b.rs:1"));
    }
}
