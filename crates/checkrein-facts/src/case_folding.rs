//! Whether names that differ in case alone mean the same file. Nothing is written to find out: a name that is there is
//! looked for in the other case.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Names that are looked at in each folder: one with a letter is among them, or hardly any is.
const MAX_NAMES: usize = 1_000;

/// `folds` or `exact`. A folder without a name to try, or that is not there, is like the one above it, unless another disk
/// begins between the two. `None` where nothing could be tried.
pub(crate) fn case_folding(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        return None;
    }
    let mut disk = None;
    for folder in Path::new(path).ancestors() {
        match fs::metadata(folder) {
            Ok(found) if *disk.get_or_insert(found.dev()) != found.dev() => return None,
            Ok(found) if !found.is_dir() => continue,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(_) => return None,
        }
        if let Some(answer) = try_names(folder) {
            return Some(answer);
        }
    }
    None
}

fn try_names(folder: &Path) -> Option<&'static str> {
    let names: BTreeSet<String> = fs::read_dir(folder)
        .ok()?
        .take(MAX_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.iter().find_map(|name| {
        let other = other_case(name)?;
        if names.contains(&other) {
            // Both are there, side by side.
            return Some("exact");
        }
        let here = fs::symlink_metadata(folder.join(name)).ok()?;
        match fs::symlink_metadata(folder.join(other)) {
            Ok(there) if same(&here, &there) => Some("folds"),
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::NotFound => Some("exact"),
            Err(_) => None,
        }
    })
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The name with its ASCII letters in the other case; those of other alphabets fold by rules of each file system.
fn other_case(name: &str) -> Option<String> {
    let turn = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other: String = name.chars().map(turn).collect();
    (other != name).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::folder;

    /// What this machine does by itself is the oracle: a file that was written is looked for in the other case.
    #[test]
    fn the_answer_is_what_the_machine_does() {
        let (_held, at) = folder();
        fs::create_dir(format!("{at}/sub")).unwrap();
        fs::write(format!("{at}/sub/Name.txt"), "a").unwrap();
        let expected = if Path::new(&format!("{at}/sub/nAME.TXT")).exists() { "folds" } else { "exact" };
        for path in ["sub", "sub/Name.txt", "sub/gone/deep", ""] {
            assert_eq!(case_folding(&format!("{at}/{path}")), Some(expected), "{path}");
        }
        fs::create_dir(format!("{at}/sub/123")).unwrap();
        assert_eq!(case_folding(&format!("{at}/sub/123")), Some(expected), "nothing to try there");
        assert_eq!(case_folding("relative"), None);
    }

    #[test]
    fn two_names_side_by_side_are_exact_even_for_one_file() {
        let (_held, at) = folder();
        fs::write(format!("{at}/a"), "a").unwrap();
        if fs::hard_link(format!("{at}/a"), format!("{at}/A")).is_ok() {
            assert_eq!(case_folding(&at), Some("exact"));
        }
    }
}
