//! Patterns against patterns: whether two of them can mean the same path, and what stands for everything a pattern matches.

/// Stands for any name in a path that a pattern matches: no pattern spells it out.
const SOME_NAME: char = '\u{1}';

/// A path as ordinary as a pattern's matches get: what allows this, allows every match.
pub(crate) fn ordinary(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '*' | '?' => {
                if !out.ends_with(SOME_NAME) {
                    out.push(SOME_NAME);
                }
            }
            '[' => {
                // A class; what follows it is kept.
                if chars.clone().any(|c| c == ']') {
                    let mut first = true;
                    for c in chars.by_ref() {
                        if c == ']' && !first {
                            break;
                        }
                        first = matches!(c, '!' | '^') && first;
                    }
                    out.push(SOME_NAME);
                } else {
                    out.push('[');
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Paths that stand for everything below a folder: a name in it, one further down, and one as deep as no pattern spells out.
pub(crate) fn below(root: &str) -> [String; 3] {
    let root = root.trim_end_matches('/');
    let name = format!("/{SOME_NAME}");
    [1, 2, 24].map(|depth| format!("{root}{}", name.repeat(depth)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    /// One character.
    One,
    /// Any run of characters.
    Many,
}

/// Whether some path matches both: a pattern of the shell (whose `*` and `?` do not match a leading dot) and one of a rule.
pub(crate) fn overlap(shell: &str, rule: &str) -> bool {
    let shell: Vec<Vec<Token>> = segments(shell);
    alternatives(rule).iter().any(|rule| folders(&shell, &segments(rule)))
}

fn segments(pattern: &str) -> Vec<Vec<Token>> {
    pattern.trim_start_matches('/').split('/').map(tokens).collect()
}

/// `**` as a whole segment is told by its two `Many`.
fn tokens(segment: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '\\' => chars.next().map_or(Token::Char('\\'), Token::Char),
            '*' => Token::Many,
            '?' => Token::One,
            '[' if chars.as_str().contains(']') => {
                let rest = chars.as_str();
                let from = usize::from(rest.starts_with(['!', '^', ']']));
                let end = rest.get(from..).and_then(|rest| rest.find(']')).map_or(rest.len(), |at| at + from);
                chars = rest.get(end + 1..).unwrap_or_default().chars();
                Token::One
            }
            c => Token::Char(c),
        });
    }
    tokens
}

fn any_folders(segment: &[Token]) -> bool {
    matches!(segment, [Token::Many, Token::Many])
}

fn folders(a: &[Vec<Token>], b: &[Vec<Token>]) -> bool {
    match (a.split_first(), b.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if any_folders(first) => {
            folders(rest, b) || b.split_first().is_some_and(|(_, others)| folders(a, others))
        }
        (_, Some((first, rest))) if any_folders(first) => {
            folders(a, rest) || a.split_first().is_some_and(|(_, others)| folders(others, b))
        }
        (Some((x, rest)), Some((y, others))) => names(x, y, true) && folders(rest, others),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether one name matches both. `start`: a leading dot must be written out on the shell's side.
fn names(shell: &[Token], rule: &[Token], start: bool) -> bool {
    match (shell.split_first(), rule.split_first()) {
        (None, None) => true,
        (Some((Token::Many, rest)), _) => {
            names(rest, rule, start)
                || match rule.split_first() {
                    Some((Token::Char('.'), _)) if start => false,
                    Some((Token::Many, others)) => names(shell, others, start),
                    Some((_, others)) => names(shell, others, false),
                    None => false,
                }
        }
        (_, Some((Token::Many, others))) => {
            names(shell, others, start) || shell.split_first().is_some_and(|(_, rest)| names(rest, rule, false))
        }
        (Some((x, rest)), Some((y, others))) => {
            let same = match (x, y) {
                (Token::Char(x), Token::Char(y)) => x == y,
                (Token::One, Token::Char('.')) => !start,
                _ => true,
            };
            same && names(rest, others, false)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// A rule's pattern with its `{a,b}` written out.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let Some(close) = pattern.get(open..).and_then(|rest| rest.find('}')).map(|at| at + open) else {
        return vec![pattern.to_owned()];
    };
    let (before, after) = (pattern.get(..open).unwrap_or_default(), pattern.get(close + 1..).unwrap_or_default());
    let choices = pattern.get(open + 1..close).unwrap_or_default().split(',');
    choices.flat_map(|choice| alternatives(&format!("{before}{choice}{after}"))).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap_where_one_path_matches_both() {
        for (shell, rule, expected) in [
            ("/srv/p/*", "/**", true),
            ("/srv/p/*", "**/.env", false),
            ("/srv/p/.e*", "**/.env", true),
            ("/srv/p/*.txt", "**/*.pem", false),
            ("/e??/shadow", "/etc/shadow", true),
            ("/srv/p/[.]env", "**/.env", false),
            ("/srv/p/**", "**/.env", true),
            ("/srv/p/src/*", "/srv/p/{docs,src}/a", true),
            ("/srv/p/src/\\*", "/srv/p/src/a", false),
            ("/srv/p/docs/*", "/srv/p/{docs,src}/a", true),
            ("/srv/p/xa.txt", "/srv/p/*.txt", true),
            ("/srv/p/[ab]c", "/srv/p/ac", true),
            ("/srv/p/[ab]c", "/srv/p/abc", false),
            ("/srv/p/[!a]c", "/srv/p/bc", true),
            ("/srv/p/[]a]c", "/srv/p/bc", true),
            ("/srv/p/[", "/srv/p/x", false),
            ("/srv/p/[a", "/srv/p/[a", true),
        ] {
            assert_eq!(overlap(shell, rule), expected, "{shell} and {rule}");
        }
    }

    #[test]
    fn an_ordinary_match_is_no_name_that_a_rule_spells_out() {
        assert_eq!(ordinary("/srv/p/src/*.rs"), "/srv/p/src/\u{1}.rs");
        assert_eq!(ordinary("/srv/p/[a-c]?\\*"), "/srv/p/\u{1}*");
    }
}
