//! Paths as text: joining and dot segments. Nothing here looks at a disk; what a path really is, is a fact.

use checkrein_contract::{PathStyle, Place};

/// The absolute path behind what was written: joined with the working directory, `~` expanded, dot segments removed.
///
/// Tools open exactly this path, so that what was judged is what is opened.
pub fn absolute(written: &str, place: &Place) -> String {
    if written == "~" {
        return normalise(&place.home);
    }
    if let Some(rest) = written.strip_prefix("~/") {
        return normalise(&format!("{}/{rest}", place.home));
    }
    if is_absolute(written, place.paths) {
        return from_root(written, place.paths);
    }
    from_root(&format!("{}/{written}", place.cwd), place.paths)
}

/// An absolute path without dot segments, as the kernel walks it: a step back from a link leads to the folder that holds what
/// the link is on. `real` says where a path leads, as far as it is known.
pub fn physical(path: &str, mut real: impl FnMut(&str) -> Option<String>) -> String {
    if !path.contains("/..") {
        return normalise(path);
    }
    let mut here: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let at = format!("/{}", here.join("/"));
                if let Some(real) = real(&at).filter(|real| *real != at) {
                    here = real.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                }
                here.pop();
            }
            name => here.push(name.to_owned()),
        }
    }
    format!("/{}", here.join("/"))
}

/// Whether a path begins at a root.
pub fn is_absolute(path: &str, style: PathStyle) -> bool {
    match style {
        PathStyle::Posix => path.starts_with('/'),
        PathStyle::Windows => path.starts_with(['/', '\\']) || drive(path).is_some(),
    }
}

/// The one form of an absolute path. On Windows: `/c:/project/a`, lower case, since case does not count there; both slashes
/// separate, and dots and blanks at the end of a name, streams and device prefixes name the same file.
pub fn from_root(path: &str, style: PathStyle) -> String {
    if style == PathStyle::Posix {
        return normalise(path);
    }
    let slashed = path.replace('\\', "/").to_lowercase();
    let slashed = slashed.strip_prefix("//?/").or_else(|| slashed.strip_prefix("//./")).unwrap_or(&slashed);
    let (letter, rest) = match drive(slashed) {
        Some(letter) => (Some(letter), slashed.get(2..).unwrap_or_default()),
        // `/c/project` is how shells on Windows write it, and `/c:/project` the form kept here.
        None => match slashed.strip_prefix('/').map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            Some((first, rest)) if first.len() == 1 && first.as_bytes().iter().all(u8::is_ascii_alphabetic) => {
                (first.chars().next(), rest)
            }
            Some((first, rest)) if first.len() == 2 && drive(first).is_some() => (drive(first), rest),
            _ => (None, slashed),
        },
    };
    let names = normalise(rest);
    let names = names.split('/').map(|name| {
        // `name::$DATA` is the file itself, `name:stream` lies inside it.
        let name = name.split(':').next().unwrap_or(name);
        if matches!(name, "." | "..") { name } else { name.trim_end_matches(['.', ' ']) }
    });
    let joined = names.collect::<Vec<_>>().join("/");
    match letter {
        Some(letter) => normalise(&format!("/{letter}:{joined}")),
        None => normalise(&joined),
    }
}

/// The drive of `C:...`.
fn drive(path: &str) -> Option<char> {
    let mut chars = path.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    (chars.next() == Some(':')).then(|| letter.to_ascii_lowercase())
}

/// A program's name as models know it: on Windows in lower case and without the ending that makes it one.
pub fn program_name(name: &str, style: PathStyle) -> String {
    if style == PathStyle::Posix {
        return name.to_owned();
    }
    let name = name.to_lowercase();
    let bare = name.rsplit_once('.').filter(|(_, ending)| matches!(*ending, "exe" | "com" | "cmd" | "bat"));
    bare.map_or(name.clone(), |(bare, _)| bare.to_owned())
}

/// Removes empty, `.` and `..` segments. `..` at the root stays at the root, as the kernel has it.
pub fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether `path` is `folder` or lies below it. Both normalised.
pub fn is_within(path: &str, folder: &str) -> bool {
    folder == "/" || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The path as people and models should see it: relative to the project where it lies inside.
pub fn shown(path: &str, place: &Place) -> String {
    if path == place.root {
        return ".".to_owned();
    }
    match path.strip_prefix(&place.root).and_then(|rest| rest.strip_prefix('/')) {
        Some(inside) if !place.root.is_empty() => inside.to_owned(),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { root: "/srv/p".into(), cwd: "/srv/p/src".into(), home: "/home/dev".into(), ..Place::default() }
    }

    #[test]
    fn written_paths_become_absolute_without_dot_segments() {
        for (written, expected) in [
            ("a.rs", "/srv/p/src/a.rs"),
            ("../../../etc/./passwd", "/etc/passwd"),
            ("/etc/../etc//passwd", "/etc/passwd"),
            ("~/x", "/home/dev/x"),
            ("~", "/home/dev"),
            ("~other/x", "/srv/p/src/~other/x"),
            ("/../..", "/"),
        ] {
            assert_eq!(absolute(written, &place()), expected, "{written}");
        }
    }

    #[test]
    fn a_sibling_that_shares_letters_is_outside() {
        assert!(is_within("/srv/p/a", "/srv/p") && is_within("/srv/p", "/srv/p") && is_within("/x", "/"));
        assert!(!is_within("/srv/p-old/a", "/srv/p"));
    }
}
