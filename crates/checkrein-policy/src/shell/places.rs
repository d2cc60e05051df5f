//! Paths: where a text leads from the folders a command may stand in, and the effects on what is there.

use checkrein_contract::{Effect, PathStyle, Question, Tree};

use super::value::{Piece, Text, escaped};
use super::walk::Walker;
use crate::paths;

/// Names that a pattern matched and that are judged one by one. Of more, the rest is not known.
pub(super) const MOST_MATCHES: usize = 256;

/// Longest path that is followed, bytes.
const MOST_PATH: usize = 8_192;

/// Where a text leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// This path.
    At(String),
    /// What this absolute pattern matches.
    Pattern(String),
    /// This path or anything below it, by these names.
    Below(String, Vec<String>),
    /// Nobody knows.
    Anywhere(String),
}

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    List,
    Tree,
    Write,
    Delete,
    DeleteTree,
    Metadata,
}

impl Walker<'_> {
    /// Where a text leads, from each folder the command may stand in.
    pub(super) fn spots(&self, text: &Text) -> Vec<Spot> {
        if text.as_known() == Some("") {
            return Vec::new();
        }
        if let Some((root, names)) = text.below() {
            return self.joined(root).map_or_else(
                || vec![Spot::Anywhere(text.shown())],
                |roots| roots.into_iter().map(|root| Spot::Below(root, names.to_vec())).collect(),
            );
        }
        if let Some(known) = text.as_known() {
            return match self.joined(known) {
                Some(paths) => paths.into_iter().map(Spot::At).collect(),
                None => vec![Spot::Anywhere(known.to_owned())],
            };
        }
        match text.as_pattern() {
            Some(pattern) if !steps_back(&pattern) => {
                if pattern.starts_with('/') {
                    return vec![Spot::Pattern(paths::normalise(&pattern))];
                }
                if self.state.folders.unknown {
                    return vec![Spot::Anywhere(text.shown())];
                }
                let from = |folder: &String| Spot::Pattern(paths::normalise(&format!("{}/{pattern}", escaped(folder))));
                self.state.folders.known.iter().map(from).collect()
            }
            _ => vec![Spot::Anywhere(text.shown())],
        }
    }

    /// Where a text leads by its words alone, as `cd` takes it: `link/..` is where the link lies.
    pub(super) fn spots_by_words(&self, text: &Text) -> Vec<Spot> {
        let style = self.scene.place.paths;
        match text.as_known().filter(|known| known.contains("..") && !self.state.folders.unknown) {
            None => self.spots(text),
            Some(known) if paths::is_absolute(known, style) => vec![Spot::At(paths::from_root(known, style))],
            Some(known) => {
                let folders = self.state.folders.known.iter();
                folders.map(|folder| Spot::At(paths::from_root(&format!("{folder}/{known}"), style))).collect()
            }
        }
    }

    /// A known path, joined with each folder; `None` where the folder is not known.
    fn joined(&self, path: &str) -> Option<Vec<String>> {
        let place = self.scene.place;
        // No kernel takes a longer one (PATH_MAX is 4,096 bytes).
        if path.len() > MOST_PATH || self.state.folders.known.iter().any(|folder| folder.len() > MOST_PATH) {
            return None;
        }
        if paths::is_absolute(path, place.paths) {
            return Some(vec![self.resolved(path)]);
        }
        if self.state.folders.unknown {
            return None;
        }
        let join = |folder: &String| self.resolved(&format!("{folder}/{path}"));
        Some(self.state.folders.known.iter().map(join).collect())
    }

    /// An absolute path without dot segments. A step back from a link leads to the folder that holds what it is on, as the
    /// kernel walks; only `cd` goes back by the words.
    fn resolved(&self, path: &str) -> String {
        let style = self.scene.place.paths;
        if style != PathStyle::Posix {
            return paths::from_root(path, style);
        }
        paths::physical(path, |at| {
            let made = self.state.links.iter().rev().find(|link| link.path == at && !link.copy);
            let question = Question::RealPath { path: at.to_owned() };
            let known = self.scene.facts.text(&question).map(str::to_owned);
            self.ask(question);
            made.map_or(known, |link| link.target.clone())
        })
    }

    pub(super) fn read(&mut self, text: &Text) {
        self.touch(Touch::Read, text);
    }

    /// Writes a file; `-` and the standard devices are none.
    pub(super) fn written(&mut self, text: &Text) {
        self.touch(Touch::Write, text);
    }

    /// Notes what is done to the path that a text leads to.
    pub(super) fn touch(&mut self, touch: Touch, text: &Text) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) => self.touch_path(touch, path),
                Spot::Pattern(pattern) => self.touch_pattern(touch, &pattern),
                Spot::Below(root, names) => self.touch_below(touch, root, names),
                // The file behind `<(...)` is one the shell makes itself.
                Spot::Anywhere(shown) if shown.starts_with("/dev/fd/") => {}
                Spot::Anywhere(shown) => {
                    if let Some(guess) = text.guess() {
                        self.touch(touch, &guess);
                    }
                    let deed = match touch {
                        Touch::Read | Touch::Tree => "read",
                        Touch::List => "looked at",
                        Touch::Write => "written",
                        Touch::Delete | Touch::DeleteTree => "deleted",
                        Touch::Metadata => "changed",
                    };
                    self.unknown(format!("`{shown}` is {deed}, and which path that is, is not known before it runs"));
                }
            }
        }
    }

    fn touch_path(&mut self, touch: Touch, path: String) {
        let device = is_device(&path);
        match touch {
            Touch::Read | Touch::List | Touch::Tree | Touch::Write if device => {}
            Touch::Read => self.note(Effect::read(path)),
            Touch::List => self.note(Effect::list(path)),
            Touch::Write => self.note(Effect::write(path)),
            Touch::Delete => self.note(Effect::delete(path, false)),
            Touch::DeleteTree => self.note(Effect::delete(path, true)),
            Touch::Metadata => self.note(Effect::metadata(path)),
            Touch::Tree => self.tree(Tree { root: path, ..Tree::default() }),
        }
    }

    /// A tree that is read; a file is one as well, and read.
    pub(super) fn tree(&mut self, tree: Tree) {
        let kind = Question::Kind { path: tree.root.clone() };
        if self.scene.facts.text(&kind) == Some("file") {
            return self.note(Effect::read(tree.root));
        }
        self.ask(kind);
        self.note(Effect::ReadTree(tree));
    }

    fn touch_pattern(&mut self, touch: Touch, pattern: &str) {
        let question = Question::Matches { pattern: pattern.to_owned() };
        let matches = self.scene.facts.list(&question).unwrap_or_default();
        if matches.len() > MOST_MATCHES {
            self.unknown(format!("`{pattern}` matches more names than are judged one by one"));
        }
        for path in matches.iter().take(MOST_MATCHES).cloned().collect::<Vec<_>>() {
            self.touch_path(touch, path);
        }
        self.ask(question);
        let path = pattern.to_owned();
        self.note(match touch {
            Touch::Read | Touch::Tree => Effect::Read { path, glob: true },
            Touch::List => Effect::List { path, deep: false, glob: true },
            Touch::Write => Effect::Write { path, incidental: false, glob: true },
            Touch::Delete => Effect::Delete { path, recursive: false, glob: true },
            Touch::DeleteTree => Effect::Delete { path, recursive: true, glob: true },
            Touch::Metadata => Effect::Metadata { path, glob: true },
        });
    }

    fn touch_below(&mut self, touch: Touch, root: String, names: Vec<String>) {
        let all: Vec<String> = match names.as_slice() {
            [] => vec![escaped(&root) + "/**"],
            names => {
                // What is removed with all in it takes that along.
                let deep = touch == Touch::DeleteTree;
                let one = |name: &String| format!("{}/**/{name}", escaped(&root));
                names
                    .iter()
                    .flat_map(|name| std::iter::once(one(name)).chain(deep.then(|| one(name) + "/**")))
                    .collect()
            }
        };
        match touch {
            Touch::Read | Touch::Tree => return self.tree(Tree { root, names, ..Tree::default() }),
            Touch::List => return self.note(Effect::List { path: root, deep: true, glob: false }),
            Touch::Write | Touch::Delete | Touch::DeleteTree | Touch::Metadata => {}
        }
        for path in all {
            self.note(match touch {
                Touch::Write => Effect::Write { path, incidental: false, glob: true },
                Touch::Metadata => Effect::Metadata { path, glob: true },
                _ => Effect::Delete { path, recursive: touch == Touch::DeleteTree, glob: true },
            });
        }
    }

    /// Whether no name below has a blank or a quote in it, where names are split at those.
    pub(super) fn has_plain_names(&mut self, text: &Text) -> bool {
        let mut plain = true;
        for spot in self.spots(text) {
            let (Spot::At(root) | Spot::Below(root, _)) = spot else { return false };
            let odd = format!("{}/**/*[ \t\n\"'\\\\]*", escaped(&root));
            let tree = Tree { root, ..Tree::default() };
            let question = Question::Holds { tree, patterns: vec![odd.clone(), format!("{odd}/**")] };
            // Before it was asked it is taken for granted; the next round knows.
            plain &=
                self.scene.facts.list(&question).is_some_and(<[String]>::is_empty) || !self.scene.facts.has(&question);
            self.ask(question);
        }
        plain
    }

    /// Whether this file holds what was downloaded in the same call.
    pub(super) fn is_downloaded(&self, text: &Text) -> bool {
        if text.is_downloaded() {
            return true;
        }
        let mut spots = self.spots(text).into_iter();
        spots.any(|spot| match spot {
            Spot::At(path) => self.state.downloaded.contains(&path) || self.state.downloaded_anywhere,
            Spot::Pattern(_) | Spot::Below(..) | Spot::Anywhere(_) => {
                self.state.downloaded_anywhere || !self.state.downloaded.is_empty()
            }
        })
    }

    pub(super) fn remember_download(&mut self, text: &Text) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) if is_device(&path) => {}
                Spot::At(path) => self.state.downloaded.push(path),
                Spot::Pattern(_) | Spot::Below(..) | Spot::Anywhere(_) => self.state.downloaded_anywhere = true,
            }
        }
    }
}

/// The null device and a process's own streams: reading or writing them touches no file.
fn is_device(path: &str) -> bool {
    matches!(
        path,
        "/dev/null"
            | "/dev/zero"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/urandom"
            | "/dev/random"
    ) || path.strip_prefix("/dev/fd/").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// `*/..` leads to a folder that depends on what the star matched.
fn steps_back(pattern: &str) -> bool {
    let mut seen = false;
    pattern.split('/').any(|name| {
        seen |= name.contains(['*', '?', '[']);
        seen && name == ".."
    })
}

/// The last name of a path, where it is known.
pub(super) fn last_name(text: &Text) -> Option<String> {
    match text.pieces().last()? {
        Piece::Known(known) => {
            let name = known.trim_end_matches('/').rsplit('/').next()?;
            (!name.is_empty() && name != ".." && (known.contains('/') || text.pieces().len() == 1))
                .then(|| name.to_owned())
        }
        _ => None,
    }
}
