//! Paths as words of a program: what becomes of them, and of what lies beside and below.

use checkrein_contract::{Effect, Question, Tree};

use super::perform::Doing;
use super::places::{MOST_MATCHES, Spot, Touch, last_name};
use super::programs;
use super::value::{Text, escaped};
use super::walk::Walker;
use crate::commands::Role;
use crate::paths;

/// Endings of packed files, and what is in their place once they are unpacked.
const PACKED: [(&str, &str); 14] = [
    (".gz", ""),
    (".z", ""),
    ("-gz", ""),
    (".Z", ""),
    (".bz2", ""),
    (".bz", ""),
    (".xz", ""),
    (".lzma", ""),
    (".zst", ""),
    (".lz4", ""),
    (".tgz", ".tar"),
    (".tbz2", ".tar"),
    (".txz", ".tar"),
    (".tzst", ".tar"),
];

/// All names that begin like this one.
pub(super) fn prefix(path: &str) -> String {
    escaped(path) + "*"
}

/// The names that `mktemp` makes of a template: three `X` or more at its end become something else.
fn template(path: &str) -> String {
    // With `--suffix` they stand before it.
    path.rfind("XXX")
        .map_or_else(|| escaped(path), |end| escaped(path.get(..end).unwrap_or_default().trim_end_matches('X')) + "*")
}

/// What is replaced is kept under another name.
fn keeps_backups(doing: &Doing) -> bool {
    doing.reading.has("--backup") || doing.reading.has("--suffix")
}

/// `ln`, and `cp` as `ln`.
fn makes_links(doing: &Doing) -> bool {
    let names = ["--symbolic-link", "--link", "--link-dest"];
    matches!(doing.name.as_str(), "ln" | "gln" | "link") || names.iter().any(|name| doing.reading.has(name))
}

impl Walker<'_> {
    /// What becomes of a word that is a path.
    pub(super) fn give_path(&mut self, role: Role, text: &Text, doing: &mut Doing) {
        match role {
            Role::List => self.touch(Touch::List, text),
            Role::ListTree => self.listed_below(text),
            Role::Write | Role::Make => {
                self.written(text);
                doing.wrote.push(text.clone());
            }
            Role::WriteTree => self.written_below(text, &[]),
            Role::Prefix => self.written_like(text, prefix),
            Role::Template => self.written_like(text, template),
            Role::Keep => {
                self.written(text);
                let at = |spot| if let Spot::At(path) = spot { Some(path) } else { None };
                doing.kept.extend(self.spots(text).into_iter().filter_map(at));
            }
            Role::Move => self.moved(text),
            Role::Edit => self.edited(text, doing),
            Role::Pack => self.packed(text, doing),
            Role::Backup => self.backed_up(text, doing),
            Role::Into
                if makes_links(doing)
                    && doing.reading.operands.len() == 1
                    && !doing.reading.has("--target-directory") =>
            {
                self.linked_here(text, doing);
            }
            Role::Into => self.into(text, doing),
            Role::Delete => self.touch(Touch::Delete, text),
            Role::DeleteTree => self.touch(Touch::DeleteTree, text),
            Role::Metadata => self.touch(Touch::Metadata, text),
            Role::MetadataTree => {
                self.touch(Touch::Metadata, text);
                self.changed_below(text);
            }
            Role::Wipe => {
                self.written(text);
                self.touch(Touch::Delete, text);
            }
            // All others are no paths, and given their due elsewhere.
            other => self.unknown(format!("what becomes of a word in the role {other:?} is not known")),
        }
    }

    /// A path that gets another name. With the project or a home inside, what moves is all of it.
    fn moved(&mut self, text: &Text) {
        self.written(text);
        for spot in self.spots(text) {
            let Spot::At(path) = spot else { continue };
            let place = self.scene.place;
            if [&place.root, &place.home].into_iter().any(|whole| paths::is_within(whole, &path)) {
                self.note(Effect::delete(path, true));
            }
        }
    }

    /// The destination of a copy or a move.
    fn into(&mut self, text: &Text, doing: &mut Doing) {
        let sources: Vec<Text> = match doing.reading.operands.split_last() {
            Some((last, before)) if last.text == *text => before.iter().map(|field| field.text.clone()).collect(),
            _ => doing.reading.operands.iter().map(|field| field.text.clone()).collect(),
        };
        if programs::connect_remote(self, text, doing) {
            return;
        }
        let links = makes_links(doing);
        let named_folder = text.prefix().ends_with('/') && text.is_known() || doing.reading.has("--target-directory");
        let never_folder = doing.reading.has("--no-target-directory");
        let trees = self.takes_trees(doing);
        for spot in self.spots(text) {
            let Spot::At(path) = spot else {
                self.unknown(format!("`{}` is written, and which path that is, is not known", text.shown()));
                continue;
            };
            // A link that was made before in this call is what it leads to.
            let made =
                self.state.links.iter().rev().find(|link| link.path == path).and_then(|link| link.target.clone());
            let kind = Question::Kind { path: made.unwrap_or_else(|| path.clone()) };
            let known = self.scene.facts.text(&kind).map(str::to_owned);
            self.ask(kind);
            let keeps = keeps_backups(doing);
            if never_folder || known.as_deref() != Some("folder") && !named_folder && sources.len() <= 1 {
                self.note(Effect::write(path.clone()));
                if doing.name == "rsync" {
                    // What is there already is compared.
                    self.note(Effect::read(path.clone()));
                }
                if keeps {
                    self.kept_beside(&path);
                }
                doing.wrote.push(text.clone());
                sources.iter().filter(|_| links).for_each(|source| self.linked(source, &path, doing));
                sources.iter().filter(|_| !links).for_each(|source| self.renamed(source, &path));
                sources.iter().filter(|_| trees).for_each(|source| self.copied(source, &path));
                continue;
            }
            sources.iter().for_each(|source| self.lands_in(source, &path, doing));
            if sources.is_empty() {
                self.touch_folder(&path, &[]);
            }
            if doing.name == "rsync" && doing.reading.has("--delete") {
                self.deleted_below(&Text::known(path));
            }
        }
    }

    /// One source that lands in a folder, under its own name.
    fn lands_in(&mut self, source: &Text, folder: &str, doing: &Doing) {
        let trees = self.takes_trees(doing);
        match last_name(source).filter(|_| !(doing.name == "rsync" && source.prefix().ends_with('/'))) {
            Some(name) => {
                let target = paths::normalise(&format!("{folder}/{name}"));
                if trees {
                    self.copied(source, &target);
                }
                self.note(Effect::write(target.clone()));
                if keeps_backups(doing) {
                    self.kept_beside(&target);
                }
                if makes_links(doing) {
                    self.linked(source, &target, doing);
                } else {
                    self.renamed(source, &target);
                }
            }
            None if trees => {
                self.note(Effect::write(folder.to_owned()));
                self.copied(source, folder);
            }
            None => self.touch_folder(folder, &[]),
        }
    }

    /// Whether folders are copied with all that is in them.
    fn takes_trees(&self, doing: &Doing) -> bool {
        self.changed(Role::Read, doing) == Role::Tree
            || doing.reading.table().operands.iter().flatten().any(|operand| operand.role == Role::Tree)
    }

    /// What a folder holds is written below another name.
    fn copied(&mut self, source: &Text, target: &str) {
        for spot in self.spots(source) {
            let Spot::At(root) = spot else {
                self.touch_folder(target, &[]);
                continue;
            };
            let kind = Question::Kind { path: root.clone() };
            let is_folder = self.scene.facts.text(&kind) == Some("folder");
            self.ask(kind);
            if !is_folder {
                continue;
            }
            let all = vec![escaped(&root) + "/**"];
            let inside = Question::Holds { tree: Tree { root: root.clone(), ..Tree::default() }, patterns: all };
            let names =
                self.scene.facts.list(&inside).filter(|names| names.len() <= MOST_MATCHES).map(<[String]>::to_vec);
            match names {
                Some(names) => {
                    let below = names.iter().filter_map(|name| name.strip_prefix(root.as_str()));
                    below.for_each(|name| self.note(Effect::write(paths::normalise(&format!("{target}/{name}")))));
                }
                None if self.scene.facts.has(&inside) => self.touch_folder(target, &[]),
                None => {}
            }
            self.ask(inside);
        }
    }

    /// Read and written again in place; of a folder, everything below.
    fn edited(&mut self, text: &Text, doing: &Doing) {
        self.read(text);
        self.written(text);
        for spot in self.spots(text) {
            let Spot::At(path) = spot else { continue };
            let kind = Question::Kind { path: path.clone() };
            if self.scene.facts.text(&kind) == Some("folder") {
                self.note(Effect::ReadTree(Tree { root: path.clone(), names: doing.names(), ..Tree::default() }));
                self.touch_folder(&path, &doing.makes());
            }
            self.ask(kind);
        }
    }

    /// Replaced by a file beside it that is packed, or unpacked: its name with an ending more, or less.
    fn packed(&mut self, text: &Text, doing: &Doing) {
        self.read(text);
        self.written(text);
        for spot in self.spots(text) {
            let path = match spot {
                Spot::At(path) => path,
                Spot::Pattern(pattern) => {
                    self.note(Effect::Write { path: pattern + "*", incidental: false, glob: true });
                    continue;
                }
                Spot::Below(root, names) => {
                    let all = if names.is_empty() { vec![String::new()] } else { names };
                    for name in all {
                        let path = format!("{}/**/{name}*", escaped(&root));
                        self.note(Effect::Write { path, incidental: false, glob: true });
                    }
                    continue;
                }
                Spot::Anywhere(_) => continue,
            };
            let unpacked =
                PACKED.iter().find_map(|(ending, plain)| Some(format!("{}{plain}", path.strip_suffix(ending)?)));
            match doing.name.as_str() {
                _ if doing.reading.has("--suffix") => self.kept_beside(&path),
                "gzip" | "gunzip" | "zcat" | "gzcat" | "uncompress" => self.note(Effect::write(format!("{path}.gz"))),
                "bzip2" | "bunzip2" | "bzcat" => self.note(Effect::write(format!("{path}.bz2"))),
                "xz" | "unxz" | "xzcat" => {
                    for ending in ["xz", "lzma"] {
                        self.note(Effect::write(format!("{path}.{ending}")));
                    }
                }
                "lzma" | "unlzma" | "lzcat" => self.note(Effect::write(format!("{path}.lzma"))),
                "zstd" | "unzstd" | "zstdcat" => {
                    for ending in ["zst", "gz", "xz", "lzma", "lz4"] {
                        self.note(Effect::write(format!("{path}.{ending}")));
                    }
                }
                "lz4" | "unlz4" | "lz4cat" => self.note(Effect::write(format!("{path}.lz4"))),
                _ => self.kept_beside(&path),
            }
            if doing.name.starts_with('b') {
                // It opens what it replaces first.
                self.note(Effect::read(unpacked.clone().unwrap_or_else(|| format!("{path}.bz2"))));
            }
            if let Some(unpacked) = unpacked {
                self.note(Effect::write(unpacked));
            }
        }
    }

    /// `sed -i.bak`: each file is kept under its name with that ending.
    fn backed_up(&mut self, ending: &Text, doing: &Doing) {
        let Some(known) = ending.as_known().filter(|known| !known.contains(['*', '/'])) else {
            return self.unknown(format!("what is kept as `{}` is not known", ending.shown()));
        };
        let script = usize::from(!doing.reading.has("--expression") && !doing.reading.has("--file"));
        for field in doing.reading.operands.iter().skip(script) {
            let mut text = field.text.clone();
            text.push_str(known);
            self.written(&text);
        }
    }

    /// What is replaced is kept under a name that begins with its own (`a~`, `a.~1~`, `a.old`).
    fn kept_beside(&mut self, path: &str) {
        self.note(Effect::Write { path: prefix(path), incidental: false, glob: true });
    }

    /// Files are made whose names follow from a word.
    pub(super) fn written_like(&mut self, text: &Text, pattern: impl Fn(&str) -> String) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) => self.note(Effect::Write { path: pattern(&path), incidental: false, glob: true }),
                _ => self.written(text),
            }
        }
    }

    /// Files are made below a folder, by names that nobody knows before.
    pub(super) fn written_below(&mut self, text: &Text, names: &[String]) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) => self.touch_folder(&path, names),
                _ => self.written(text),
            }
        }
    }

    /// Names, sizes and times of everything below.
    pub(super) fn listed_below(&mut self, text: &Text) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) => self.note(Effect::List { path, deep: true, glob: false }),
                _ => self.touch(Touch::List, text),
            }
        }
    }

    /// Modes, owners or times of everything below, where it is a folder.
    fn changed_below(&mut self, text: &Text) {
        for spot in self.spots(text) {
            let Spot::At(path) = spot else { continue };
            let kind = Question::Kind { path: path.clone() };
            if self.scene.facts.text(&kind) != Some("file") {
                self.note(Effect::Metadata { path: escaped(&path) + "/**", glob: true });
            }
            self.ask(kind);
        }
    }

    /// Files below a folder are removed, by names that nobody knows before.
    pub(super) fn deleted_below(&mut self, text: &Text) {
        for spot in self.spots(text) {
            match spot {
                Spot::At(path) => {
                    self.note(Effect::Delete { path: escaped(&path) + "/**", recursive: true, glob: true });
                }
                _ => self.touch(Touch::DeleteTree, text),
            }
        }
    }

    fn touch_folder(&mut self, path: &str, names: &[String]) {
        let everything = ["**".to_owned()];
        let names: Vec<String> = match names {
            [] => everything.to_vec(),
            names => names.iter().map(|name| format!("**/{name}")).collect(),
        };
        for name in names {
            self.note(Effect::Write { path: format!("{}/{name}", escaped(path)), incidental: false, glob: true });
        }
    }
}
