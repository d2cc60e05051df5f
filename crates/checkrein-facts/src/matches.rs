//! Which paths a pattern matches, as bash expands it with its options as they are: `*`, `?` and `[..]` within one part of
//! a path, a backslash before what means itself, hidden names only by a dot that is written.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::iter::Peekable;
use std::str::Chars;

/// Names that are looked at, at most. A pattern over more is no list that anybody judges.
const MAX_NAMES: usize = 10_000;

/// The paths, sorted. Nothing found is an empty list: bash then takes the pattern for a name.
///
/// `None` for a pattern that is not absolute or whose brackets depend on the locale (`[[:alpha:]]`), for a folder that may
/// not be looked into, a name that is no UTF-8, and where there are too many names.
pub(crate) fn matches(pattern: &str) -> Option<Vec<String>> {
    if !pattern.starts_with('/') {
        return None;
    }
    let parts: Vec<Part> =
        pattern.split('/').filter(|part| !part.is_empty()).map(Part::parse).collect::<Option<_>>()?;
    // The root is the empty text, so that every path is a folder, a slash and a name.
    let mut found = vec![String::new()];
    let mut looked = 0;
    for part in &parts {
        let mut next = Vec::new();
        for folder in found {
            match part {
                Part::Name(name) => next.push(format!("{folder}/{name}")),
                Part::Pattern(pieces) => expand(&folder, pieces, &mut looked, &mut next)?,
            }
        }
        found = next;
    }
    let mut there = BTreeSet::new();
    for path in found {
        let path = if path.is_empty() { "/".to_owned() } else { path };
        // A link counts although it dangles; behind a last slash there must be a folder.
        let looked_up = if pattern.ends_with('/') { fs::metadata(&path).map(|at| at.is_dir()) } else { present(&path) };
        match looked_up {
            Ok(true) => _ = there.insert(path),
            Ok(false) => {}
            Err(error) if is_absence(&error) => {}
            Err(_) => return None,
        }
    }
    Some(there.into_iter().collect())
}

fn present(path: &str) -> std::io::Result<bool> {
    fs::symlink_metadata(path).map(|_| true)
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Adds what a folder holds of a pattern.
fn expand(folder: &str, pieces: &[Piece], looked: &mut usize, out: &mut Vec<String>) -> Option<()> {
    let entries = match fs::read_dir(if folder.is_empty() { "/" } else { folder }) {
        Ok(entries) => entries,
        Err(error) if is_absence(&error) => return Some(()),
        Err(_) => return None,
    };
    for entry in entries {
        *looked += 1;
        if *looked > MAX_NAMES {
            return None;
        }
        let name = entry.ok()?.file_name().into_string().ok()?;
        if fits(pieces, &name) {
            out.push(format!("{folder}/{name}"));
        }
    }
    // `.*` is these two as well, for a bash before 5.2.
    if fits(pieces, ".") {
        out.push(folder.to_owned());
    }
    if fits(pieces, "..") {
        out.push(folder.rsplit_once('/').map_or("", |(above, _)| above).to_owned());
    }
    Some(())
}

/// What stands between two slashes.
enum Part {
    Name(String),
    Pattern(Vec<Piece>),
}

enum Piece {
    This(char),
    AnyOne,
    Any,
    OneOf { not: bool, ranges: Vec<(char, char)> },
}

impl Part {
    fn parse(text: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            pieces.push(match c {
                '*' => Piece::Any,
                '?' => Piece::AnyOne,
                '[' => match bracket(&mut rest)? {
                    Some(piece) => piece,
                    None => Piece::This('['),
                },
                // Before a slash it means nothing, and parts are cut at slashes.
                '\\' => match rest.next() {
                    Some(c) => Piece::This(c),
                    None => continue,
                },
                c => Piece::This(c),
            });
        }
        let name: Option<String> =
            pieces.iter().map(|piece| if let Piece::This(c) = piece { Some(*c) } else { None }).collect();
        match name {
            // They are no names, and what they lead to may be elsewhere.
            Some(name) if matches!(name.as_str(), "." | "..") => None,
            Some(name) => Some(Self::Name(name)),
            None => Some(Self::Pattern(pieces)),
        }
    }
}

/// Reads what follows a `[`. `Some(None)` where nothing closes it, so that it means itself; then nothing is taken. `None`
/// for what depends on the locale.
#[expect(clippy::option_option, reason = "not closed and not known are two things")]
fn bracket(rest: &mut Peekable<Chars<'_>>) -> Option<Option<Piece>> {
    let mut ahead = rest.clone();
    let not = ahead.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let Some(c) = ahead.next() else { return Some(None) };
        let low = match c {
            ']' if !ranges.is_empty() => break,
            '[' if matches!(ahead.peek(), Some(':' | '=' | '.')) => return None,
            '\\' => match ahead.next() {
                Some(c) => c,
                None => return Some(None),
            },
            c => c,
        };
        let mut after = ahead.clone();
        let high = match (after.next(), after.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                ahead = after;
                match high {
                    '[' if matches!(ahead.peek(), Some(':' | '=' | '.')) => return None,
                    '\\' => match ahead.next() {
                        Some(c) => c,
                        None => return Some(None),
                    },
                    high => high,
                }
            }
            _ => low,
        };
        ranges.push((low, high));
    }
    *rest = ahead;
    Some(Some(Piece::OneOf { not, ranges }))
}

impl Piece {
    fn is(&self, c: char) -> bool {
        match self {
            Self::This(this) => *this == c,
            Self::AnyOne => true,
            Self::Any => false,
            Self::OneOf { not, ranges } => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *not,
        }
    }
}

fn fits(pieces: &[Piece], name: &str) -> bool {
    if name.starts_with('.') && !matches!(pieces.first(), Some(Piece::This('.'))) {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut at) = (0, 0);
    // Where to go on when it does not fit: behind the last `*`, with one character more in it.
    let mut again: Option<(usize, usize)> = None;
    loop {
        match (pieces.get(piece), name.get(at)) {
            (None, None) => return true,
            (Some(Piece::Any), _) => {
                again = Some((piece + 1, at + 1));
                piece += 1;
            }
            (Some(this), Some(c)) if this.is(*c) => (piece, at) = (piece + 1, at + 1),
            _ => match again {
                Some((behind, from)) if from <= name.len() => {
                    (piece, at) = (behind, from);
                    again = Some((behind, from + 1));
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;
    use crate::scratch::{folder, write};

    fn tree() -> (tempfile::TempDir, String) {
        let (held, at) = folder();
        for name in [
            "a.rs",
            "b.rs",
            "ab.rs",
            "A.rs",
            "a b",
            "a*b",
            "[x]",
            "x",
            "-",
            "!",
            "]",
            "é",
            ".hidden",
            ".h/x",
            "sub/a.rs",
            "sub/deep/b.rs",
            "sub/.dot/c.rs",
            "other/a.rs",
            "back\\slash",
        ] {
            write(&format!("{at}/{name}"), "");
        }
        symlink("gone", format!("{at}/dangling")).unwrap();
        symlink("sub", format!("{at}/link")).unwrap();
        (held, at)
    }

    /// Bash itself is the oracle.
    #[test]
    fn patterns_are_expanded_as_bash_does_it() {
        let (_held, at) = tree();
        for pattern in [
            "*",
            "*.rs",
            "?.rs",
            "[ab].rs",
            "[!ab].rs",
            "[^ab]*",
            "[a-b]?.rs",
            "*/a.rs",
            "*/*/*.rs",
            "*/",
            "s*/",
            "**",
            "**/*.rs",
            ".h*",
            "*idden",
            "?hidden",
            "[.]hidden",
            "\\.h*",
            "a\\*b*",
            "a\\ *",
            "[[]x]*",
            "[x*",
            "*]",
            "[]x]",
            "[!]x]",
            "[a-]*",
            "[-a]*",
            "[\\]x]*",
            "[!x]",
            "[z-a]*",
            "?",
            "??",
            "é*",
            "[é]",
            "dang*",
            "link/*",
            "gone/*",
            "sub/../*.zz",
            "*\\\\*",
            "sub\\/*",
            "*a*b*",
            "***b***",
            "sub/.*/c.rs",
            "back\\\\sl?sh",
            "a.rs/*",
            "x*/y",
        ] {
            let script = format!("shopt -s nullglob; printf '%s\\n' {at}/{pattern} | LC_ALL=C sort");
            let bash = Command::new("bash").args(["--norc", "-c", &script]).env("LC_ALL", "C.UTF-8").output().unwrap();
            let text = String::from_utf8(bash.stdout).unwrap();
            let expected: BTreeSet<&str> =
                text.lines().filter(|line| !line.is_empty()).map(|line| line.trim_end_matches('/')).collect();
            let found = matches(&format!("{at}/{pattern}"));
            // Dot segments are not ours.
            match found {
                None => assert!(pattern.contains(".."), "{pattern}"),
                Some(found) => assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{pattern}"),
            }
        }
    }

    /// A bash before 5.2 takes the folder itself and the one above for names with a dot.
    #[test]
    fn the_two_folders_of_every_folder_count_where_a_dot_is_written() {
        let (_held, at) = tree();
        let found = matches(&format!("{at}/sub/.*")).unwrap();
        assert_eq!(found, [at.clone(), format!("{at}/sub"), format!("{at}/sub/.dot")]);
        assert_eq!(matches("/.*").unwrap().first().map(String::as_str), Some("/"));
    }

    #[test]
    fn what_is_not_certain_has_no_answer() {
        let (_held, at) = tree();
        for pattern in ["[[:alpha:]]", "[[=a=]]", "[a-[.z.]]", "*/../x"] {
            assert_eq!(matches(&format!("{at}/{pattern}")), None, "{pattern}");
        }
        assert_eq!(matches("*.rs"), None);
        let many = format!("{at}/many");
        fs::create_dir(&many).unwrap();
        for n in 0..=MAX_NAMES {
            fs::write(format!("{many}/{n}"), "").unwrap();
        }
        assert_eq!(matches(&format!("{many}/*1")), None);
    }

    #[test]
    fn a_name_that_is_no_text_has_no_answer() {
        use std::os::unix::ffi::OsStrExt as _;
        let (_held, at) = folder();
        let name = std::ffi::OsStr::from_bytes(b"\xff");
        if fs::write(std::path::Path::new(&at).join(name), "").is_ok() {
            assert_eq!(matches(&format!("{at}/*")), None);
        }
    }
}
