//! What was seen against what was foreseen: whatever has no effect that covers it is a hole in a model.

use std::collections::BTreeSet;
use std::path::Path;

use checkrein::contract::{Deed, Effect, Own};

use super::observe::Observed;
use super::world::World;

/// What was seen and not foreseen.
pub(crate) fn unforeseen(
    world: &World,
    effects: &[Effect],
    parts: &BTreeSet<String>,
    seen: &[Observed],
) -> BTreeSet<Observed> {
    let compare = Compare { world, effects, parts, code: runs_code(effects) };
    let passing = passing(seen, world);
    seen.iter()
        .filter(|one| !(compare.covers(one) || compare.beside(one) && passing.contains(path_of(one))))
        .cloned()
        .collect()
}

fn runs_code(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Run(run) if run.deeds.contains(&Deed::Code)))
}

fn path_of(seen: &Observed) -> &str {
    match seen {
        Observed::Read(path)
        | Observed::List(path)
        | Observed::Write(path)
        | Observed::Delete(path)
        | Observed::Metadata(path) => path,
        _ => "",
    }
}

/// Files that were made and are gone again: a program's way to a file that it writes.
fn passing<'a>(seen: &'a [Observed], world: &World) -> BTreeSet<&'a str> {
    let written =
        seen.iter().filter_map(|one| if let Observed::Write(path) = one { Some(path.as_str()) } else { None });
    written.filter(|path| !Path::new(path).exists() && !world.was_there(path)).collect()
}

struct Compare<'a> {
    world: &'a World,
    effects: &'a [Effect],
    /// Programs that are parts of the foreseen ones.
    parts: &'a BTreeSet<String>,
    /// Code of the project runs: its whole process tree is held to the grant, which is the project.
    code: bool,
}

impl Compare<'_> {
    fn covers(&self, seen: &Observed) -> bool {
        match seen {
            Observed::Read(path) => self.may_look(path) || self.any(|effect| reads(effect, path)),
            Observed::List(path) => self.may_look(path) || self.any(|effect| lists(effect, path)),
            Observed::Write(path) => self.may_change(path) || self.any(|effect| writes(effect, path)),
            Observed::Delete(path) => self.may_change(path) || self.any(|effect| deletes(effect, path)),
            Observed::Metadata(path) => self.may_change(path) || self.any(|effect| touches(effect, path)),
            Observed::Run(path) => self.code || self.wraps(path) || self.any(|effect| runs(effect, path, self.parts)),
            Observed::Connect(host, port) => self.any(|effect| connects(effect, host, *port)),
            Observed::Other(_) => false,
        }
    }

    /// A program that only starts another, which is foreseen in its place.
    fn wraps(&self, path: &str) -> bool {
        super::line::models().is_wrapper(path.rsplit('/').next().unwrap_or_default())
    }

    fn any(&self, test: impl Fn(&Effect) -> bool) -> bool {
        self.effects.iter().any(test)
    }

    /// Reading is judged below the project and the home. What a command made itself it may look at.
    fn may_look(&self, path: &str) -> bool {
        let made = || !self.world.was_there(path) && self.any(|effect| writes(effect, path));
        !self.world.is_ours(path) || self.granted(path, |own| own.reads.iter().chain(&own.writes)) || made()
    }

    fn may_change(&self, path: &str) -> bool {
        self.world.is_private(path) || self.granted(path, |own| own.writes.iter().chain(&[]))
    }

    /// Lies where code of the project may do as it likes, or a program on what is its own.
    fn granted<'o, I: Iterator<Item = &'o String>>(&'o self, path: &str, places: impl Fn(&'o Own) -> I) -> bool {
        let owns =
            |effect: &'o Effect| matches!(effect, Effect::Run(run) if places(&run.own).any(|place| below(path, place)));
        self.code && below(path, &self.world.root) || self.effects.iter().any(owns)
    }

    /// Stands in a folder in which something is written, or is replaced as a whole.
    fn beside(&self, seen: &Observed) -> bool {
        let (path, folder) = (path_of(seen), parent(path_of(seen)));
        let mut written =
            self.effects.iter().filter(|effect| matches!(effect, Effect::Write { .. } | Effect::Metadata { .. }));
        written.any(|effect| match effect.path() {
            Some(place) if effect.is_glob() => below(path, fixed(place)),
            Some(place) => parent(place) == folder || place == folder || below(path, place),
            None => false,
        })
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is(effect: &Effect, path: &str) -> bool {
    let Some(written) = effect.path() else { return false };
    if effect.is_glob() { matches(written, path) } else { written.trim_end_matches('/') == path }
}

fn matches(pattern: &str, path: &str) -> bool {
    let pattern = globset::GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    pattern.is_ok_and(|pattern| pattern.compile_matcher().is_match(path))
}

fn reads(effect: &Effect, path: &str) -> bool {
    match effect {
        Effect::Read { .. } => is(effect, path),
        Effect::ReadTree(tree) => below(path, &tree.root),
        // A script is read by its interpreter.
        Effect::Run(run) => run.program.contains('/') && path.ends_with(run.program.trim_start_matches("./")),
        // What a program keeps for itself it may read as well.
        Effect::Write { incidental: true, path: kept, glob: false } => below(path, kept),
        _ => false,
    }
}

/// A folder is opened for its names: to look at it, to read or remove what lies in it, to find what a pattern matches.
fn lists(effect: &Effect, path: &str) -> bool {
    match effect {
        Effect::List { path: folder, deep: true, .. } => below(path, folder),
        Effect::List { .. } | Effect::Read { .. } => {
            is(effect, path) || effect.is_glob() && effect.path().is_some_and(|pattern| on_the_way(path, pattern))
        }
        Effect::ReadTree(tree) => below(path, &tree.root),
        Effect::Delete { recursive: true, path: folder, glob: false } => below(path, folder),
        Effect::Write { incidental: true, path: kept, glob: false } => below(path, kept),
        _ => is(effect, path) || effect.is_glob() && effect.path().is_some_and(|pattern| on_the_way(path, pattern)),
    }
}

/// A folder on the way to a path, or the folder that it is.
fn leads_to(folder: &str, path: &str) -> bool {
    below(path, folder) && Path::new(folder).is_dir()
}

/// The folder below which a pattern begins.
fn fixed(pattern: &str) -> &str {
    let fixed = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    fixed.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A folder that has to be looked through for a pattern.
fn on_the_way(folder: &str, pattern: &str) -> bool {
    let top = fixed(pattern);
    below(folder, top) || below(top, folder)
}

fn writes(effect: &Effect, path: &str) -> bool {
    match effect {
        Effect::Write { incidental: true, path: kept, glob: false } => below(path, kept) || leads_to(path, kept),
        // Folders on the way to what is written are made.
        Effect::Write { path: written, glob: false, .. } => is(effect, path) || leads_to(path, written),
        Effect::Write { path: written, .. } => {
            let inside = || below(path, fixed(written)) && Path::new(path).is_dir() && written.contains("**");
            is(effect, path) || leads_to(path, fixed(written)) || inside()
        }
        Effect::Run(run) => run.own.writes.iter().any(|place| leads_to(path, place)),
        _ => false,
    }
}

fn deletes(effect: &Effect, path: &str) -> bool {
    match effect {
        Effect::Delete { recursive: true, path: folder, glob: false } => below(path, folder),
        Effect::Delete { .. } => is(effect, path),
        // Replaced, or given another name.
        Effect::Write { .. } => writes(effect, path),
        _ => false,
    }
}

fn touches(effect: &Effect, path: &str) -> bool {
    match effect {
        Effect::Metadata { .. } => is(effect, path),
        Effect::Write { .. } => writes(effect, path),
        _ => false,
    }
}

fn runs(effect: &Effect, path: &str, parts: &BTreeSet<String>) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    parts.contains(name) || matches!(effect, Effect::Run(run) if run.program.rsplit('/').next() == Some(name))
}

fn connects(effect: &Effect, host: &str, port: u16) -> bool {
    let Effect::Connect(to) = effect else { return false };
    let loopback = |name: &str| matches!(name, "localhost" | "127.0.0.1" | "::1");
    (to.host == host || loopback(&to.host) && loopback(host)) && (to.port == port || to.port == 0)
}
