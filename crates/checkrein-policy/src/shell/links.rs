//! Links that a call makes and then uses: the facts, gathered before, do not know them.

use std::collections::VecDeque;

use checkrein_contract::{Effect, Tree};

use super::perform::Doing;
use super::places::{Spot, last_name};
use super::state::Link;
use super::value::{Text, escaped};
use super::walk::Walker;
use crate::paths;

/// Links that are followed one after the other, at most: as many as the kernel follows (40).
const MOST_FOLLOWED: usize = 40;

/// The effects on what lies behind links. An effect on a path that leads nowhere known is not understood.
pub(super) fn through(links: &[Link], effect: &Effect) -> Vec<Effect> {
    let (mut found, mut left) = (Vec::new(), VecDeque::from([effect.clone()]));
    while let Some(effect) = left.pop_front() {
        for other in links.iter().filter_map(|link| behind(link, &effect)) {
            if found.len() >= MOST_FOLLOWED {
                found.push(Effect::unknown("it goes through more links than are followed"));
                return found;
            }
            if other != effect && !found.contains(&other) {
                found.push(other.clone());
                left.push_back(other);
            }
        }
    }
    found
}

fn behind(link: &Link, effect: &Effect) -> Option<Effect> {
    let path = effect.path()?;
    // A copy is read like what it was made of; what is done to it is not done to that.
    if link.copy && !matches!(effect, Effect::Read { .. } | Effect::ReadTree(_)) {
        return None;
    }
    let name = if effect.is_glob() { escaped(&link.path) } else { link.path.clone() };
    let deep = matches!(effect, Effect::ReadTree(_) | Effect::List { deep: true, .. }) || effect.is_glob();
    let rest = if paths::is_within(path, &name) {
        path.get(name.len()..).unwrap_or_default()
    } else if deep && paths::is_within(&name, fixed(path, effect.is_glob())) {
        // It comes upon the link on its way.
        if effect.is_glob() { "/**" } else { "" }
    } else {
        return None;
    };
    if rest.is_empty() && matches!(effect, Effect::Delete { .. }) {
        // The link goes, not what it leads to.
        return None;
    }
    let Some(target) = &link.target else {
        return Some(Effect::unknown(format!("where the link `{}` leads is not known before it runs", link.path)));
    };
    let target = if effect.is_glob() { escaped(target) } else { target.clone() };
    let new = paths::normalise(&format!("{target}{rest}"));
    let mut effect = effect.clone();
    match &mut effect {
        Effect::Read { path, .. }
        | Effect::List { path, .. }
        | Effect::Write { path, .. }
        | Effect::Delete { path, .. }
        | Effect::Metadata { path, .. }
        | Effect::ReadTree(Tree { root: path, .. }) => *path = new,
        Effect::Run(_) | Effect::Connect(_) | Effect::Tool { .. } | Effect::Unknown { .. } => return None,
    }
    Some(effect)
}

/// The folder below which a pattern looks.
fn fixed(path: &str, glob: bool) -> &str {
    if !glob {
        return path;
    }
    let end = path.find(['*', '?', '[']).unwrap_or(path.len());
    path.get(..end).and_then(|fixed| fixed.rsplit_once('/')).map_or("/", |(folder, _)| folder)
}

impl Walker<'_> {
    /// `ln TARGET... PLACE`: remembers where the new names lead. `places` are the paths that the links get.
    pub(super) fn linked(&mut self, source: &Text, place: &str, doing: &Doing) {
        let symbolic = doing.reading.has("--symbolic") && !doing.reading.has("--relative");
        let folder = place.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let target = match source.as_known() {
            // What a symbolic link says is read from where it lies.
            Some(known) if symbolic => {
                let style = self.scene.place.paths;
                let absolute = paths::is_absolute(known, style);
                let whole = if absolute { known.to_owned() } else { format!("{folder}/{known}") };
                Some(paths::from_root(&whole, style))
            }
            _ => match self.spots(source).as_slice() {
                [Spot::At(path)] => Some(path.clone()),
                _ => None,
            },
        };
        self.state.links.push(Link { path: place.to_owned(), target, copy: false });
    }

    /// `ln TARGET`: the link gets the target's name, in the working directory.
    pub(super) fn linked_here(&mut self, source: &Text, doing: &Doing) {
        let name = last_name(source).map(Text::known);
        let Some(name) = name else { return self.unknown("how the link is called is not known before it runs") };
        self.written(&name);
        for spot in self.spots(&name) {
            if let Spot::At(place) = spot {
                self.linked(source, &place, doing);
            }
        }
    }

    /// `mv` and `cp`: what lies under the new name is what lay under the old one.
    pub(super) fn renamed(&mut self, source: &Text, place: &str) {
        for spot in self.spots(source) {
            if let Spot::At(path) = spot
                && path != place
            {
                self.state.links.push(Link { path: place.to_owned(), target: Some(path), copy: true });
            }
        }
    }
}
