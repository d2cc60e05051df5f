//! Which settings of a repository name a program that git would start, code that it would run, or another place that it
//! would turn to. The repository's own settings, with those they include; not the person's, who wrote them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use checkrein_policy::git::starts_a_program;

use crate::git_config::parse;
use crate::git_folder::{is_absence, read, repositories};

/// How deep files include each other, as in git.
const MAX_DEPTH: usize = 10;
/// Files of settings, at most.
const MAX_FILES: usize = 1_000;

/// The names, sorted, as git lists them (sections and keys in lower case), and `hook NAME` for each hook. Empty where no
/// repository is; `None` where something can not be read, be it that git would not read it either.
pub(crate) fn git_helpers(folder: &str) -> Option<Vec<String>> {
    let mut search = Search::default();
    for repository in repositories(folder)? {
        search.settings(&repository.common.join("config"), 0)?;
        // Settings of one working tree; they count only if another setting says so, which is a thing to be told anyway.
        search.settings(&repository.own.join("config.worktree"), 0)?;
        search.hooks(&repository.common.join("hooks"))?;
        // Git goes on into submodules, whose repositories are kept here.
        for module in modules(&repository.common.join("modules"))? {
            search.settings(&module.join("config"), 0)?;
            search.hooks(&module.join("hooks"))?;
        }
    }
    Some(search.found.into_iter().collect())
}

#[derive(Default)]
struct Search {
    found: BTreeSet<String>,
    read: BTreeSet<PathBuf>,
}

impl Search {
    fn settings(&mut self, file: &Path, depth: usize) -> Option<()> {
        if !self.read.insert(file.to_owned()) {
            return Some(());
        }
        if self.read.len() > MAX_FILES {
            return None;
        }
        let Some(text) = read(file).ok()? else { return Some(()) };
        for setting in parse(&text)? {
            let includes = matches!(setting.section.as_str(), "include" | "includeif") && setting.key == "path";
            if !includes {
                if starts_a_program(&setting.section, &setting.key, setting.value.as_deref()) {
                    self.found.insert(setting.name());
                }
                continue;
            }
            // Whatever the condition says: it may come to hold.
            match included(file, setting.value.as_deref().unwrap_or_default()).filter(|_| depth < MAX_DEPTH) {
                Some(included) => self.settings(&included, depth + 1)?,
                None => _ = self.found.insert(setting.name()),
            }
        }
        Some(())
    }

    fn hooks(&mut self, folder: &Path) -> Option<()> {
        for entry in entries(folder)? {
            let name = entry.file_name().into_string().ok()?;
            let runs = fs::metadata(entry.path()).is_ok_and(|at| at.is_file() && at.permissions().mode() & 0o111 != 0);
            if runs && !name.ends_with(".sample") {
                self.found.insert(format!("hook {name}"));
            }
        }
        Some(())
    }
}

/// The repositories of submodules below a folder, whose names may have slashes in them; `None` where it can not be read.
pub(crate) fn modules(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        if !entry.file_type().ok()?.is_dir() {
            continue;
        }
        let module = entry.path();
        if module.join("HEAD").exists() {
            found.push(module.clone());
            found.extend(modules(&module.join("modules"))?);
        } else {
            found.extend(modules(&module)?);
        }
    }
    Some(found)
}

/// What is in a folder: nothing where there is none; `None` where it can not be read.
pub(crate) fn entries(folder: &Path) -> Option<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<Result<_, _>>().ok(),
        Err(error) if is_absence(&error) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The file that is included; `None` where that is not a matter of this file alone, such as a home folder.
pub(crate) fn included(from: &Path, path: &str) -> Option<PathBuf> {
    if path.is_empty() || path.starts_with('~') || path.starts_with("%(") {
        return None;
    }
    // A relative one starts at the file itself, not at a link to it.
    Some(from.canonicalize().ok()?.parent()?.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{folder, git, write};

    fn repository() -> (tempfile::TempDir, String) {
        let (held, at) = folder();
        git(&at, &["init", "-q"]);
        (held, at)
    }

    fn told(at: &str) -> Vec<String> {
        git_helpers(at).unwrap()
    }

    /// A fresh repository, with sample hooks and all that git writes by itself, starts nothing.
    #[test]
    fn a_plain_repository_has_none() {
        let (_held, at) = repository();
        git(&at, &["remote", "add", "origin", "https://example.org/a.git"]);
        git(&at, &["config", "core.fsmonitor", "false"]);
        git(&at, &["config", "pager.log", "false"]);
        git(&at, &["config", "submodule.a.update", "rebase"]);
        git(&at, &["config", "user.name", "someone"]);
        assert_eq!(told(&at), [""; 0]);
        let (_held, nowhere) = folder();
        assert_eq!(told(&nowhere), [""; 0]);
    }

    /// Every setting that names a program is told, however git wrote it.
    #[test]
    fn settings_that_name_a_program_are_told() {
        let names = [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.askPass",
            "core.hooksPath",
            "core.gitProxy",
            "core.alternateRefsCommand",
            "core.worktree",
            "sequence.editor",
            "pager.log",
            "diff.external",
            "diff.My.Driver.command",
            "diff.x.textconv",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "merge.x.driver",
            "mergetool.x.cmd",
            "difftool.x.cmd",
            "gpg.program",
            "gpg.ssh.program",
            "gpg.ssh.defaultKeyCommand",
            "credential.helper",
            "credential.https://example.org.helper",
            "uploadpack.packObjectsHook",
            "remote.origin.uploadpack",
            "remote.origin.receivepack",
            "remote.origin.proxy",
            "remote.origin.vcs",
            "url.git@example.org:.insteadOf",
            "url.x.pushInsteadOf",
            "protocol.ext.allow",
            "protocol.allow",
            "trailer.x.command",
            "trailer.x.cmd",
            "interactive.diffFilter",
            "browser.x.cmd",
            "man.x.cmd",
            "web.browser",
            "instaweb.httpd",
            "sendemail.toCmd",
            "sendemail.work.ccCmd",
            "extensions.worktreeConfig",
            "init.templateDir",
            "tar.x.command",
            "hook.x.command",
            "http.proxy",
        ];
        for name in names {
            let (_held, at) = repository();
            let value = if name == "extensions.worktreeConfig" { "true" } else { "touch /tmp/x" };
            // Written outside the repository, so that git does not heed it.
            let (_held, outside) = folder();
            git(&outside, &["config", "--file", "settings", name, value]);
            let listed = git(&outside, &["config", "--file", "settings", "--list", "--name-only"]);
            fs::rename(format!("{outside}/settings"), format!("{at}/.git/config")).unwrap();
            assert_eq!(told(&at), [listed.trim()], "{name}");
        }
        for (name, value) in [
            ("submodule.a.update", "!touch x"),
            ("remote.origin.url", "ext::sh -c touch% x"),
            ("sendemail.smtpserver", "/usr/bin/mailer"),
        ] {
            let (_held, at) = repository();
            git(&at, &["config", name, value]);
            assert_eq!(told(&at), [name]);
        }
    }

    #[test]
    fn included_files_are_followed_or_told() {
        let (_held, at) = repository();
        git(&at, &["config", "include.path", "../shared"]);
        git(&at, &["config", "includeIf.onbranch:never.path", &format!("{at}/other")]);
        assert_eq!(told(&at), [""; 0], "neither is there");
        write(&format!("{at}/other"), "[core]\neditor = vi\n");
        write(&format!("{at}/shared"), "[pager]\nx = sh\n");
        assert_eq!(told(&at), ["core.editor", "pager.x"]);
        git(&at, &["config", "--add", "include.path", "~/.more"]);
        // Round and round is where git gives up, and nothing is lost here.
        write(&format!("{at}/shared"), "[pager]\nx = sh\n[include]\npath = shared\n");
        assert_eq!(told(&at), ["core.editor", "include.path", "pager.x"]);
        write(&format!("{at}/shared"), "[broken\n");
        assert_eq!(git_helpers(&at), None);
    }

    /// Hooks run when they may be executed; samples do not.
    #[test]
    fn hooks_are_told() {
        let (_held, at) = repository();
        for (name, mode) in [("pre-commit", 0o755), ("post-merge", 0o644), ("pre-push.sample", 0o755)] {
            let path = format!("{at}/.git/hooks/{name}");
            write(&path, "#!/bin/sh\n");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(told(&at), ["hook pre-commit"]);
        assert_eq!(told(&format!("{at}/deep/er")), ["hook pre-commit"]);
    }

    /// Working trees share settings and have their own; submodules have theirs below those of the whole.
    #[test]
    fn working_trees_and_submodules_count() {
        let (_held, at) = repository();
        git(&at, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&at, &["worktree", "add", "-q", "tree"]);
        git(&at, &["config", "core.pager", "less"]);
        git(&at, &["config", "extensions.worktreeConfig", "true"]);
        git(&format!("{at}/tree"), &["config", "--worktree", "pager.x", "sh"]);
        assert_eq!(told(&format!("{at}/tree")), ["core.pager", "extensions.worktreeconfig", "pager.x"]);
        assert_eq!(told(&at), ["core.pager", "extensions.worktreeconfig"]);
        git(&at, &["init", "-q", "--bare", ".git/modules/lib/inner"]);
        git(&at, &["config", "--file", ".git/modules/lib/inner/config", "core.fsmonitor", "x"]);
        assert!(told(&at).contains(&"core.fsmonitor".to_owned()));
    }

    /// A folder with a `.git` that git passes over may become one: what is in it counts, and what it hides counts too.
    #[test]
    fn a_half_repository_hides_nothing() {
        let (_held, at) = repository();
        git(&at, &["config", "core.pager", "less"]);
        write(&format!("{at}/sub/.git/config"), "[core]\nfsmonitor = x\n");
        assert_eq!(told(&format!("{at}/sub")), ["core.fsmonitor", "core.pager"]);
        write(&format!("{at}/bare/HEAD"), "ref: refs/heads/main\n");
        write(&format!("{at}/bare/objects/x"), "");
        write(&format!("{at}/bare/refs/x"), "");
        write(&format!("{at}/bare/config"), "[core]\neditor = x\n");
        assert_eq!(told(&format!("{at}/bare")), ["core.editor"]);
    }

    #[test]
    fn what_can_not_be_read_has_no_answer() {
        let (_held, at) = repository();
        fs::write(format!("{at}/.git/config"), b"[core]\n\xff\n").unwrap();
        assert_eq!(git_helpers(&at), None);
        fs::remove_file(format!("{at}/.git/config")).unwrap();
        fs::create_dir(format!("{at}/.git/config")).unwrap();
        assert_eq!(git_helpers(&at), None);
    }
}
