//! Reads a guard's labelled commands: a YAML list of `test` (the command), `description` and `expect_ids` (the checks that
//! must find it; none means that it must pass).
//!
//! Only the few forms that these files use are read; any other line is an error, so that none is passed over.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// One labelled command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    /// The file it stands in, without its ending.
    category: String,
    /// The command.
    command: String,
    /// What its authors say of it.
    note: String,
    /// The checks that must find it.
    checks: Vec<String>,
}

/// Reads all files of a folder, by name.
pub(super) fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let wrong = |e: std::io::Error| format!("{} can not be read: {e}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        files.push(entry.map_err(wrong)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let category = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).map_err(wrong)?;
        cases.extend(parse(&category, &text)?);
    }
    if cases.is_empty() { Err(format!("{} holds no cases", folder.display())) } else { Ok(cases) }
}

fn parse(category: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || format!("{category}, line {}: `{line}` is no form that is read here", index + 1);
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed == "---" || trimmed.starts_with('#') {
            continue;
        }
        if let Some(command) = line.strip_prefix("- test: ") {
            let command = scalar(command).ok_or_else(wrong)?;
            cases.push(Case { category: category.to_owned(), command, ..Case::default() });
            continue;
        }
        let case = cases.last_mut().ok_or_else(wrong)?;
        if let Some(note) = trimmed.strip_prefix("description: ") {
            case.note = scalar(note).unwrap_or_else(|| note.to_owned());
        } else if trimmed.starts_with('[') || trimmed.starts_with("expect_ids: [") {
            let list = trimmed.trim_start_matches("expect_ids: ");
            let (list, behind) = list.split_once(']').ok_or_else(wrong)?;
            if !behind.is_empty() && !behind.trim_start().starts_with('#') {
                return Err(wrong());
            }
            case.checks = serde_json::from_str(&format!("{list}]")).map_err(|_| wrong())?;
        } else if trimmed != "expect_ids:" {
            return Err(wrong());
        }
    }
    Ok(cases)
}

/// A quoted scalar of one line, with nothing but a comment behind it.
fn scalar(text: &str) -> Option<String> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut value = String::new();
    let mut rest = text.get(1..)?.chars();
    loop {
        match rest.next()? {
            c if c == quote => {
                if quote == '\'' && rest.as_str().starts_with('\'') {
                    rest.next();
                    value.push('\'');
                    continue;
                }
                let behind = rest.as_str().trim();
                return (behind.is_empty() || behind.starts_with('#')).then_some(value);
            }
            '\\' if quote == '"' => value.push(escape(&mut rest)?),
            c => value.push(c),
        }
    }
}

fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let digits = match rest.next()? {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        '0' => return Some('\0'),
        'e' => return Some('\u{1b}'),
        'x' => 2,
        'u' => 4,
        c if matches!(c, '"' | '\\' | '/' | ' ') => return Some(c),
        _ => return None,
    };
    let code: String = rest.by_ref().take(digits).collect();
    u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_that_are_used_are_read() {
        let text = "---\n# c\n- test: \"a \\\"b\\\"\\n\\x41\" # c\n  description: 'x'\n  expect_ids: [\"fs:rm\"]\n\
                    - test: 'it''s'\n  description: plain\n  expect_ids:\n    [\"a:b\", \"c:d\"]\n";
        let cases = parse("fs", text).unwrap();
        assert_eq!(cases[0].command, "a \"b\"\nA");
        assert_eq!((cases[1].command.as_str(), cases[1].checks.len()), ("it's", 2));
    }

    #[test]
    fn a_line_of_another_form_is_an_error_that_names_it() {
        assert!(parse("fs", "- test: plain\n").unwrap_err().starts_with("fs, line 1:"));
        assert!(parse("fs", "- test: \"a\"\n  other: 1\n").unwrap_err().starts_with("fs, line 2:"));
    }
}
