//! From a grant to a view: what of the file system a call's programs see, and what of that they may change. Names that
//! were judged are looked up by their real paths; what was not granted is not there, or can not be changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use checkrein_contract::{Deed, Effect, EffectWord, Run};
use checkrein_gate::{CONTROL_FILES, Grant};
use globset::GlobSet;

use crate::host::{Host, shown};
use crate::plan::{Node, NodeKind, Repository};
use crate::tree;

/// Neighbours of a file that is granted, at most: each is held by a mount of its own.
const MOST_NEIGHBOURS: usize = 4_000;
/// Folders with files for a short time.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// What is said of a place counts over what is said of it with a smaller one of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Given,
    Named,
    Changed,
    Held,
    Hidden,
}

/// What one call is given.
pub(crate) struct Given {
    pub(crate) view: Vec<Node>,
    /// Sockets of others in folders that may be changed, by device and number.
    pub(crate) sockets: Vec<(u64, u64)>,
    /// Paths that were granted by name to be made and changed.
    pub(crate) named: Vec<String>,
    /// Patterns of names that rules keep from being written.
    pub(crate) kept: Vec<String>,
    /// Git's folders that are there, besides the project's own.
    pub(crate) repositories: Vec<Repository>,
}

/// The view that one call is given.
pub(crate) struct View<'a> {
    grant: &'a Grant,
    root: PathBuf,
    places: BTreeMap<String, (Weight, NodeKind)>,
    /// Paths that were granted to be made and changed, by name.
    named: BTreeSet<PathBuf>,
    /// These, and those that may be removed: no neighbours of others.
    changed: BTreeSet<PathBuf>,
    /// Folders that may be changed with all that is in them.
    whole: BTreeSet<PathBuf>,
    /// Folders that are given for the sake of a path in them, and otherwise are not.
    opened: BTreeSet<PathBuf>,
    sockets: Vec<(u64, u64)>,
    repositories: Vec<PathBuf>,
}

impl<'a> View<'a> {
    /// Makes it. `private` says whether folders can begin empty here: without that the person's own things are simply
    /// not given.
    ///
    /// # Errors
    /// Why it can not be told what the view must hide.
    pub(crate) fn of(grant: &'a Grant, host: &'a Host, private: bool) -> Result<Given, String> {
        let root = PathBuf::from(&grant.place().root);
        let root = root.canonicalize().unwrap_or(root);
        let mut view = Self {
            grant,
            root,
            places: BTreeMap::new(),
            named: BTreeSet::new(),
            changed: BTreeSet::new(),
            whole: BTreeSet::new(),
            opened: BTreeSet::new(),
            sockets: Vec::new(),
            repositories: Vec::new(),
        };
        if private {
            for folder in TEMPORARY.iter().map(PathBuf::from).chain([host.home.clone()]) {
                if folder.is_dir() && folder.parent().is_some() && !folder.is_symlink() {
                    view.put(&folder, Weight::Given, NodeKind::Private);
                }
            }
        }
        for (path, kind) in &host.places {
            let weight = if *kind == NodeKind::Hidden { Weight::Hidden } else { Weight::Given };
            view.put(Path::new(path), weight, kind.clone());
        }
        let root = view.root.clone();
        view.put(&root, Weight::Named, NodeKind::Read);
        // What is given whole comes first: nothing in it has to be held for the sake of a neighbour.
        for effect in grant.effects() {
            view.whole(effect);
        }
        for effect in grant.effects() {
            view.part(effect);
        }
        // What may be written may be removed and have its mode changed as well.
        for effect in grant.effects() {
            view.less(effect);
        }
        view.hide_and_hold(&host.loose)?;
        let repositories = view.repositories.iter().filter_map(|folder| {
            let found = folder.metadata().ok()?;
            Some(Repository { at: shown(folder), is: (found.dev(), found.ino()) })
        });
        Ok(Given {
            repositories: repositories.collect(),
            view: view.places.into_iter().map(|(at, (_, kind))| Node { at, kind }).collect(),
            sockets: view.sockets,
            named: view.named.iter().map(|path| shown(path)).collect(),
            kept: grant.guarded(EffectWord::Write),
        })
    }

    fn put(&mut self, path: &Path, weight: Weight, kind: NodeKind) {
        let place = self.places.entry(shown(path)).or_insert_with(|| (weight, kind.clone()));
        if weight >= place.0 {
            *place = (weight, kind);
        }
    }

    fn real(&self, written: &str) -> PathBuf {
        PathBuf::from(self.grant.real_path(written))
    }

    /// Where a path leads, or of a pattern the folder that all it matches lies in.
    fn place(&self, path: &str, glob: bool) -> PathBuf {
        if glob { fixed_part(path) } else { self.real(path) }
    }

    fn whole(&mut self, effect: &Effect) {
        match effect {
            Effect::Write { path, glob: true, .. } | Effect::Delete { path, glob: true, .. } => {
                let folder = fixed_part(path);
                if folder.is_dir() {
                    self.change_whole(&folder);
                }
            }
            Effect::Write { path, .. } => {
                let real = self.real(path);
                if real.is_dir() {
                    self.change_whole(&real);
                }
            }
            Effect::Run(run) => self.run(run),
            // A tool of the host, declared by it: its program works where the call does. One that declares what it
            // writes is held to that.
            Effect::Tool { .. } if !self.changes_files() => {
                let root = self.root.clone();
                self.change_whole(&root);
            }
            _ => {}
        }
    }

    fn part(&mut self, effect: &Effect) {
        match effect {
            Effect::Read { path, glob } => {
                let real = self.place(path, *glob);
                self.read(&real, NodeKind::Read);
            }
            Effect::ReadTree(tree) => {
                let real = self.real(&tree.root);
                self.read(&real, NodeKind::Read);
            }
            Effect::List { path, glob, .. } => {
                let real = self.place(path, *glob);
                self.read(&real, NodeKind::List);
            }
            Effect::Write { path, glob: false, .. } => {
                let real = self.real(path);
                self.write_one(&real);
            }
            Effect::Run(run) => {
                for path in &run.own.writes {
                    let real = self.real(path);
                    if real.starts_with(&self.root) {
                        self.write_one(&real);
                    }
                }
            }
            Effect::Write { .. }
            | Effect::Delete { .. }
            | Effect::Metadata { .. }
            | Effect::Tool { .. }
            | Effect::Connect(_)
            | Effect::Unknown { .. } => {}
        }
    }

    /// What is granted less than writing.
    fn less(&mut self, effect: &Effect) {
        match effect {
            Effect::Delete { path, glob: false, .. } => {
                let real = self.real(path);
                self.change_one(&real);
                if !self.is_written(&real) && real.symlink_metadata().is_ok() {
                    self.put(&real, Weight::Changed, NodeKind::Removed);
                }
            }
            Effect::Metadata { path, glob } => {
                let real = self.place(path, *glob);
                if real.exists() && !self.is_written(&real) {
                    self.put(&real, Weight::Changed, NodeKind::Mode);
                }
            }
            _ => {}
        }
    }

    /// Whether a path may be written, by its own name or by that of a folder around it.
    fn is_written(&self, real: &Path) -> bool {
        real.ancestors().any(|above| self.named.contains(above) || self.whole.contains(above))
    }

    fn changes_files(&self) -> bool {
        let words = [EffectWord::Write, EffectWord::Delete, EffectWord::Metadata];
        self.grant.effects().iter().any(|effect| words.contains(&effect.word()))
    }

    /// Gives something to be read, unless a place around it is given already.
    fn read(&mut self, path: &Path, kind: NodeKind) {
        let given = path.ancestors().find_map(|above| self.places.get(shown(above).as_str()));
        let is_given = matches!(
            given,
            Some((_, NodeKind::Read | NodeKind::Write | NodeKind::Opened | NodeKind::Layered | NodeKind::Link(_)))
        );
        // The top of everything is made of the places below it.
        if !is_given
            && path.exists()
            && path.parent().is_some()
            && !path.starts_with("/proc")
            && !path.starts_with("/dev")
        {
            self.put(path, Weight::Named, kind);
        }
    }

    fn run(&mut self, run: &Run) {
        for path in &run.own.reads {
            let real = self.real(path);
            self.read(&real, NodeKind::Read);
        }
        for path in &run.own.writes {
            let real = self.real(path);
            if real.starts_with(&self.root) && real.is_dir() {
                self.change_whole(&real);
            } else if !real.starts_with(&self.root) {
                self.keep_apart(&real);
            }
        }
        if run.program.starts_with('/') {
            let real = self.real(&run.program);
            self.read(&real, NodeKind::Read);
        }
        if !run.modelled || run.deeds.contains(&Deed::Code) {
            self.change_by_rules();
        }
    }

    /// What a program keeps outside the project: it may change it, and the changes are its own.
    fn keep_apart(&mut self, real: &Path) {
        let place = |above: &&Path| self.places.get(shown(above).as_str()).map(|(_, kind)| kind.clone());
        let given = real.ancestors().find(|above| matches!(place(above), Some(NodeKind::Read | NodeKind::Layered)));
        let folder = given.map(Path::to_owned).or_else(|| real.is_dir().then(|| real.to_owned()));
        if let Some(folder) = folder.filter(|folder| folder.is_dir() && !self.root.starts_with(folder)) {
            self.put(&folder, Weight::Changed, NodeKind::Layered);
        }
    }

    /// What the rules let anybody write, a program that runs the project's code may write as well.
    fn change_by_rules(&mut self) {
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let folders =
            folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        let folders: Vec<PathBuf> = folders.collect();
        for folder in [self.root.clone()].into_iter().chain(folders) {
            // A name that no rule knows: what is allowed for it is allowed for the folder.
            let probe = folder.join("any-file-at-all");
            if self.grant.rules_allow_writing(&shown(&probe)) {
                self.change_whole(&folder);
            }
        }
    }

    fn change_whole(&mut self, folder: &Path) {
        self.whole.insert(folder.to_owned());
        self.put(folder, Weight::Changed, NodeKind::Write);
    }

    /// Whether a folder may be read apart from what is changed in it.
    fn is_given(&self, folder: &Path) -> bool {
        if folder.starts_with(&self.root) {
            return true;
        }
        let mut above = folder.ancestors().filter(|above| !self.opened.contains(*above));
        let innermost = above.find_map(|above| self.places.get(shown(above).as_str()));
        matches!(innermost, Some((_, NodeKind::Read | NodeKind::Write | NodeKind::Layered)))
    }

    /// Gives one path to be made, changed, replaced or removed.
    fn write_one(&mut self, real: &Path) {
        self.named.insert(real.to_owned());
        self.change_one(real);
    }

    /// Gives what a path needs to come and go: its folder is given, and what else is in there is held.
    fn change_one(&mut self, real: &Path) {
        if real.starts_with("/dev") || real.starts_with("/proc") {
            return;
        }
        self.changed.insert(real.to_owned());
        if real.ancestors().any(|above| self.whole.contains(above)) {
            return;
        }
        let folder = real.ancestors().skip(1).find(|folder| folder.is_dir());
        let Some(folder) = folder.filter(|folder| folder.parent().is_some()) else { return };
        let Ok(entries) = fs::read_dir(folder) else { return };
        let entries: Vec<_> = entries.flatten().take(MOST_NEIGHBOURS + 1).collect();
        if entries.len() > MOST_NEIGHBOURS {
            // Too many to be held one by one: only the file as it is can be changed, not replaced.
            if real.exists() && self.named.contains(real) {
                self.put(real, Weight::Changed, NodeKind::Write);
            }
            return;
        }
        let neighbours_are_given = self.is_given(folder);
        self.opened.insert(folder.to_owned());
        self.put(folder, Weight::Changed, NodeKind::Opened);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(fs::FileType::is_symlink) || self.places.contains_key(shown(&path).as_str()) {
                continue;
            }
            // A socket that can be seen can be connected to, whoever may write. And where nothing but this one path was
            // granted, the neighbours are none of the call's business.
            let hidden = !neighbours_are_given || kind.is_ok_and(|kind| kind.is_socket());
            let kind = if hidden { NodeKind::Hidden } else { NodeKind::Read };
            self.put(&path, Weight::Named, kind);
        }
    }

    /// Takes out what is given too much: secrets in trees that may be read, control files in trees that may be changed.
    fn hide_and_hold(&mut self, loose: &[PathBuf]) -> Result<(), String> {
        // A granted path is no neighbour of another one.
        let changed: Vec<PathBuf> = self.changed.iter().cloned().collect();
        for path in &changed {
            if let Some((Weight::Named, NodeKind::Read)) = self.places.get(shown(path).as_str()) {
                self.places.remove(shown(path).as_str());
            }
        }
        let mut trees: BTreeSet<String> = BTreeSet::from([shown(&self.root)]);
        let below = |path: &str, above: &str| Path::new(path).starts_with(above);
        for (path, (weight, kind)) in &self.places {
            let granted =
                *weight >= Weight::Named && matches!(kind, NodeKind::Read | NodeKind::Write | NodeKind::Opened);
            let walked = granted && (self.is_given(Path::new(path)) || !self.opened.contains(Path::new(path)));
            if walked && Path::new(path).is_dir() && !trees.iter().any(|tree| below(path, tree)) {
                trees.insert(path.clone());
            }
        }
        let sets = [self.patterns(EffectWord::Read)?, self.patterns(EffectWord::Write)?];
        for path in loose.iter().filter(|path| sets.first().is_some_and(|read| read.is_match(path))) {
            if !holds_only_certificates(path) {
                self.hide(path);
            }
        }
        for tree in &trees {
            let found = tree::walk(Path::new(tree), &sets);
            for (set, path) in found.matches {
                if set == 0 { self.hide(&path) } else { self.hold(&path) }
            }
            self.repositories.extend(found.repositories);
            // Whoever sees a socket can speak to it. In a folder that may be changed it may be a program's own, left from
            // before: that can be removed there, and is told from others by being connected to.
            for socket in found.sockets {
                let innermost = socket.ancestors().find_map(|above| self.places.get(shown(above).as_str()));
                if !innermost.is_some_and(|(_, kind)| matches!(kind, NodeKind::Write | NodeKind::Opened)) {
                    self.put(&socket, Weight::Hidden, NodeKind::Hidden);
                } else if !self.changed.contains(&socket)
                    && let Ok(found) = socket.symlink_metadata()
                {
                    self.sockets.push((found.dev(), found.ino()));
                }
            }
        }
        let root = self.root.clone();
        for path in CONTROL_FILES.iter().map(|name| root.join(name)) {
            if !self.changed.contains(&path) {
                let kind = if path.exists() { NodeKind::Read } else { NodeKind::Absent };
                self.put(&path, Weight::Held, kind);
            }
        }
        self.second_names(&trees, loose);
        Ok(())
    }

    /// What is hidden or held by one name is so by every other name that it has in what is given.
    fn second_names(&mut self, trees: &BTreeSet<String>, loose: &[PathBuf]) {
        for kept in [Weight::Held, Weight::Hidden] {
            let places = self.places.iter().filter(|(_, (weight, _))| *weight == kept);
            let files: BTreeSet<(u64, u64)> = places.filter_map(|(path, _)| tree::shared(Path::new(path))).collect();
            if files.is_empty() {
                continue;
            }
            let loose = loose.iter().filter(|path| tree::shared(path).is_some_and(|file| files.contains(&file)));
            let names = trees.iter().flat_map(|tree| tree::names(Path::new(tree), &files, usize::MAX));
            for name in names.chain(loose.cloned()) {
                self.put(&name, kept, if kept == Weight::Hidden { NodeKind::Hidden } else { NodeKind::Read });
            }
        }
    }

    fn patterns(&self, word: EffectWord) -> Result<GlobSet, String> {
        tree::patterns(&self.grant.guarded(word)).ok_or_else(|| "a rule has a pattern that can not be read".to_owned())
    }

    /// Hides what rules keep from being read, unless the call was granted that very path.
    fn hide(&mut self, path: &Path) {
        // A link can not be covered: what it leads to is, if that is in the view at all.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let kept = [path, &real].iter().any(|path| self.grant.is_kept_from_reading(&shown(path)));
        let mut effects = self.grant.effects().iter().filter(|effect| !matches!(effect, Effect::List { .. }));
        if kept && !effects.any(|effect| effect.path().is_some_and(|path| self.real(path) == real)) {
            self.put(&real, Weight::Hidden, NodeKind::Hidden);
        }
    }

    /// Holds what rules keep from being changed, unless the call was granted that very path.
    fn hold(&mut self, path: &Path) {
        if !path.is_symlink() && !self.changed.contains(path) && self.grant.is_kept_from_writing(&shown(path)) {
            self.put(path, Weight::Held, NodeKind::Read);
        }
    }
}

/// Whom to trust, as tool chains bring it along: nobody's secret, whatever it is called.
fn holds_only_certificates(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.contains("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY")
}

/// The folder in front of the first part of a pattern that is one.
fn fixed_part(pattern: &str) -> PathBuf {
    let mut fixed = PathBuf::from("/");
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if part.contains(['*', '?', '[', '\\']) {
            break;
        }
        fixed.push(part);
    }
    fixed
}
