//! Command lines as people write them, found on this machine: a sample that depends on nothing but the files there.
//!
//! Each kind of source gives its share, so that many small read-me files do not crowd out the rest. Within a kind the lines
//! with the smallest hashes are taken.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::extract;

/// Lines in the sample.
const WANTED: usize = 2000;

/// Longest file that is read, bytes.
const LONGEST_FILE: u64 = 400_000;

/// Longest line that is taken, characters.
const LONGEST_LINE: usize = 600;

/// Folders besides cargo's own, where they are there.
const FOLDERS: &[&str] = &["/usr/share", "/usr/lib", "/usr/local/lib", "/usr/local/share"];

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Line {
    /// The kind of file it stands in.
    kind: &'static str,
    /// The command line.
    command: String,
}

/// Gathers and samples.
pub(super) fn sample() -> Result<Vec<Line>, String> {
    let mut found: BTreeMap<String, &'static str> = BTreeMap::new();
    let mut folders: Vec<PathBuf> = cargo_home().into_iter().map(|home| home.join("registry/src")).collect();
    folders.extend(FOLDERS.iter().map(PathBuf::from));
    let mut files = 0;
    for folder in folders {
        walk(&folder, &mut |path| {
            let Some((kind, read)) = extract::reader(path) else { return };
            let Ok(text) = fs::read_to_string(path) else { return };
            files += 1;
            for command in read(&text).into_iter().filter(|line| line.chars().count() <= LONGEST_LINE) {
                found.entry(command).or_insert(kind);
            }
        });
    }
    let mut by_kind: BTreeMap<&'static str, Vec<(u64, String)>> = BTreeMap::new();
    for (command, kind) in found {
        by_kind.entry(kind).or_default().push((hash(&command), command));
    }
    let sizes: Vec<String> = by_kind.iter().map(|(kind, lines)| format!("{kind} {}", lines.len())).collect();
    println!("{files} files; different command lines: {}", sizes.join(", "));
    let lines = take(by_kind, WANTED);
    if lines.is_empty() { Err("no command lines were found on this machine".to_owned()) } else { Ok(lines) }
}

/// Takes in turns from each kind, smallest hash first.
fn take(by_kind: BTreeMap<&'static str, Vec<(u64, String)>>, wanted: usize) -> Vec<Line> {
    let mut queues: Vec<(&'static str, std::vec::IntoIter<(u64, String)>)> = by_kind
        .into_iter()
        .map(|(kind, mut lines)| {
            lines.sort();
            (kind, lines.into_iter())
        })
        .collect();
    let mut taken = Vec::new();
    loop {
        let before = taken.len();
        for (kind, queue) in &mut queues {
            if taken.len() == wanted {
                break;
            }
            taken.extend(queue.next().map(|(_, command)| Line { kind, command }));
        }
        if taken.len() == wanted || taken.len() == before {
            taken.sort();
            return taken;
        }
    }
}

/// FNV-1a: the same on every machine and in every release.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn cargo_home() -> Option<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
}

/// Files below a folder in the order of their names; links are not followed, and what can not be read is passed over.
fn walk(folder: &Path, each: &mut impl FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            walk(&path, each);
        } else if metadata.is_file() && metadata.len() <= LONGEST_FILE {
            each(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_gives_its_share_and_order_does_not_matter() {
        let lines = |texts: &[&str]| texts.iter().map(|text| (hash(text), (*text).to_owned())).collect::<Vec<_>>();
        let one = take(BTreeMap::from([("a", lines(&["1", "2", "3", "4"])), ("b", lines(&["5"]))]), 3);
        let other = take(BTreeMap::from([("b", lines(&["5"])), ("a", lines(&["4", "3", "2", "1"]))]), 3);
        assert_eq!(one, other);
        assert_eq!(one.iter().filter(|line| line.kind == "b").count(), 1);
        assert_eq!(take(BTreeMap::from([("a", lines(&["1"]))]), 3).len(), 1);
    }
}
