//! git: revisions, pathspecs and remotes, and what a repository may bring along.

use checkrein_contract::{Deed, Effect, Question};

use super::super::flow::Flow;
use super::super::perform::Doing;
use super::super::places::{Spot, Touch, last_name};
use super::super::value::{Piece, Text};
use super::super::walk::Walker;
use super::remotes;
use crate::commands::{Reading, Role};
use crate::paths;

/// What a word of git does.
pub(in super::super) fn word(walker: &mut Walker<'_>, role: Role, text: &Text, doing: &mut Doing) {
    match role {
        Role::Remote => remotes::word(walker, text, doing),
        Role::Pathspec => pathspec(walker, text, brings_back(doing)),
        Role::Revision => {
            let behind_dashes = doing.reading.dashes.is_some_and(|dashes| {
                let at = doing.reading.operands.iter().position(|field| field.text == *text);
                at.is_some_and(|at| at >= dashes)
            });
            let touch = brings_back(doing);
            if behind_dashes { pathspec(walker, text, touch) } else { revision(walker, text, touch) }
        }
        // `/from/,+5:src/a.rs`, `:function:src/a.rs`, `1,2:src/a.rs`.
        Role::Range => match text.as_known().and_then(|known| known.rsplit_once(':')) {
            Some((_, path)) => walker.read(&Text::from(path)),
            None if text.is_known() => {}
            None => walker.unknown(format!("the range `{}` is not known before it runs", text.shown())),
        },
        _ => {
            if !text.is_known() {
                walker.unknown(format!("the reference `{}` is not known before it runs", text.shown()));
            }
        }
    }
}

/// `git checkout REV -- PATH` writes the path; elsewhere what is named is read.
fn brings_back(doing: &Doing) -> Touch {
    match doing.reading.path.get(1).map(String::as_str) {
        Some("checkout" | "restore") => Touch::Write,
        _ => Touch::Read,
    }
}

/// A path as git takes it. What it names in a commit is the same secret as the file itself.
fn pathspec(walker: &mut Walker<'_>, text: &Text, touch: Touch) {
    let Some(known) = text.as_known() else {
        return walker.touch(touch, text);
    };
    if let Some(magic) = known.strip_prefix(':') {
        // `:!x`, `:^x`, `:(exclude)x` leave out; `:/x`, `:(top)x` start at the top.
        if magic.starts_with(['!', '^']) || magic.starts_with("(exclude)") {
            return;
        }
        let rest = magic.rsplit_once(')').map_or(magic.trim_start_matches('/'), |(_, rest)| rest);
        let path = format!("{}/{rest}", walker.scene.place.root);
        return named(walker, &Text::known(path), touch);
    }
    named(walker, text, touch);
}

fn named(walker: &mut Walker<'_>, text: &Text, touch: Touch) {
    let known = text.as_known().unwrap_or_default();
    if known.contains(['*', '?', '[']) {
        let mut pattern = Text::default();
        pattern.push(Piece::Glob(known.to_owned()));
        return walker.touch(touch, &pattern);
    }
    if touch == Touch::Write {
        return walker.written(text);
    }
    for spot in walker.spots(text) {
        let Spot::At(path) = spot else { continue };
        let kind = Question::Kind { path: path.clone() };
        // Of a folder git prints what its commits hold, and secrets are not among it unless somebody put them there.
        let folder = walker.scene.facts.text(&kind) == Some("folder");
        walker.ask(kind);
        walker.note(if folder { Effect::List { path, deep: true, glob: false } } else { Effect::read(path) });
    }
}

/// A revision; `REV:path` names a file in it, and a word that is a path in the folder may be meant as one.
fn revision(walker: &mut Walker<'_>, text: &Text, touch: Touch) {
    let Some(known) = text.as_known() else {
        return walker.unknown(format!("the revision `{}` is not known before it runs", text.shown()));
    };
    if known.starts_with(":/") || known.contains("^{/") {
        return;
    }
    if let Some((_, path)) = known.split_once(':') {
        let path = path.strip_prefix(['0', '1', '2', '3']).and_then(|rest| rest.strip_prefix(':')).unwrap_or(path);
        if path.is_empty() {
            return;
        }
        let relative = path.starts_with("./") || path.starts_with("../");
        let whole = if relative { path.to_owned() } else { format!("{}/{path}", walker.scene.place.root) };
        return walker.read(&Text::known(whole));
    }
    // No revision looks like this.
    if known.starts_with(['/', '~'])
        || known.starts_with("./")
        || known.starts_with("../")
        || known == ".."
        || known.contains("/../")
    {
        return named(walker, text, touch);
    }
    for spot in walker.spots(text) {
        let Spot::At(path) = spot else { continue };
        let kind = Question::Kind { path: path.clone() };
        match walker.scene.facts.text(&kind) {
            Some("file" | "folder") if touch == Touch::Write => walker.note(Effect::write(path)),
            Some("file") => walker.note(Effect::read(path)),
            Some("folder") => walker.note(Effect::List { path, deep: true, glob: false }),
            _ => {}
        }
        walker.ask(kind);
    }
}

/// The names that `git ls-files` prints; `None` where an option, or a pathspec that leaves out or starts at the top, makes
/// them others.
fn listed(reading: &Reading) -> Option<Vec<Text>> {
    let plain = |name: &str| {
        matches!(name, "--cached" | "-c" | "--modified" | "--others" | "--exclude-standard" | "-z" | "--deduplicate")
    };
    let magic = |known: &str| known.starts_with(':');
    if !reading.given.iter().all(|given| plain(&given.name))
        || reading.operands.iter().any(|field| field.text.as_known().is_some_and(magic))
    {
        return None;
    }
    let below = |path: &str, names: Vec<String>| {
        let mut text = Text::from(path);
        text.push(Piece::Below(names));
        text
    };
    let one = |known: &str| match known.rsplit_once('/') {
        _ if !known.contains(['*', '?', '[']) => below(known, Vec::new()),
        Some((folder, name)) if !folder.contains(['*', '?', '[']) => below(folder, vec![name.to_owned()]),
        _ => below(".", vec![known.rsplit('/').next().unwrap_or(known).to_owned()]),
    };
    let known: Option<Vec<Text>> = reading.operands.iter().map(|field| field.text.as_known().map(one)).collect();
    Some(known.filter(|roots| !roots.is_empty()).unwrap_or_else(|| vec![below(".", Vec::new())]))
}

/// The file that `git config` writes, where that is not the repository's own.
fn writes_settings(walker: &mut Walker<'_>, reading: &Reading) {
    if let Some(file) = reading.values("--file").next_back() {
        walker.written(file);
    } else if reading.has("--global") {
        let home = walker.scene.place.home.clone();
        walker.note(Effect::write(format!("{home}/.gitconfig")));
    } else if reading.has("--system") {
        walker.note(Effect::write("/etc/gitconfig"));
    }
}

/// Without a folder a clone is named after the repository. `x.bundle` may be a file, which is left out, or a folder.
fn clone_folders(address: &Text, bare: bool) -> Vec<String> {
    let Some(known) = address.as_known().map(str::to_owned).or_else(|| last_name(address)) else { return Vec::new() };
    let rest = known.split_once("://").map_or(known.as_str(), |(_, rest)| rest);
    let end = |text: &str| text.trim_end_matches(|c: char| c == '/' || c.is_ascii_whitespace()).len();
    let rest = rest.get(..end(rest)).unwrap_or_default();
    let rest = rest.strip_suffix("/.git").map_or(rest, |above| above.trim_end_matches('/'));
    // Of a host alone, its port is left out.
    let rest = match rest.rsplit_once(':') {
        Some((host, port)) if !rest.contains('/') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => rest,
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let begin = rest.get(..host_end).and_then(|front| front.rfind('@')).map_or(0, |at| at + 1);
    let last = rest.get(begin..).unwrap_or_default().rsplit(['/', ':']).next().unwrap_or_default();
    let names = [Some(last.strip_suffix(".git").unwrap_or(last)), last.strip_suffix(".bundle")];
    let words = |name: &str| {
        let parts = name.split(|c: char| c.is_ascii_control() || c.is_ascii_whitespace());
        let plain = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        if bare { format!("{plain}.git") } else { plain }
    };
    names.into_iter().flatten().filter(|name| !name.is_empty()).map(words).collect()
}

/// What every git command may bring along, and what it leaves behind for the next one.
pub(super) fn after(walker: &mut Walker<'_>, doing: &mut Doing) {
    let path = doing.reading.path.clone();
    let words: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
    if matches!(words.as_slice(), ["clone"] | ["submodule", "add"])
        && let [address] = doing.reading.operands.as_slice()
    {
        let bare = doing.reading.has("--bare") || doing.reading.has("--mirror");
        for folder in clone_folders(&address.text, bare) {
            walker.give(Role::Keep, &Text::known(folder), doing);
        }
    }
    if matches!(words.first(), None | Some(&("version" | "help" | "clone"))) {
        return;
    }
    remotes::unnamed(walker, doing);
    let reading = &doing.reading;
    let root = walker.scene.place.root.clone();
    for folder in walker.state.folders.known.clone() {
        doing.rests_on.push(Question::GitHelpers { folder: folder.clone() });
        let question = Question::GitFolder { folder: folder.clone() };
        if let Some(git) = walker.scene.facts.text(&question).map(str::to_owned)
            && !paths::is_within(&git, &root)
        {
            walker.note(Effect::List { path: git, deep: true, glob: false });
        }
        walker.ask(question);
    }
    if doing.deeds.contains(&Deed::Changes) {
        let hooks = Question::Changed { path: format!("{root}/.git/hooks") };
        doing.rests_on.push(hooks);
    }
    if words.first() == Some(&"push") {
        // `+ref` forces, `:ref` deletes.
        let begins = |mark: char| reading.operands.iter().skip(1).any(|field| field.text.prefix().starts_with(mark));
        let implied = [("--force", begins('+')), ("--delete", begins(':'))];
        doing.implied = implied.into_iter().filter(|(_, is)| *is).map(|(option, _)| option).collect();
    }
    let operand = |at: usize| reading.operands.get(at).and_then(|field| field.text.as_known());
    match words.as_slice() {
        ["remote", "add" | "set-url" | "rename" | "remove"] => walker.state.remotes_changed = true,
        ["config", ..] => {
            let key = operand(0).unwrap_or_default().to_ascii_lowercase();
            let sets = ["remote.", "url.", "include.", "includeif."].iter().any(|section| key.starts_with(section));
            walker.state.remotes_changed |= sets && reading.operands.len() > 1;
            if doing.deeds.contains(&Deed::Changes) {
                writes_settings(walker, reading);
            }
        }
        ["ls-files"] => doing.output = listed(reading).map(Flow::Names),
        _ => {}
    }
}
