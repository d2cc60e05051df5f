//! Files that are named inside a word: `@FILE`, `name=@FILE;type=x`, `file:FILE`, `FILE:PASSWORD`.

use super::super::perform::Doing;
use super::super::value::Text;
use super::super::walk::Walker;

/// A file that is read, as most programs name one.
pub(in super::super) fn named(walker: &mut Walker<'_>, text: &Text, doing: &Doing) {
    // openssl takes a URI where it takes a file.
    let openssl = doing.name == "openssl";
    match ["file://", "file:"].iter().find(|scheme| openssl && text.prefix().starts_with(**scheme)) {
        Some(scheme) => walker.read(&text.skip(scheme.len())),
        None => walker.read(text),
    }
}

/// `@FILE`, and `name=@FILE`, as a field of a request is given.
pub(in super::super) fn at_file(walker: &mut Walker<'_>, text: &Text) {
    let prefix = text.prefix();
    // curl can write files from here too (`%output{FILE}`).
    if prefix.contains("%output{") {
        return walker.unknown(format!("`{}` names a file that is written", text.shown()));
    }
    let at = match prefix.find(['@', '<', '=']) {
        Some(0) if !prefix.starts_with('=') => Some(0),
        Some(at) => prefix.get(at + 1..).filter(|rest| rest.starts_with(['@', '<'])).map(|_| at + 1),
        None => None,
    };
    match at {
        Some(at) => from(walker, &text.skip(at + 1)),
        None if !text.is_known() && !prefix.contains('=') => may_name(walker, text),
        // Behind `name=` an unknown value may still begin with the mark.
        None if !text.is_known() && prefix.ends_with('=') => may_name(walker, text),
        None => {}
    }
}

/// `NAME@FILE` and `@FILE`, unless a `=` stands before the mark: behind it everything is data.
pub(in super::super) fn name_at_file(walker: &mut Walker<'_>, text: &Text) {
    let prefix = text.prefix();
    match prefix.find(['@', '=']) {
        Some(at) if prefix.as_bytes().get(at) == Some(&b'@') => from(walker, &text.skip(at + 1)),
        Some(_) => {}
        None if !text.is_known() => may_name(walker, text),
        None => {}
    }
}

/// A field of a form as curl takes it: `name=@FILE,FILE;type=x`, `name=<FILE`, `name=text;headers=@FILE`.
pub(in super::super) fn form(walker: &mut Walker<'_>, text: &Text) {
    let Some(known) = text.as_known() else {
        // As far as it is known, the first file is read; what else it names nobody knows.
        if let Some(at) = text.prefix().find("=@").or(text.prefix().find("=<")) {
            from(walker, &text.skip(at + 2));
        }
        return may_name(walker, text);
    };
    let Some((_, content)) = known.split_once('=') else { return };
    let is_file = content.starts_with(['@', '<']);
    let (many, content) = (content.starts_with('@'), content.trim_start_matches(['@', '<', '(']));
    for (index, part) in split(content).into_iter().enumerate() {
        match part {
            // Each file may be followed by its own type and name.
            (',' | '\0', file) if is_file && (many || index == 0) => from(walker, &Text::from(file.as_str())),
            (_, part) => {
                let headers = part.trim_start().strip_prefix("headers=");
                if let Some(file) = headers.and_then(|value| value.strip_prefix(['@', '<'])) {
                    from(walker, &Text::from(file));
                }
            }
        }
    }
}

/// Cuts at `,` and `;`, each part with what stood before it; quotes keep both, and go away.
fn split(text: &str) -> Vec<(char, String)> {
    let mut parts = vec![('\0', String::new())];
    let (mut quoted, mut letters) = (false, text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' if quoted => {
                let next = letters.next();
                parts.last_mut().into_iter().for_each(|(_, part)| part.extend(next));
            }
            ',' | ';' if !quoted => parts.push((letter, String::new())),
            _ => parts.last_mut().into_iter().for_each(|(_, part)| part.push(letter)),
        }
    }
    parts
}

/// Where openssl takes a password from: `file:FILE` is read; `pass:`, `env:`, `fd:` and `stdin` name none.
pub(in super::super) fn pass(walker: &mut Walker<'_>, text: &Text) {
    let prefix = text.prefix();
    if prefix.starts_with("file:") {
        return walker.read(&text.skip("file:".len()));
    }
    let harmless = ["pass:", "env:", "fd:"].iter().any(|source| prefix.starts_with(source));
    if !text.is_known() && !harmless {
        may_name(walker, text);
    }
}

/// A certificate as curl takes it: `FILE:PASSWORD`, where `\:` is a colon of the name; `pkcs11:` names none.
pub(in super::super) fn cert(walker: &mut Walker<'_>, text: &Text) {
    let Some(known) = text.as_known() else { return walker.read(text) };
    if known.to_ascii_lowercase().starts_with("pkcs11:") {
        return;
    }
    let (mut file, mut letters) = (String::new(), known.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            ':' => break,
            '\\' if matches!(letters.peek(), Some(':' | '\\')) => file.extend(letters.next()),
            _ => file.push(letter),
        }
    }
    walker.read(&Text::from(file.as_str()));
}

/// The kind of a new key as openssl takes it: `rsa:2048`, or `ALGORITHM:FILE` with parameters.
pub(in super::super) fn newkey(walker: &mut Walker<'_>, text: &Text) {
    let Some(at) = text.prefix().find(':') else {
        if !text.is_known() {
            may_name(walker, text);
        }
        return;
    };
    let of = text.skip(at + 1);
    if !of.as_known().is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit())) {
        walker.read(&of);
    }
}

/// Several files, with colons between them.
pub(in super::super) fn read_list(walker: &mut Walker<'_>, text: &Text) {
    match text.as_known() {
        Some(known) => known.split(':').filter(|file| !file.is_empty()).for_each(|file| walker.read(&Text::from(file))),
        None => walker.read(text),
    }
}

fn from(walker: &mut Walker<'_>, file: &Text) {
    if file.as_known() != Some("-") {
        walker.read(file);
    }
}

fn may_name(walker: &mut Walker<'_>, text: &Text) {
    walker.unknown(format!("`{}` may name a file that is sent", text.shown()));
}
