//! Where git turns to: an address in the call, or one that the settings of the repository give to a name.

use checkrein_contract::{Connect, Deed, Effect, Question, Remotes};

use super::super::perform::Doing;
use super::super::places::{Spot, Touch};
use super::super::value::Text;
use super::super::walk::Walker;
use super::network::host_name;
use crate::git::{beside, without_user};
use crate::url::{self, Url};

/// Where a repository keeps its settings, from the top of its working tree.
const SETTINGS: &str = ".git/config";

/// A word that names a repository: an address, a path, or a remote.
pub(super) fn word(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let Some(known) = text.as_known() else {
        return walker.unknown(format!("which repository `{}` is, is not known before it runs", text.shown()));
    };
    if is_subcommand(doing, &["submodule", "add"]) && (known.starts_with("./") || known.starts_with("../")) {
        return beside_usual(walker, known, doing);
    }
    if known.starts_with(['/', '.', '~']) {
        return path(walker, text, doing);
    }
    let literal = known.contains(':') || known.contains('/');
    if literal {
        address(walker, known, doing, false);
    }
    // What is cloned has no remotes yet, and a path is one.
    if is_subcommand(doing, &["clone"]) && !literal {
        return path(walker, text, doing);
    }
    let told = ask(walker, &Remotes::Named(known.to_owned()), doing);
    match told {
        // An address goes where it says, unless a setting of the person or the repository rewrites it.
        Some(addresses) if literal => {
            for rewritten in addresses.iter().filter(|rewritten| !is_same(rewritten, known)) {
                address(walker, rewritten, doing, false);
            }
        }
        None if literal && !walker.state.remotes_changed => {}
        Some(addresses) if addresses.is_empty() => path(walker, text, doing),
        told => turn_to(walker, told, &format!("`{known}`"), &[SETTINGS], doing),
    }
}

/// What a command turns to without a word that says so.
pub(super) fn unnamed(walker: &mut Walker<'_>, doing: &mut Doing) {
    let words: Vec<String> = doing.reading.path.iter().skip(1).cloned().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let bare = doing.reading.operands.is_empty();
    match words.as_slice() {
        ["fetch" | "pull"] if doing.reading.has("--all") => led_by(walker, &Remotes::All, doing),
        ["fetch" | "pull" | "ls-remote"] if bare && !doing.reading.has("--multiple") => {
            led_by(walker, &Remotes::Usual, doing);
        }
        ["push"] if bare && !doing.reading.has("--repo") => led_by(walker, &Remotes::Usual, doing),
        ["remote", "update"] if bare => led_by(walker, &Remotes::All, doing),
        // Where its server is, is a matter of settings of its own (`lfs.url`, `.lfsconfig`).
        ["lfs", "fetch" | "pull" | "push" | "lock" | "unlock" | "locks"] => {
            walker.unknown("which server keeps the large files is not known before it runs");
        }
        _ => {}
    }
    // A fetch goes on into submodules that have something new; a push does where it is told to.
    let goes_on = match words.as_slice() {
        ["fetch" | "pull"] => !doing.reading.has("--no-recurse-submodules"),
        ["push"] => doing.reading.has("--recurse-submodules"),
        ["submodule", "update"] => true,
        _ => false,
    };
    if goes_on {
        led_by(walker, &Remotes::Submodules, doing);
    }
}

fn led_by(walker: &mut Walker<'_>, which: &Remotes, doing: &mut Doing) {
    let told = ask(walker, which, doing);
    let (what, settings): (_, &[&str]) = match which {
        Remotes::Submodules => ("the submodules", &[SETTINGS, ".gitmodules"]),
        _ => ("the repository that git turns to", &[SETTINGS]),
    };
    turn_to(walker, told, what, settings, doing);
}

/// What the settings say; `None` where nobody knows, or nobody was asked yet.
fn ask(walker: &mut Walker<'_>, which: &Remotes, doing: &Doing) -> Option<Vec<String>> {
    let mut addresses = Vec::new();
    let mut known = !walker.state.folders.unknown && !walker.state.remotes_changed;
    for folder in walker.state.folders.known.clone() {
        let home = walker.scene.place.home.clone();
        let question = Question::GitRemotes { folder, home, which: which.clone(), push: pushes(doing) };
        match walker.scene.facts.list(&question) {
            Some(told) => addresses.extend(told.iter().cloned()),
            // Before it was asked nothing is known; the next round is what counts.
            None => known = false,
        }
        walker.ask(question);
    }
    known.then_some(addresses)
}

/// Turns to what the settings name, which stand in these files of the project.
fn turn_to(walker: &mut Walker<'_>, told: Option<Vec<String>>, what: &str, settings: &[&str], doing: &mut Doing) {
    let Some(addresses) = told else {
        doing.connects = true;
        return walker.unknown(match walker.state.remotes_changed {
            true => format!("{what} was given another address in the same call"),
            false => format!("where {what} leads could not be found out"),
        });
    };
    if addresses.is_empty() {
        return;
    }
    let root = walker.scene.place.root.clone();
    let mut files: Vec<String> = settings.iter().map(|file| format!("{root}/{file}")).collect();
    for folder in walker.state.folders.known.clone() {
        if let Some(git) = walker.scene.facts.text(&Question::GitFolder { folder }) {
            files.push(format!("{git}/config"));
        }
    }
    files.sort();
    files.dedup();
    doing.rests_on.extend(files.into_iter().map(|path| Question::Changed { path }));
    for known in addresses {
        address(walker, &known, doing, true);
    }
}

/// An address, given in the call or by the settings (`own`).
fn address(walker: &mut Walker<'_>, known: &str, doing: &mut Doing, own: bool) {
    // `ext::COMMAND` and other helpers run programs.
    if known.split_once("::").is_some_and(|(helper, _)| !helper.contains('/')) {
        doing.deed(Deed::Code);
        return walker.unknown(format!("`{known}` starts a helper program"));
    }
    if let Some((scheme, rest)) = known.split_once("://") {
        doing.connects = true;
        if scheme == "file" {
            return path(walker, &Text::from(rest), doing);
        }
        let connect = match Url::parse(known) {
            Ok(url) => url.connect(),
            Err(_) => url::refused(),
        };
        return walker.note(Effect::Connect(Connect { own, ..connect }));
    }
    match known.split_once(':') {
        Some((host, _)) if !host.contains('/') => {
            doing.connects = true;
            let host = host_name(host);
            walker.note(Effect::Connect(Connect { host, port: 22, own, ..Connect::default() }));
        }
        _ => path(walker, &Text::from(known), doing),
    }
}

/// Another repository on this machine. What is fetched is read; where something is pushed, its files change and its hooks
/// run.
fn path(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    for spot in walker.spots(text) {
        let Spot::At(at) = spot else {
            walker.touch(Touch::Tree, text);
            continue;
        };
        let data = data_of(walker, &at);
        walker.touch(Touch::List, &Text::known(at));
        walker.touch(Touch::Tree, &Text::known(data.clone()));
        if pushes(doing) {
            doing.rests_on.push(Question::Changed { path: format!("{data}/hooks") });
            walker.written_below(&Text::known(data), &[]);
        }
    }
}

/// Where the data of a repository is that a path names.
fn data_of(walker: &mut Walker<'_>, path: &str) -> String {
    let kind = |path: &str| {
        let question = Question::Kind { path: path.to_owned() };
        let found = walker.scene.facts.text(&question).map(str::to_owned);
        walker.ask(question);
        found
    };
    let inside = format!("{path}/.git");
    match kind(&inside).as_deref() {
        Some("folder") => inside,
        // An added working tree, or a submodule: a file says where it is.
        Some("file") => {
            let question = Question::GitFolder { folder: path.to_owned() };
            let found = walker.scene.facts.text(&question).map(str::to_owned);
            walker.ask(question);
            found.unwrap_or(inside)
        }
        // `../other` may be `../other.git`.
        _ if kind(path).as_deref() == Some("none") && kind(&format!("{path}.git")).as_deref() == Some("folder") => {
            format!("{path}.git")
        }
        _ => path.to_owned(),
    }
}

/// `git submodule add ../x`: beside the repository that this one comes from.
fn beside_usual(walker: &mut Walker<'_>, relative: &str, doing: &mut Doing) {
    let told = ask(walker, &Remotes::Usual, doing);
    let beside = |addresses: Vec<String>| addresses.iter().map(|base| beside(base, relative)).collect::<Option<_>>();
    match told {
        // A repository without a remote is itself where it starts.
        Some(addresses) if addresses.is_empty() => path(walker, &Text::from(relative), doing),
        told => turn_to(walker, told.and_then(beside), &format!("`{relative}`"), &[SETTINGS], doing),
    }
}

/// Whether the settings left an address as it was; user and password of a URL are not told.
fn is_same(told: &str, written: &str) -> bool {
    told == written || told == without_user(written)
}

fn pushes(doing: &Doing) -> bool {
    is_subcommand(doing, &["push"])
}

fn is_subcommand(doing: &Doing, words: &[&str]) -> bool {
    doing.reading.path.iter().skip(1).map(String::as_str).eq(words.iter().copied())
}
