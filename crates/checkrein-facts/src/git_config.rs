//! Reads git's configuration syntax (`git-config(1)`, "Syntax"), as git's own reader does. It is small and strict: to ask
//! git would be to start it in a folder that nobody looked at yet.

use std::iter::Peekable;
use std::str::Chars;

/// One line of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Lower case.
    pub(crate) section: String,
    /// As written.
    pub(crate) subsection: Option<String>,
    /// Lower case.
    pub(crate) key: String,
    /// `None` for a key alone, which means true.
    pub(crate) value: Option<String>,
}

impl Setting {
    /// The name as git lists it.
    pub(crate) fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }
}

/// All settings, in order; `None` where git would refuse the file.
pub(crate) fn parse(text: &str) -> Option<Vec<Setting>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    let (mut section, mut subsection) = (String::new(), None);
    let mut settings = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            c if is_space(c) => {}
            '#' | ';' => while rest.next().is_some_and(|c| c != '\n') {},
            '[' => (section, subsection) = header(&mut rest)?,
            c if c.is_ascii_alphabetic() => {
                let mut key = String::from(c.to_ascii_lowercase());
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    key.push(c.to_ascii_lowercase());
                }
                while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                let value = match rest.next() {
                    None | Some('\n') => None,
                    Some('=') => Some(value(&mut rest)?),
                    Some(_) => return None,
                };
                settings.push(Setting { section: section.clone(), subsection: subsection.clone(), key, value });
            }
            _ => return None,
        }
    }
    Some(settings)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// `[section]`, `[section "Sub Section"]`, or `[section.subsection]` as it was once written.
fn header(rest: &mut Peekable<Chars<'_>>) -> Option<(String, Option<String>)> {
    let mut name = String::new();
    loop {
        match rest.next()? {
            ']' => break,
            ' ' | '\t' | '\r' => {
                while rest.next_if(|c| matches!(c, ' ' | '\t' | '\r')).is_some() {}
                name.push('.');
                name.push_str(&quoted(rest)?);
                break;
            }
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') => name.push(c.to_ascii_lowercase()),
            _ => return None,
        }
    }
    Some(match name.split_once('.') {
        Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
        None => (name, None),
    })
}

/// The rest of a header: a text in quotes, and the bracket.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    rest.next_if_eq(&'"')?;
    loop {
        match rest.next()? {
            '"' => return (rest.next()? == ']').then_some(text),
            '\n' => return None,
            '\\' => text.push(rest.next().filter(|c| *c != '\n')?),
            c => text.push(c),
        }
    }
}

fn value(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    // Space at the end does not belong to it.
    let mut length = 0;
    let mut in_quotes = false;
    let mut in_comment = false;
    loop {
        match rest.next() {
            None | Some('\n') => break,
            Some(_) if in_comment => continue,
            Some(c) if is_space(c) && !in_quotes => {
                if length > 0 {
                    text.push(c);
                }
                continue;
            }
            Some(';' | '#') if !in_quotes => in_comment = true,
            Some('"') => in_quotes = !in_quotes,
            Some('\\') => match rest.next() {
                None | Some('\n') => continue,
                Some('t') => text.push('\t'),
                Some('b') => text.push('\u{8}'),
                Some('n') => text.push('\n'),
                Some(c @ ('\\' | '"')) => text.push(c),
                Some(_) => return None,
            },
            Some(c) => text.push(c),
        }
        if !in_comment {
            length = text.len();
        }
    }
    text.truncate(length);
    (!in_quotes).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::scratch::{folder, write};

    /// Git's own listing of a file: names and values, or that it refuses it.
    fn listed(path: &str) -> Option<Vec<(String, Option<String>)>> {
        let output =
            Command::new("git").args(["config", "--no-includes", "-z", "--list", "--file", path]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| {
            let entries = text.split_terminator('\0').map(|entry| match entry.split_once('\n') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (entry.to_owned(), None),
            });
            entries.collect()
        })
    }

    /// Git itself is the oracle.
    #[test]
    fn files_are_read_as_git_reads_them() {
        let (_held, at) = folder();
        let path = format!("{at}/config");
        for text in [
            "",
            "[core]\n\tpager = less\n\tbare\n",
            "[Core] Editor = vi # comment\n; other\n#\n[alias]\nx=!sh",
            "[diff \"My Driver\"]\n textConv = \"a b\" c  \n",
            "[diff.Old]\ncommand=x\n[a.B \"C\"]\nd=1\n",
            "[a \"q\\\"uo\\\\te\\x\"]\nk = v\n",
            "[a]\nk = one \\\n  two\n  l = \"with # and ; \" ; gone\n",
            "[a]\nk = \"a\\tb\\n\\\\\\\"\"\n",
            "\u{feff}[a]\r\nk = v\r\nl\r\n",
            "[a]\nk = \n l = \"\"\n m = \"  x  \"  \n",
            "[a]\nk-1 = v\n",
            "[a]\nk = a;b#c\n",
            "[a] [b] k = v\n",
            "[a]\nk = v \" ' \" w\n",
            "[a\"b\"]\nk = v\n",
            "[a \"b]\nk = v\n",
            "[a \"b\n\"]\nk = v\n",
            "[a\nk = v\n",
            "[a]\nk v\n",
            "[a]\nk = \"open\n",
            "[a]\nk = \\x\n",
            "[a]\n1k = v\n",
            "[a]\n= v\n",
            "[a]\nk_1 = v\n",
            "[a b]\nk = v\n",
            "[a \"b\" ]\nk = v\n",
            "[a] k = v\\",
            "[a]\nk # comment\n",
        ] {
            write(&path, text);
            let ours = parse(text).map(|settings| settings.into_iter().map(|one| (one.name(), one.value)).collect());
            assert_eq!(ours, listed(&path), "{text:?}");
        }
    }
}
