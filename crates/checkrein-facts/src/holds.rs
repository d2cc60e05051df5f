//! Which files of a tree match patterns: what somebody who reads the whole tree would come upon.

use std::io::ErrorKind;
use std::path::Path;

use checkrein_contract::Tree;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};

use crate::ignored::IgnoreRules;
use crate::real_path::real_path;

/// Files and folders that are looked at, at most. More is no project but a disk.
const MAX_ENTRIES: usize = 100_000;
/// Files that are named, at most: an answer is recorded with every decision that rests on it.
const MAX_FOUND: usize = 1_000;

/// The files, sorted, as paths below the root as it is written. No link is followed: a link counts by its own name, and by what it is on. Where
/// nothing is there, nothing is found.
///
/// `None` for a pattern that can not be read, a folder that may not be looked into, a name that is no UTF-8, and where
/// there is too much to look at or too much to tell.
pub(crate) fn holds(tree: &Tree, patterns: &[String]) -> Option<Vec<String>> {
    let real = real_path(&tree.root)?;
    let search = Search { tree, real: &real, patterns: paths(patterns)?, names: names(&tree.names)? };
    let without = |folders: bool| {
        let names = tree.without.iter().filter(|pattern| pattern.ends_with('/') == folders);
        paths(&names.map(|pattern| pattern.trim_end_matches('/').to_owned()).collect::<Vec<_>>())
    };
    let (no_files, no_folders) = (without(false)?, without(true)?);
    let rules = tree.skips_ignored.then(IgnoreRules::default);
    let hidden = tree.skips_hidden;
    let walk = WalkBuilder::new(&real)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            // Whoever names a file or folder reads it, hidden and ignored or not.
            if entry.depth() == 0 {
                return true;
            }
            let is_hidden = hidden && entry.file_name().as_encoded_bytes().starts_with(b".");
            let out = if folder { &no_folders } else { &no_files };
            !is_hidden
                && !out.is_match(Path::new(entry.file_name()))
                && !rules.as_ref().is_some_and(|rules| rules.ignore(entry.path(), folder))
        })
        .build();
    let mut found = Vec::new();
    for (number, entry) in walk.enumerate() {
        let entry = match entry {
            Ok(entry) => entry,
            // Nothing there at all, or gone since its folder was listed.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == ErrorKind::NotFound) => continue,
            Err(_) => return None,
        };
        if number >= MAX_ENTRIES || found.len() > MAX_FOUND {
            return None;
        }
        found.extend(search.look(&entry)?);
    }
    found.sort_unstable();
    Some(found)
}

struct Search<'a> {
    tree: &'a Tree,
    real: &'a str,
    patterns: GlobSet,
    names: Option<GlobSet>,
}

impl Search<'_> {
    /// The path of a file that matches, written or real. The outer `None`: it can not be told.
    #[expect(clippy::option_option, reason = "not found and not known are two things")]
    fn look(&self, entry: &DirEntry) -> Option<Option<String>> {
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return Some(None);
        }
        if let Some(names) = self.names.as_ref().filter(|_| entry.depth() > 0)
            && !names.is_match(Path::new(entry.file_name()))
        {
            return Some(None);
        }
        let path = entry.path().to_str()?;
        let below = path.strip_prefix(self.real)?.trim_start_matches('/');
        let root = self.tree.root.trim_end_matches('/');
        let written = if below.is_empty() { self.tree.root.clone() } else { format!("{root}/{below}") };
        let mut hit = self.patterns.is_match(&written) || self.patterns.is_match(path);
        if !hit && entry.path_is_symlink() {
            // Whoever reads all of it may read what a link is on, or what lies in the folder that it is on.
            let behind = real_path(path)?;
            hit = self.patterns.is_match(&behind) || self.patterns.is_match(format!("{behind}/-"));
        }
        Some(hit.then_some(written))
    }
}

/// Patterns as rules have them.
fn paths(patterns: &[String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().ok()?);
    }
    set.build().ok()
}

/// Patterns of names; the inner `None` where all names count. What is more than a name takes nothing away: whatever
/// program reads the tree may mean something else by it.
#[expect(clippy::option_option, reason = "all names and not known are two things")]
fn names(patterns: &[String]) -> Option<Option<GlobSet>> {
    if patterns.is_empty() || patterns.iter().any(|pattern| pattern.contains('/') || pattern.starts_with('!')) {
        return Some(None);
    }
    paths(patterns).map(Some)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::{folder, write};

    fn tree() -> (tempfile::TempDir, String) {
        let (held, at) = folder();
        for name in [
            ".env",
            "src/a.rs",
            "src/key.pem",
            "src/.env",
            ".config/key.pem",
            "build/key.pem",
            "logs/x.pem",
            "sub/.env",
            "sub/keep.pem",
        ] {
            write(&format!("{at}/{name}"), "x");
        }
        write(&format!("{at}/.git/info/exclude"), "/logs/\n");
        write(&format!("{at}/.gitignore"), "build/\n.env\n*.pem\n!keep.pem\n");
        (held, at)
    }

    fn look(tree: &Tree, patterns: &[&str]) -> Option<Vec<String>> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let found = holds(tree, &patterns)?;
        Some(
            found
                .iter()
                .map(|path| path.strip_prefix(&tree.root).unwrap().trim_start_matches('/').to_owned())
                .collect(),
        )
    }

    #[test]
    fn files_are_found_by_absolute_patterns() {
        let (_held, at) = tree();
        let all = Tree { root: at.clone(), ..Tree::default() };
        let (below, single) = (format!("{at}/src/**"), format!("{at}/*"));
        for (patterns, expected) in [
            (vec!["**/.env"], vec![".env", "src/.env", "sub/.env"]),
            (vec![below.as_str()], vec!["src/.env", "src/a.rs", "src/key.pem"]),
            (vec![single.as_str()], vec![".env", ".gitignore"]),
            (vec!["**/.git/**", "**/a.rs"], vec![".git/info/exclude", "src/a.rs"]),
            (vec!["/etc/**"], vec![]),
            (vec![], vec![]),
        ] {
            assert_eq!(look(&all, &patterns).unwrap(), expected, "{patterns:?}");
        }
        assert_eq!(look(&all, &["{a"]), None);
    }

    /// What the reader leaves out is not held: hidden names, what git ignores, other names.
    #[test]
    fn what_the_reader_leaves_out_is_left_out() {
        let (_held, at) = tree();
        let all = Tree { root: at, ..Tree::default() };
        let secrets = ["**/.env", "**/*.pem"];
        let hidden = Tree { skips_hidden: true, ..all.clone() };
        assert_eq!(look(&hidden, &secrets).unwrap(), ["build/key.pem", "logs/x.pem", "src/key.pem", "sub/keep.pem"]);
        let ignored = Tree { skips_ignored: true, ..all.clone() };
        assert_eq!(look(&ignored, &secrets).unwrap(), ["sub/keep.pem"]);
        let named = Tree { names: vec!["*.pem".to_owned(), "*.key".to_owned()], skips_hidden: true, ..all.clone() };
        assert_eq!(look(&named, &["**"]).unwrap(), ["build/key.pem", "logs/x.pem", "src/key.pem", "sub/keep.pem"]);
        let more_than_names = Tree { names: vec!["src/*.rs".to_owned()], ..all };
        assert_eq!(look(&more_than_names, &["**/.env"]).unwrap().len(), 3);
    }

    /// Rules count in the repository that they stand in, and nowhere else.
    #[test]
    fn only_the_rules_of_the_same_repository_count() {
        let (_held, at) = tree();
        write(&format!("{at}/sub/.git/HEAD"), "ref: refs/heads/main");
        let ignored = Tree { root: at.clone(), skips_ignored: true, ..Tree::default() };
        assert_eq!(look(&ignored, &["**/.env"]).unwrap(), ["sub/.env"]);
        let inner = Tree { root: format!("{at}/src"), ..ignored.clone() };
        assert_eq!(look(&inner, &["**/.env"]).unwrap(), [""; 0], "rules above the root count");
        fs::remove_dir_all(format!("{at}/.git")).unwrap();
        assert_eq!(look(&ignored, &["**/.env"]).unwrap().len(), 3, "outside a repository git ignores nothing");
    }

    /// A link in the tree counts by its own name and by what it is on, and the root by the written and the real one.
    #[test]
    fn links_are_not_followed_but_for_the_root() {
        let (_held, at) = tree();
        let (_outside, outside) = folder();
        write(&format!("{outside}/.env"), "x");
        symlink(&outside, format!("{at}/src/out")).unwrap();
        symlink("a.rs", format!("{at}/src/link.pem")).unwrap();
        symlink(format!("{at}/src"), format!("{at}/entry")).unwrap();
        let tree = Tree { root: format!("{at}/entry"), ..Tree::default() };
        assert_eq!(look(&tree, &["**/.env", "**/*.pem"]).unwrap(), [".env", "key.pem", "link.pem"]);
        let outside = outside.trim_start_matches('/');
        assert_eq!(look(&tree, &[&format!("/{outside}/**")]).unwrap(), ["out"], "a folder that a link is on");
        assert_eq!(look(&tree, &[&format!("{at}/src/*.rs")]).unwrap(), ["a.rs", "link.pem"], "by the real name");
        assert_eq!(look(&tree, &[&format!("{at}/entry/*.rs")]).unwrap(), ["a.rs"], "by the written name");
    }

    #[test]
    fn a_root_may_be_a_file_or_nothing() {
        let (_held, at) = tree();
        let file =
            Tree { root: format!("{at}/.env"), skips_hidden: true, names: vec!["*.rs".to_owned()], ..Tree::default() };
        assert_eq!(holds(&file, &["**/.env".to_owned()]).unwrap(), [format!("{at}/.env")]);
        let nothing = Tree { root: format!("{at}/gone"), ..Tree::default() };
        assert_eq!(holds(&nothing, &["/**".to_owned()]).unwrap(), [""; 0]);
        assert_eq!(holds(&Tree { root: "gone".to_owned(), ..Tree::default() }, &[]), None);
    }

    #[test]
    fn too_much_to_tell_has_no_answer() {
        let (_held, at) = folder();
        for n in 0..MAX_FOUND + 2 {
            fs::write(format!("{at}/{n}"), "").unwrap();
        }
        let tree = Tree { root: at, ..Tree::default() };
        assert_eq!(look(&tree, &["**"]), None);
        assert_eq!(look(&tree, &["**/7"]).unwrap(), ["7"]);
    }
}
