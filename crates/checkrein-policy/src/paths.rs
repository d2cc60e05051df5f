//! Paths as text: joining and dot segments. Nothing here looks at a disk; what a path really is, is a fact.

use checkrein_contract::Place;

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
    if written.starts_with('/') {
        return normalise(written);
    }
    normalise(&format!("{}/{written}", place.cwd))
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
        Place { root: "/srv/p".into(), cwd: "/srv/p/src".into(), home: "/home/dev".into() }
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
