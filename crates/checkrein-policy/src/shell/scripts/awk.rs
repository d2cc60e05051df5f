//! `awk` programs: whether they only print, or start something, write or read files by themselves.

use checkrein_contract::Deed;

use super::super::perform::Doing;
use super::super::value::Text;
use super::super::walk::Walker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text(&'t str),
    Number,
    Regex,
    Mark(char),
    /// `>>`, `||`, `|&` and the other marks of two characters.
    Marks(&'t str),
    Break,
}

/// What an awk program does besides printing.
pub(in super::super) fn look(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let Some(program) = text.as_known() else {
        return walker.unknown(format!("the awk program `{}` is not known before it runs", text.shown()));
    };
    let Some(tokens) = tokens(program) else {
        return walker.unknown(format!("the awk program `{program}` could not be read"));
    };
    let mut printing = false;
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            Token::Name("system") => code(walker, doing, "awk calls `system`"),
            Token::Name("print" | "printf") => (printing, depth) = (true, 0),
            Token::Name("getline") => match next {
                Some(Token::Mark('<')) => file(walker, tokens.get(at + 2), tokens.get(at + 3), false),
                Some(Token::Name(_)) if tokens.get(at + 2) == Some(&Token::Mark('<')) => {
                    file(walker, tokens.get(at + 3), tokens.get(at + 4), false);
                }
                _ => {}
            },
            Token::Mark('@') => code(walker, doing, "awk loads or calls something by name"),
            Token::Name("ARGV") => walker.unknown("awk sets which files it reads"),
            Token::Mark('|') | Token::Marks("|&") => code(walker, doing, "awk starts a command"),
            Token::Mark('(' | '[') => depth += 1,
            Token::Mark(')' | ']') => depth = depth.saturating_sub(1),
            Token::Mark(';' | '}' | '{') | Token::Break => printing = false,
            Token::Mark('>') | Token::Marks(">>") if printing && depth == 0 => {
                file(walker, next, tokens.get(at + 2), true);
            }
            _ => {}
        }
    }
}

fn code(walker: &mut Walker<'_>, doing: &mut Doing, what: &str) {
    doing.deed(Deed::Code);
    walker.unknown(what);
}

/// A file that the program itself names.
fn file(walker: &mut Walker<'_>, name: Option<&Token<'_>>, behind: Option<&Token<'_>>, writes: bool) {
    let whole = matches!(behind, None | Some(Token::Break | Token::Mark(';' | '}' | ')')));
    match name {
        Some(Token::Text(path)) if whole && !path.contains('\\') => {
            let text = Text::from(*path);
            if writes { walker.written(&text) } else { walker.read(&text) }
        }
        _ => walker.unknown("which file awk opens is not known before it runs"),
    }
}

/// The tokens; `None` where a text or a pattern is not closed.
fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                let end = closing(rest, '"')?;
                tokens.push(Token::Text(rest.get(1..end)?));
                end + 1
            }
            '/' if divides(tokens.last()) => {
                tokens.push(Token::Mark('/'));
                1
            }
            '/' => {
                let end = closing(rest, '/')?;
                tokens.push(Token::Regex);
                end + 1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\n' => {
                tokens.push(Token::Break);
                1
            }
            '\\' if rest.starts_with("\\\n") => 2,
            c if c.is_whitespace() => c.len_utf8(),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Token::Name(rest.get(..end)?));
                end
            }
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                tokens.push(Token::Number);
                end
            }
            _ => {
                let two = rest.get(..2).filter(|two| {
                    matches!(
                        *two,
                        "||" | "&&" | "|&" | ">>" | ">=" | "<=" | "==" | "!=" | "!~" | "++" | "--" | "+=" | "-="
                    )
                });
                tokens.push(two.map_or(Token::Mark(c), Token::Marks));
                two.map_or(c.len_utf8(), str::len)
            }
        };
        rest = rest.get(length..)?;
    }
    Some(tokens)
}

/// After a value a slash divides; elsewhere it opens a pattern.
fn divides(before: Option<&Token<'_>>) -> bool {
    match before {
        Some(Token::Name(name)) => !matches!(*name, "print" | "printf" | "return" | "in" | "case"),
        Some(Token::Number | Token::Text(_) | Token::Mark(')' | ']' | '$') | Token::Marks("++" | "--")) => true,
        _ => false,
    }
}

fn closing(text: &str, end: char) -> Option<usize> {
    let mut hidden = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            '\n' => return None,
            c if c == end => return Some(at),
            _ => {}
        }
    }
    None
}
