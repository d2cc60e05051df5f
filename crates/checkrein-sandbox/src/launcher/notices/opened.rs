//! Folders that are given for the sake of paths in them: a file can only be replaced where a temporary name can be made
//! beside it. So what was granted there, and the way to it, can be made and changed; what comes to be there besides is noted
//! before the kernel makes it, and the harness takes it away when the call is over; what was there before is left alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::would::Act;
use crate::plan::{FileId, Report};

/// Names that one call makes there, at most: each stays known until its end.
const MOST_MADE: usize = 4_096;

/// What is known of them.
#[derive(Default)]
pub(super) struct Opened {
    /// Names that this call made.
    made: BTreeSet<PathBuf>,
}

/// What comes of an act there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Refused,
    Fine,
    /// The harness has to know first.
    Told(Report),
}

impl Opened {
    /// Judges one act on a path in such a folder. `named` is what was granted by name.
    pub(super) fn judge(&mut self, folder: &Path, path: &Path, act: &Act, named: &[PathBuf]) -> Fate {
        if named.iter().any(|granted| path.starts_with(granted)) {
            return Fate::Fine;
        }
        if path == folder {
            // A file without a name, or a folder that is there.
            return if matches!(act, Act::Open | Act::Write | Act::Folder) { Fate::Fine } else { Fate::Refused };
        }
        let top = first_not_granted(folder, path, named);
        let on_the_way = named.iter().any(|granted| granted.starts_with(path));
        if on_the_way && matches!(act, Act::Folder | Act::Mode) {
            return Fate::Fine;
        }
        let there = FileId::of(&top);
        if self.made.contains(&top) {
            return match (act, there) {
                (Act::Remove | Act::Leave, Some(was)) if top == path => told(&top, |path| Report::Left { path, was }),
                (act, _) if act.makes() && top == path => made(&top, act),
                _ => Fate::Fine,
            };
        }
        if there.is_some() {
            return if *act == Act::Folder { Fate::Fine } else { Fate::Refused };
        }
        if !act.makes() || top != path {
            return Fate::Fine;
        }
        if self.made.len() >= MOST_MADE {
            return Fate::Refused;
        }
        let fate = made(&top, act);
        if fate != Fate::Refused {
            self.made.insert(top);
        }
        fate
    }
}

/// What of a path is not on the way to anything granted: that is what is taken away, with all below.
fn first_not_granted(folder: &Path, path: &Path, named: &[PathBuf]) -> PathBuf {
    let mut top = folder.to_owned();
    for part in path.strip_prefix(folder).unwrap_or(path) {
        top.push(part);
        if !named.iter().any(|granted| granted.starts_with(&top)) {
            break;
        }
    }
    top
}

fn made(path: &Path, act: &Act) -> Fate {
    let from = match act {
        Act::Arrive(from) => from.to_str().map(str::to_owned),
        _ => None,
    };
    told(path, |path| Report::Made { path, from })
}

/// What can not be told, since it is no text, is not done.
fn told(path: &Path, report: impl FnOnce(String) -> Report) -> Fate {
    path.to_str().map_or(Fate::Refused, |path| Fate::Told(report(path.to_owned())))
}
