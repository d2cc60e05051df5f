//! Patterns of paths, matched in the slowest and plainest way: letter by letter, every possibility tried. Part of
//! what shows R12.

use std::sync::LazyLock;

/// Whether a rule's pattern matches a path. `*` and `?` stop at a slash, `**` between slashes is any number of folders,
/// `[..]` is one of some letters, `{a,b}` either.
pub(crate) fn matches(pattern: &str, path: &str, folds: bool) -> bool {
    if folds {
        return matches(&pattern.to_lowercase(), &path.to_lowercase(), false);
    }
    let path: Vec<&str> = path.split('/').collect();
    alternatives(pattern).iter().any(|one| folders(&one.split('/').collect::<Vec<_>>(), &path))
}

fn folders(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        // At the end it is everything below, and not the folder itself.
        (["**"], rest) => !rest.is_empty(),
        (["**", more @ ..], _) => (0..=path.len()).any(|taken| folders(more, &path[taken..])),
        ([first, more @ ..], [name, rest @ ..]) if !first.contains(['*', '?', '[', '\\']) => {
            first == name && folders(more, rest)
        }
        ([first, more @ ..], [name, rest @ ..]) => {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            one_name(&letters(first), &letters(name)) && folders(more, rest)
        }
        _ => false,
    }
}

fn one_name(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', more @ ..] => (0..=name.len()).any(|taken| one_name(more, &name[taken..])),
        ['?', more @ ..] => !name.is_empty() && one_name(more, &name[1..]),
        ['\\', letter, more @ ..] => name.first() == Some(letter) && one_name(more, &name[1..]),
        ['[', more @ ..] => {
            let end = more.iter().position(|letter| *letter == ']').expect("the class is closed");
            name.first().is_some_and(|letter| more[..end].contains(letter)) && one_name(&more[end + 1..], &name[1..])
        }
        [letter, more @ ..] => name.first() == Some(letter) && one_name(more, &name[1..]),
    }
}

/// `a{b,c}d` as `abd` and `acd`.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').expect("the choice is closed");
    choices.split(',').flat_map(|choice| alternatives(&format!("{before}{choice}{after}"))).collect()
}

/// Whether a pattern of the shell matches a path: as above, but a leading dot must be written out.
pub(crate) fn shell_matches(pattern: &str, path: &str, folds: bool) -> bool {
    // Most paths differ before the first `*` already.
    let plain = pattern.split('*').next().unwrap_or_default();
    if !path.get(..plain.len()).is_some_and(|start| start.eq_ignore_ascii_case(plain)) {
        return false;
    }
    let parts: Vec<&str> = pattern.split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    let written_out = |(part, name): (&&str, &&str)| !name.starts_with('.') || part.starts_with('.');
    matches(pattern, path, folds) && (parts.len() != names.len() || parts.iter().zip(&names).all(written_out))
}

/// Any run of letters for `*`, slashes too, case aside: names of tools and programs.
pub(crate) fn like(pattern: &str, name: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    one_name(&letters(&pattern.to_lowercase()), &letters(&name.to_lowercase()))
}

/// Every path of a small world: names that rules speak of, and ones that none does, three deep.
pub(crate) static WORLD: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = ["a", "b", "A", ".e", ".z", "z"];
    let mut all = vec!["/".to_owned()];
    for top in ["/p", "/q", "/r", "/etc/x"] {
        let mut level = vec![top.to_owned()];
        for _ in 0..3 {
            all.extend(level.iter().cloned());
            level = level.iter().flat_map(|path| names.iter().map(move |name| format!("{path}/{name}"))).collect();
        }
        all.extend(level);
    }
    all
});

/// Whether a path is a folder or lies below it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    folder == "/" || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
