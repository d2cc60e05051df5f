//! Where the remotes of a repository lead: what its settings and the person's say, read as git reads them
//! (`remote.c`), without git. User and password of an address stay where they are.

use std::fs;
use std::path::{Component, Path, PathBuf};

use checkrein_contract::Remotes;
use checkrein_policy::git::{beside, truth, without_user};

use crate::git_config::{Setting, parse};
use crate::git_folder::{Repository, read, repository};
use crate::git_helpers::{included, modules};

/// How deep files include each other, as in git.
const MAX_DEPTH: usize = 10;

/// Sections that say where something leads.
const TELLING: [&str; 5] = ["remote", "remotes", "branch", "url", "submodule"];

/// The addresses, without those that appear twice. Empty where the settings speak of none; `None` where they can not be
/// read, or hold on a condition that nobody has looked at.
pub(crate) fn git_remotes(folder: &str, home: &str, which: &Remotes, push: bool) -> Option<Vec<String>> {
    let repository = repository(folder);
    let mut settings = Settings { home: home.to_owned(), all: Vec::new() };
    settings.file(Path::new("/etc/gitconfig"), 0)?;
    settings.file(&Path::new(home).join(".config/git/config"), 0)?;
    settings.file(&Path::new(home).join(".gitconfig"), 0)?;
    let top = match &repository {
        Some(repository) => {
            settings.file(&repository.common.join("config"), 0)?;
            if settings.says("extensions", "worktreeconfig") {
                settings.file(&repository.own.join("config.worktree"), 0)?;
            }
            repository.top.clone()
        }
        None => PathBuf::from(folder),
    };
    let remotes = Known { settings: &settings, repository: repository.as_ref(), top, push };
    let found = match which {
        Remotes::Named(name) => remotes.named(name)?,
        Remotes::Usual => remotes.usual()?,
        Remotes::All => remotes.every()?,
        Remotes::Submodules => remotes.submodules()?,
    };
    let mut addresses = Vec::new();
    for address in found {
        let address = remotes.shown(&address)?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Some(addresses)
}

#[derive(Default)]
struct Settings {
    home: String,
    all: Vec<Setting>,
}

impl Settings {
    fn file(&mut self, file: &Path, depth: usize) -> Option<()> {
        let Some(text) = read(file).ok()? else { return Some(()) };
        for setting in parse(&text)? {
            if setting.key != "path" || !matches!(setting.section.as_str(), "include" | "includeif") {
                self.all.push(setting);
                continue;
            }
            let path = setting.value.as_deref().unwrap_or_default();
            let at = match path.strip_prefix("~/") {
                Some(rest) => Some(Path::new(&self.home).join(rest)),
                None => included(file, path),
            };
            let at = at.filter(|_| depth < MAX_DEPTH)?;
            let before = self.all.len();
            self.file(&at, depth + 1)?;
            // Whether a condition holds is git's to say. What it would bring must not matter here.
            let brought = self.all.get(before..).unwrap_or_default();
            if setting.section == "includeif" && brought.iter().any(|one| TELLING.contains(&one.section.as_str())) {
                return None;
            }
        }
        Some(())
    }

    /// All values, in order; one without a value takes those before it away.
    fn values(&self, section: &str, subsection: Option<&str>, key: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for one in &self.all {
            if one.section == section && one.subsection.as_deref() == subsection && one.key == key {
                match one.value.as_deref() {
                    Some("") | None => values.clear(),
                    Some(value) => values.push(value),
                }
            }
        }
        values
    }

    fn last(&self, section: &str, subsection: Option<&str>, key: &str) -> Option<&str> {
        self.values(section, subsection, key).pop()
    }

    fn says(&self, section: &str, key: &str) -> bool {
        let last = self.all.iter().rfind(|one| one.section == section && one.key == key);
        last.is_some_and(|one| truth(one.value.as_deref()) == Some(true))
    }

    /// The names of all subsections, once each.
    fn names(&self, section: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.all.iter().filter(|one| one.section == section).filter_map(|one| one.subsection.as_deref()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

struct Known<'a> {
    settings: &'a Settings,
    repository: Option<&'a Repository>,
    /// Relative paths start here.
    top: PathBuf,
    push: bool,
}

impl Known<'_> {
    fn named(&self, name: &str) -> Option<Vec<String>> {
        // A group of remotes goes before a remote; nothing is pushed to one.
        let group: Vec<&str> = self.settings.values("remotes", None, &name.to_ascii_lowercase());
        if !self.push && !group.is_empty() {
            let names = group.into_iter().flat_map(str::split_whitespace);
            return names.map(|name| self.remote(name)).collect::<Option<Vec<_>>>().map(|all| all.concat());
        }
        let found = self.remote(name)?;
        if !found.is_empty() {
            return Some(found);
        }
        let rewritten = self.rewritten(name);
        Some(if rewritten == name { Vec::new() } else { vec![rewritten] })
    }

    /// The addresses of one remote.
    fn remote(&self, name: &str) -> Option<Vec<String>> {
        let values = |key| self.settings.values("remote", Some(name), key);
        let helper = self.settings.last("remote", Some(name), "vcs");
        let with_helper = |address: String| helper.map_or(address.clone(), |helper| format!("{helper}::{address}"));
        let pushed = values("pushurl");
        if self.push && !pushed.is_empty() {
            return Some(pushed.into_iter().map(|url| with_helper(self.replaced(url, "insteadof"))).collect());
        }
        let mut urls: Vec<String> = values("url").into_iter().map(|url| with_helper(self.rewritten(url))).collect();
        if urls.is_empty() {
            urls = self.old_file(name)?.iter().map(|url| with_helper(self.rewritten(url))).collect();
        }
        if !self.push {
            urls.truncate(1);
        }
        Some(urls)
    }

    /// What older versions kept in files of their own: `remotes/NAME` and `branches/NAME`.
    fn old_file(&self, name: &str) -> Option<Vec<String>> {
        let Some(repository) = self.repository else { return Some(Vec::new()) };
        if Path::new(name).components().any(|part| !matches!(part, Component::Normal(_))) || name.contains(':') {
            return Some(Vec::new());
        }
        if let Some(text) = read(&repository.common.join("remotes").join(name)).ok()? {
            let urls = text.lines().filter_map(|line| line.strip_prefix("URL:")).map(|url| url.trim().to_owned());
            return Some(urls.collect());
        }
        let text = read(&repository.common.join("branches").join(name)).ok()?.unwrap_or_default();
        let url = text.lines().next().unwrap_or_default().split('#').next().unwrap_or_default().trim().to_owned();
        Some(Some(url).filter(|url| !url.is_empty()).into_iter().collect())
    }

    fn usual(&self) -> Option<Vec<String>> {
        let branch = match self.repository {
            Some(repository) => fs::read_to_string(repository.own.join("HEAD")).ok()?,
            None => String::new(),
        };
        let branch = branch.trim_end().strip_prefix("ref: refs/heads/");
        let of_branch = |key| branch.and_then(|branch| self.settings.last("branch", Some(branch), key));
        let pushed = of_branch("pushremote").or_else(|| self.settings.last("remote", None, "pushdefault"));
        let names = self.settings.names("remote");
        let only = match names.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let name = pushed.filter(|_| self.push).or_else(|| of_branch("remote")).or(only).unwrap_or("origin");
        if name == "." {
            return Some(vec![self.top.to_str()?.to_owned()]);
        }
        let found = self.named(name)?;
        // A branch may name an address itself.
        let address = name.contains([':', '/']);
        Some(if found.is_empty() && address { vec![name.to_owned()] } else { found })
    }

    fn every(&self) -> Option<Vec<String>> {
        let names = self.settings.names("remote").into_iter();
        names.map(|name| self.remote(name)).collect::<Option<Vec<_>>>().map(|all| all.concat())
    }

    /// Those that were registered, those that the repository brings along, and those that were fetched before.
    fn submodules(&self) -> Option<Vec<String>> {
        let Some(repository) = self.repository else { return Some(Vec::new()) };
        let mut found: Vec<String> = Vec::new();
        let registered = self.settings.names("submodule").into_iter();
        for url in registered.filter_map(|name| self.settings.last("submodule", Some(name), "url")) {
            found.push(self.rewritten(url));
        }
        for one in parse(&read(&self.top.join(".gitmodules")).ok()?.unwrap_or_default())? {
            let Some(url) = one.value.filter(|_| one.section == "submodule" && one.key == "url") else { continue };
            let relative = url.starts_with("./") || url.starts_with("../");
            let url = if relative { beside(self.usual()?.first()?, &url)? } else { url };
            found.push(self.rewritten(&url));
        }
        // The repositories of submodules have remotes of their own.
        for module in modules(&repository.common.join("modules"))? {
            let mut settings = Settings { home: self.settings.home.clone(), all: Vec::new() };
            settings.file(&module.join("config"), 0)?;
            let names = settings.names("remote").into_iter();
            found.extend(
                names.flat_map(|name| settings.values("remote", Some(name), "url")).map(|url| self.rewritten(url)),
            );
        }
        Some(found)
    }

    /// The address after `url.BASE.insteadOf`, and for a push `pushInsteadOf` before it.
    fn rewritten(&self, address: &str) -> String {
        if self.push {
            let pushed = self.replaced(address, "pushinsteadof");
            if pushed != address {
                return pushed;
            }
        }
        self.replaced(address, "insteadof")
    }

    /// The longest beginning that fits is replaced.
    fn replaced(&self, address: &str, key: &str) -> String {
        let rules = self.settings.all.iter().filter(|one| one.section == "url" && one.key == key);
        let fitting = rules.filter_map(|one| {
            let begins = one.value.as_deref().filter(|begins| !begins.is_empty() && address.starts_with(begins))?;
            Some((begins.len(), one.subsection.as_deref().unwrap_or_default()))
        });
        match fitting.max_by_key(|(length, _)| *length) {
            Some((length, base)) => format!("{base}{}", address.get(length..).unwrap_or_default()),
            None => address.to_owned(),
        }
    }

    /// An address without user and password; a path from the root on.
    fn shown(&self, address: &str) -> Option<String> {
        if address.contains("://") {
            return Some(without_user(address));
        }
        let is_path = match address.find([':', '/']) {
            Some(at) => address.as_bytes().get(at) == Some(&b'/'),
            None => true,
        };
        if is_path {
            let path = match address.strip_prefix("~/") {
                Some(rest) => Path::new(&self.settings.home).join(rest),
                None => self.top.join(address),
            };
            return Some(path.to_str()?.to_owned());
        }
        let (host, _) = address.split_once(':')?;
        Some(match host.rsplit_once('@') {
            Some((user, _)) => address.get(user.len() + 1..)?.to_owned(),
            None => address.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{folder, git, write};

    fn named(name: &str) -> Remotes {
        Remotes::Named(name.to_owned())
    }

    /// Git itself is the oracle: what it would fetch from, and what it would push to.
    #[test]
    fn addresses_are_those_that_git_would_use() {
        let (_held, at) = folder();
        let home = format!("{at}/home");
        git(&at, &["init", "-q", "p"]);
        let p = format!("{at}/p");
        for (name, value) in [
            ("remote.origin.url", "https://a.example/r.git"),
            ("remote.two.url", "short:x/y.git"),
            ("remote.two.pushurl", "ssh://b.example/x/y.git"),
            ("remote.three.url", "own:z"),
            ("remote.local.url", "../other"),
            ("remote.scp.url", "c.example:x/y.git"),
            ("url.https://long.example/.insteadOf", "short:x/"),
            ("url.https://short.example/.insteadOf", "short:"),
            ("url.ssh://push.example/.pushInsteadOf", "https://a.example/"),
            ("branch.main.remote", "two"),
        ] {
            git(&p, &["config", name, value]);
        }
        write(&format!("{home}/.gitconfig"), "[url \"https://home.example/\"]\n\tinsteadOf = own:\n");
        let asked = |words: &[&str]| {
            let output = std::process::Command::new("git")
                .args(words)
                .current_dir(&p)
                .env("HOME", &home)
                .env_remove("XDG_CONFIG_HOME")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        for name in ["origin", "two", "three", "scp"] {
            let expected = asked(&["ls-remote", "--get-url", name]);
            assert_eq!(git_remotes(&p, &home, &named(name), false), Some(expected), "{name}");
            let expected = asked(&["remote", "get-url", "--push", "--all", name]);
            assert_eq!(git_remotes(&p, &home, &named(name), true), Some(expected), "{name}, push");
        }
        assert_eq!(git_remotes(&p, &home, &Remotes::Usual, false), Some(asked(&["ls-remote", "--get-url"])));
        assert_eq!(git_remotes(&p, &home, &named("local"), false), Some(vec![format!("{p}/../other")]));
        assert_eq!(git_remotes(&p, &home, &named("nobody"), false), Some(Vec::new()));
        for literal in ["short:q", "https://else.example/", "own:x"] {
            let [expected] = &asked(&["ls-remote", "--get-url", literal])[..] else { panic!("{literal}") };
            let expected = Some(expected.clone()).filter(|address| address != literal).into_iter().collect();
            assert_eq!(git_remotes(&p, &home, &named(literal), false), Some(expected), "{literal}");
        }
        let all = git_remotes(&p, &home, &Remotes::All, false).unwrap();
        assert_eq!(all.len(), 5, "{all:?}");
        git(&p, &["config", "remotes.both", "origin three"]);
        let both = ["https://a.example/r.git", "https://home.example/z"].map(str::to_owned);
        assert_eq!(git_remotes(&p, &home, &named("both"), false), Some(both.to_vec()));
        // Deeper in the project it is the same; outside there is only what the person wrote.
        assert_eq!(git_remotes(&format!("{p}/src"), &home, &named("two"), false).unwrap().len(), 1);
        assert_eq!(git_remotes(&at, &home, &named("origin"), false), Some(Vec::new()));
    }

    #[test]
    fn where_a_branch_leads_goes_before_origin() {
        let (_held, at) = folder();
        git(&at, &["init", "-q"]);
        let usual = |push| git_remotes(&at, "/nowhere", &Remotes::Usual, push).unwrap();
        assert_eq!(usual(false), [""; 0]);
        git(&at, &["remote", "add", "only", "https://only.example/r"]);
        assert_eq!(usual(false), ["https://only.example/r"]);
        git(&at, &["remote", "add", "origin", "https://origin.example/r"]);
        assert_eq!(usual(false), ["https://origin.example/r"]);
        git(&at, &["config", "remote.pushDefault", "only"]);
        assert_eq!(
            (usual(false)[0].as_str(), usual(true)[0].as_str()),
            ("https://origin.example/r", "https://only.example/r")
        );
        git(&at, &["config", "branch.main.pushRemote", "origin"]);
        assert_eq!(usual(true), ["https://origin.example/r"]);
        git(&at, &["config", "branch.main.remote", "https://straight.example/r"]);
        assert_eq!(usual(false), ["https://straight.example/r"]);
        git(&at, &["config", "branch.main.remote", "."]);
        assert_eq!(usual(false), [at.as_str()]);
    }

    /// What is kept in an address stays there: the answer is recorded.
    #[test]
    fn user_and_password_are_left_out() {
        let (_held, at) = folder();
        git(&at, &["init", "-q"]);
        for (written, told) in [
            ("https://user:word@a.example/r", "https://a.example/r"),
            ("ssh://git@a.example:2222/r", "ssh://a.example:2222/r"),
            ("git@a.example:x/y.git", "a.example:x/y.git"),
            ("ext::sh -c x", "ext::sh -c x"),
            ("/srv/x.git", "/srv/x.git"),
        ] {
            git(&at, &["config", "remote.origin.url", written]);
            assert_eq!(git_remotes(&at, "/nowhere", &named("origin"), false).unwrap(), [told]);
        }
        git(&at, &["config", "remote.origin.vcs", "hg"]);
        assert_eq!(git_remotes(&at, "/nowhere", &named("origin"), false).unwrap(), ["hg::/srv/x.git"]);
    }

    #[test]
    fn submodules_lead_where_their_settings_and_the_repository_say() {
        let (_held, at) = folder();
        git(&at, &["init", "-q"]);
        git(&at, &["config", "remote.origin.url", "https://a.example/x/whole.git"]);
        write(
            &format!("{at}/.gitmodules"),
            "[submodule \"a\"]\n\tpath = a\n\turl = ../part.git\n[submodule \"b\"]\n\tpath = b\n\turl = https://b.example/b\n",
        );
        git(&at, &["config", "submodule.c.url", "https://c.example/c"]);
        git(&at, &["init", "-q", "--bare", ".git/modules/lib/d"]);
        git(&at, &["config", "--file", ".git/modules/lib/d/config", "remote.origin.url", "https://d.example/d"]);
        let expected =
            ["https://c.example/c", "https://a.example/x/part.git", "https://b.example/b", "https://d.example/d"];
        assert_eq!(git_remotes(&at, "/nowhere", &Remotes::Submodules, false).unwrap(), expected);
    }

    #[test]
    fn what_can_not_be_told_has_no_answer() {
        let (_held, at) = folder();
        git(&at, &["init", "-q"]);
        git(&at, &["config", "remote.origin.url", "https://a.example/r"]);
        git(&at, &["config", "includeIf.onbranch:other.path", &format!("{at}/more")]);
        let told = || git_remotes(&at, "/nowhere", &named("origin"), false);
        write(&format!("{at}/more"), "[user]\nname = x\n");
        assert_eq!(told().unwrap(), ["https://a.example/r"], "the condition brings nothing of it");
        write(&format!("{at}/more"), "[url \"https://b.example/\"]\ninsteadOf = https://a.example/\n");
        assert_eq!(told(), None);
        write(&format!("{at}/.git/config"), "[broken\n");
        assert_eq!(told(), None);
    }

    /// Files of older versions count where no setting speaks of the name.
    #[test]
    fn old_files_are_read() {
        let (_held, at) = folder();
        git(&at, &["init", "-q"]);
        write(&format!("{at}/.git/remotes/old"), "URL: https://old.example/r\nPull: refs/heads/main\n");
        write(&format!("{at}/.git/branches/older"), "https://older.example/r#main\n");
        for (name, address) in [("old", "https://old.example/r"), ("older", "https://older.example/r")] {
            assert_eq!(git_remotes(&at, "/nowhere", &named(name), false).unwrap(), [address]);
        }
    }
}
