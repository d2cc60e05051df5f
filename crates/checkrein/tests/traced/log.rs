//! Reads what strace wrote: one system call after the other, those that were interrupted by others put together again.

use std::collections::HashMap;

/// A system call that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Syscall {
    /// The process (or thread) that made it.
    pub(crate) pid: u32,
    /// Its name.
    pub(crate) name: String,
    /// Its arguments as strace prints them.
    pub(crate) args: Vec<String>,
    /// What it came to: `0`, `3</srv/a.txt>`, `-1 ENOENT (No such file or directory)`.
    pub(crate) result: String,
    /// The number of the line it began on; later calls of a child it started stand behind that.
    pub(crate) begun: usize,
}

impl Syscall {
    /// Whether it did something.
    pub(crate) fn succeeded(&self) -> bool {
        !self.result.starts_with('-') && !self.result.starts_with('?')
    }
}

/// All calls of a log, in the order in which they began.
pub(crate) fn read(text: &str) -> Vec<Syscall> {
    let mut open: HashMap<u32, (usize, String)> = HashMap::new();
    let mut calls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let (Ok(pid), rest) = (pid.parse::<u32>(), rest.trim_start()) else { continue };
        if rest.starts_with("---") || rest.starts_with("+++") {
            continue;
        }
        if let Some(front) = rest.strip_suffix("<unfinished ...>") {
            open.insert(pid, (number, front.trim_end().to_owned()));
            continue;
        }
        let (begun, whole) = match rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, end)) => {
                let Some((begun, front)) = open.remove(&pid) else { continue };
                (begun, format!("{front}{end}"))
            }
            None => (number, rest.to_owned()),
        };
        calls.extend(call(pid, begun, &whole));
    }
    // A call that never came back (the process was replaced or ended by it) says nothing of its outcome.
    calls.sort_by_key(|call| call.begun);
    calls
}

fn call(pid: u32, begun: usize, text: &str) -> Option<Syscall> {
    let (name, rest) = text.split_once('(')?;
    let (args, behind) = arguments(rest)?;
    let result = behind.trim_start().strip_prefix('=')?.trim().to_owned();
    Some(Syscall { pid, name: name.to_owned(), args, result, begun })
}

/// The arguments up to the closing parenthesis, and what stands behind it.
fn arguments(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut args, mut start, mut depth, mut angles) = (Vec::new(), 0, 0u32, 0u32);
    let (mut quoted, mut escaped) = (false, false);
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if quoted {
            (quoted, escaped) = (letter != '"' || escaped, letter == '\\' && !escaped);
        } else {
            match letter {
                '"' => quoted = true,
                // `3</srv/a>`: what a number stands for. Paths have brackets and commas in them.
                '<' if angles > 0 || before.is_ascii_digit() || before == 'D' => angles += 1,
                '>' if angles > 0 && before != '-' => angles -= 1,
                _ if angles > 0 => {}
                '(' | '[' | '{' => depth += 1,
                ')' if depth == 0 => {
                    let last = text[start..at].trim();
                    if !last.is_empty() || !args.is_empty() {
                        args.push(last.to_owned());
                    }
                    return Some((args, &text[at + 1..]));
                }
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    args.push(text[start..at].trim().to_owned());
                    start = at + 1;
                }
                _ => {}
            }
        }
        before = letter;
    }
    None
}

/// The text of a quoted argument.
pub(crate) fn unquoted(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('"')?;
    let inner = &inner[..inner.rfind('"')?];
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0b),
            b'f' => bytes.push(0x0c),
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(next @ b'0'..=b'7') = rest.peek().copied() {
                        value = value * 8 + u32::from(next - b'0');
                        rest.next();
                    }
                }
                bytes.push(u8::try_from(value).ok()?);
            }
            other => bytes.push(other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a file descriptor stands for: `/srv/a` of `3</srv/a>`, `TCP:[17]` of `3<TCP:[17]>`.
pub(crate) fn described(argument: &str) -> Option<&str> {
    let (_, behind) = argument.split_once('<')?;
    let inner = &behind[..behind.rfind('>')?];
    Some(inner.split_once('<').map_or(inner, |(path, _)| path))
}
