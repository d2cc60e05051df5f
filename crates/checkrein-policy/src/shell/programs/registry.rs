//! The registry that a package manager turns to where no word says which.

use checkrein_contract::{Connect, Effect, Question};

use super::super::perform::Doing;
use super::super::places::{Spot, Touch};
use super::super::value::Text;
use super::super::walk::Walker;
use super::network::host_name;
use crate::url::{self, Url};

/// Notes the connections to the registry. It goes with the program, as the person who lets that run knows what it is for;
/// where a settings file may name another one, nobody knows which it is.
pub(in super::super) fn registry(walker: &mut Walker<'_>, doing: &mut Doing) {
    let tables = doing.reading.tables.clone();
    let given = |options: &[String]| options.iter().any(|option| doing.reading.has(option));
    if tables.iter().any(|table| given(&table.offline)) {
        return;
    }
    let registries = tables.last().map(|table| table.registry.clone()).unwrap_or_default();
    if registries.is_empty() || tables.iter().any(|table| given(&table.registry_by)) {
        return;
    }
    doing.connects = true;
    let files = tables.iter().rev().find_map(|table| table.registry_in.clone()).unwrap_or_default();
    for file in files {
        for spot in walker.spots(&Text::known(walker.in_home(&file))) {
            let Spot::At(path) = spot else { continue };
            let question = Question::Kind { path: path.clone() };
            let elsewhere = match walker.scene.facts.text(&question) {
                Some(kind) => kind == "file",
                None => walker.scene.facts.has(&question),
            };
            if elsewhere {
                walker.unknown(format!("`{path}` may name another registry than the usual one"));
            }
            walker.ask(question);
        }
    }
    for address in registries {
        let (host, port) = address.rsplit_once(':').unwrap_or((&address, "443"));
        let port = port.parse().unwrap_or(0);
        walker.note(Effect::Connect(Connect { host: host.to_owned(), port, own: true, ..Connect::default() }));
    }
}

/// A package: a name, which the registry knows, or where it comes from instead (`./x`, `git+https://...`, `owner/name`).
pub(in super::super) fn package(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let Some(known) = text.as_known() else {
        return walker.unknown(format!("where `{}` comes from is not known before it runs", text.shown()));
    };
    if let Some(at) = known.find("://") {
        return from_url(walker, known, at, doing);
    }
    let path = known.strip_prefix("file:").or_else(|| known.strip_prefix("link:")).unwrap_or(known);
    if path != known || path.starts_with(['/', '.', '~']) {
        return walker.touch(Touch::Tree, &Text::from(path));
    }
    let forge = match known.split_once(':') {
        Some(("github", _)) => Some("github.com".to_owned()),
        Some(("gitlab", _)) => Some("gitlab.com".to_owned()),
        Some(("bitbucket", _)) => Some("bitbucket.org".to_owned()),
        Some(("gist", _)) => Some("gist.github.com".to_owned()),
        // `git@HOST:PATH`.
        Some((host, _)) if host.contains('@') && !host.starts_with('@') => Some(host_name(host)),
        // `owner/name` is a repository to the package managers of JavaScript; `@scope/name` is a name.
        None if takes_owners(&doing.name) && known.contains('/') && !known.starts_with('@') => {
            Some("github.com".to_owned())
        }
        _ => None,
    };
    match forge {
        Some(host) => {
            doing.connects = true;
            // Through git, by whichever way its settings prefer.
            walker.note(Effect::Connect(Connect { host, ..Connect::default() }));
        }
        None => walker.named_file(text),
    }
}

fn takes_owners(program: &str) -> bool {
    matches!(program, "npm" | "pnpm" | "yarn" | "yarnpkg" | "bun")
}

/// `git+https://HOST/PATH`, `NAME @ https://HOST/PATH`, `NAME@https://HOST/PATH`.
fn from_url(walker: &mut Walker<'_>, known: &str, at: usize, doing: &mut Doing) {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let front = known.get(..at).unwrap_or_default();
    let begins = front.rfind(|c| !is_scheme(c)).map_or(0, |index| index + 1);
    let url = known.get(begins..).unwrap_or_default();
    let plain = ["git+", "hg+", "svn+", "bzr+"].iter().find_map(|vcs| url.strip_prefix(vcs)).unwrap_or(url);
    if let Some(path) = plain.strip_prefix("file://") {
        return walker.touch(Touch::Tree, &Text::from(path.split('#').next().unwrap_or_default()));
    }
    doing.connects = true;
    walker.note(Effect::Connect(Url::parse(plain).map_or_else(|_| url::refused(), |url| url.connect())));
}
