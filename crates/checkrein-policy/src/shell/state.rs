//! What a shell carries from one command to the next: variables, folders, functions, and what was downloaded.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::value::{Field, Text};

/// More values than this of one variable, or folders, are as good as unknown.
const MOST: usize = 8;

/// The folders that a command may start in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Absolute paths.
    pub(crate) known: Vec<String>,
    /// And any other one.
    pub(crate) unknown: bool,
}

impl Folders {
    pub(crate) fn one(folder: String) -> Self {
        Self { known: vec![folder], unknown: false }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for folder in &other.known {
            if !self.known.contains(folder) {
                self.known.push(folder.clone());
            }
        }
        self.unknown |= other.unknown || self.known.len() > MOST;
        self.known.truncate(MOST);
    }

    /// The folder, where it can only be one.
    pub(crate) fn only(&self) -> Option<&str> {
        match self.known.as_slice() {
            [one] if !self.unknown => Some(one),
            _ => None,
        }
    }
}

/// The other end of a `cd`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Otherwise {
    pub(crate) folders: Folders,
    /// It may well come to that. A `cd` into a folder that is there fails only in the branch that is for it.
    pub(crate) likely: bool,
}

impl Otherwise {
    /// Another one beside the one there may be.
    pub(crate) fn merge(mine: &mut Option<Self>, theirs: Self) {
        match mine {
            Some(mine) => {
                mine.folders.merge(&theirs.folders);
                mine.likely |= theirs.likely;
            }
            None => *mine = Some(theirs),
        }
    }
}

/// Stands among the functions that a name may mean: it may mean none.
pub(crate) const NO_FUNCTION: usize = usize::MAX;

/// A variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variable {
    /// What it may hold; none at all: it may be anything.
    pub(crate) values: Vec<Text>,
    /// It may hold several words (an array), or nothing.
    pub(crate) list: bool,
}

impl Variable {
    pub(crate) fn one(text: Text) -> Self {
        Self { values: vec![text], list: false }
    }

    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    fn merge(&mut self, other: &Self) {
        if self.values.is_empty() || other.values.is_empty() {
            self.values.clear();
        } else {
            for value in &other.values {
                if !self.values.contains(value) {
                    self.values.push(value.clone());
                }
            }
            if self.values.len() > MOST {
                self.values.clear();
            }
        }
        self.list |= other.list;
    }
}

/// A link that the call itself made: what is done to its path, or below, is done where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) path: String,
    /// `None`: nobody knows.
    pub(crate) target: Option<String>,
    /// It is no link but what was there under another name: what is read of it was there before the call.
    pub(crate) copy: bool,
}

/// The state of a shell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) folders: Folders,
    /// Where the shell would be had the last `cd` failed.
    pub(crate) otherwise: Option<Otherwise>,
    /// Where `cd -` leads.
    pub(crate) previous: Option<Folders>,
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Variables that programs see and that are not known to be harmless, as `NAME=VALUE`.
    pub(crate) exported: Vec<String>,
    /// What each function's name may mean, by the numbers of the walker.
    pub(crate) functions: BTreeMap<String, Vec<usize>>,
    /// `"$@"`; `None`: anything.
    pub(crate) arguments: Option<Rc<[Field]>>,
    /// Files that hold what was downloaded.
    pub(crate) downloaded: Vec<String>,
    /// Something was downloaded under a name that is not known.
    pub(crate) downloaded_anywhere: bool,
    /// Links made on the way.
    pub(crate) links: Vec<Link>,
    /// Files that the person's shell ran first: they may have changed what any name means.
    pub(crate) profile: Vec<String>,
    /// `git remote set-url` and the like: names no longer mean what they meant.
    pub(crate) remotes_changed: bool,
}

impl State {
    /// The state after one of two ways was taken.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self == other {
            return;
        }
        self.folders.merge(&other.folders);
        if let Some(theirs) = &other.otherwise {
            Otherwise::merge(&mut self.otherwise, theirs.clone());
        }
        if self.previous != other.previous {
            self.previous = Some(Folders { known: Vec::new(), unknown: true });
        }
        let names: Vec<String> = self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            // Set on one way only: on the other it is what it was before, which nobody knows.
            match (self.variables.get_mut(&name), other.variables.get(&name)) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (Some(mine), None) => mine.list = true,
                (None, Some(theirs)) => {
                    self.variables.insert(name, Variable { list: true, ..theirs.clone() });
                }
                (None, None) => {}
            }
        }
        extend(&mut self.exported, &other.exported);
        for (name, mine) in &mut self.functions {
            if !other.functions.contains_key(name) && !mine.contains(&NO_FUNCTION) {
                mine.push(NO_FUNCTION);
            }
        }
        for (name, bodies) in &other.functions {
            let mine = self.functions.entry(name.clone()).or_insert_with(|| vec![NO_FUNCTION]);
            for body in bodies {
                if !mine.contains(body) {
                    mine.push(*body);
                }
            }
        }
        if self.arguments != other.arguments {
            self.arguments = None;
        }
        extend(&mut self.profile, &other.profile);
        self.keep_from_child(other);
    }

    /// A child shell keeps its variables and folders to itself; what it downloaded and changed on disk stays.
    pub(crate) fn keep_from_child(&mut self, child: &Self) {
        extend(&mut self.downloaded, &child.downloaded);
        extend(&mut self.links, &child.links);
        self.downloaded_anywhere |= child.downloaded_anywhere;
        self.remotes_changed |= child.remotes_changed;
    }

    /// Forgets what a loop may change without end.
    pub(crate) fn widen(&mut self, before: &Self) {
        if self.folders != before.folders {
            self.folders.unknown = true;
        }
        for (name, variable) in &mut self.variables {
            if before.variables.get(name) != Some(variable) {
                variable.values.clear();
            }
        }
    }
}

fn extend<T: Clone + PartialEq>(mine: &mut Vec<T>, theirs: &[T]) {
    for item in theirs {
        if !mine.contains(item) {
            mine.push(item.clone());
        }
    }
}
