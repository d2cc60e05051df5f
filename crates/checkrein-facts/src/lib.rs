//! Answers the policy's questions about the world, one file per kind of question.
//!
//! It only looks: nothing here changes the world, starts a program, decides anything, or guesses. What can not be found
//! out is `None`, and so is what would take too long to find out: every look has a bound.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod addresses;
mod case_folding;
mod changed;
mod digest;
mod git_config;
mod git_folder;
mod git_helpers;
mod git_remotes;
mod holds;
mod ignored;
mod kind;
mod matches;
mod real_path;

use std::time::{Duration, SystemTime};

use checkrein_contract::{BoxFuture, Finding, Question};
use checkrein_gate::FactSource;

/// Answers from the machine this process runs on. Needs a tokio runtime: a slow disk must not hold up the session.
///
/// By default there is no session, and what was changed since it began has no answer: the moment of the question would be
/// a beginning that nobody had, and everything would be unchanged since then.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFacts {
    began: Option<SystemTime>,
}

impl HostFacts {
    /// For a session that began at this time: milliseconds since 1970, as its first event has it.
    pub fn since(began_ms: u64) -> Self {
        Self { began: SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(began_ms)) }
    }
}

impl FactSource for HostFacts {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let (question, began) = (question.clone(), self.began);
        Box::pin(async move { tokio::task::spawn_blocking(move || look(&question, began)).await.ok().flatten() })
    }
}

/// One arm for each kind of question.
fn look(question: &Question, began: Option<SystemTime>) -> Option<Finding> {
    match question {
        Question::RealPath { path } => real_path::real_path(path).map(Finding::Text),
        Question::Kind { path } => kind::kind(path).map(Finding::from),
        Question::Matches { pattern } => matches::matches(pattern).map(Finding::List),
        Question::Holds { tree, patterns } => holds::holds(tree, patterns).map(Finding::List),
        Question::CaseFolding { path } => case_folding::case_folding(path).map(Finding::from),
        Question::Addresses { host } => addresses::addresses(host).map(Finding::List),
        Question::GitHelpers { folder } => git_helpers::git_helpers(folder).map(Finding::List),
        Question::GitFolder { folder } => git_folder::git_folder(folder).map(Finding::Text),
        Question::GitRemotes { folder, home, which, push } => {
            git_remotes::git_remotes(folder, home, which, *push).map(Finding::List)
        }
        Question::Changed { path } => changed::changed(path, began?).map(Finding::from),
        Question::Digest { path } => digest::digest(path).map(Finding::Text),
        // Nothing here speaks to servers, so nobody agreed to a tool of one.
        Question::Definition { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The port gives what the files behind it find.
    #[test]
    fn every_kind_of_question_has_its_answer() {
        let (_held, at) = scratch::folder();
        std::fs::write(format!("{at}/a"), "a").unwrap();
        let (path, folder) = (format!("{at}/a"), at.clone());
        let tree = checkrein_contract::Tree { root: at.clone(), ..checkrein_contract::Tree::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = |facts: HostFacts, question: Question| runtime.block_on(facts.answer(&question));
        let list = |items: &[&str]| Some(Finding::List(items.iter().map(|item| (*item).to_owned()).collect()));
        for (question, expected) in [
            (Question::RealPath { path: path.clone() }, Some(Finding::from(path.as_str()))),
            (Question::Kind { path: path.clone() }, Some("file".into())),
            (Question::Matches { pattern: format!("{at}/*") }, list(&[&path])),
            (Question::Holds { tree, patterns: vec!["/**".to_owned()] }, list(&[&path])),
            (Question::CaseFolding { path: at }, Some("exact".into())),
            (Question::Addresses { host: "127.0.0.1".to_owned() }, list(&["127.0.0.1"])),
            (Question::GitHelpers { folder: folder.clone() }, list(&[])),
            (Question::GitFolder { folder: folder.clone() }, None),
            (
                Question::GitRemotes {
                    home: folder.clone(),
                    folder,
                    which: checkrein_contract::Remotes::Submodules,
                    push: false,
                },
                list(&[]),
            ),
            (Question::Changed { path: path.clone() }, Some("changed".into())),
            (
                Question::Digest { path: path.clone() },
                Some(Finding::Text(format!("sha256:{}", checkrein_contract::Digest::of(b"a")))),
            ),
            (Question::Definition { server: "s".to_owned(), tool: "t".to_owned() }, None),
        ] {
            assert_eq!(answer(HostFacts::since(1_000), question.clone()), expected, "{question:?}");
        }
        assert_eq!(answer(HostFacts::default(), Question::Changed { path }), None, "there is no session");
    }
}

/// Folders for the tests of this crate.
#[cfg(test)]
mod scratch {
    /// A folder without links in its own path, and its name.
    pub(crate) fn folder() -> (tempfile::TempDir, String) {
        let held = tempfile::tempdir().unwrap();
        let path = held.path().canonicalize().unwrap().into_os_string().into_string().unwrap();
        (held, path)
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(path: &str, text: &str) {
        std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs git, without the settings of whoever runs the tests, and gives what it prints.
    pub(crate) fn git(at: &str, words: &[&str]) -> String {
        let nobody =
            ["user.name=t", "user.email=t@example.org", "init.defaultBranch=main"].map(|setting| ["-c", setting]);
        let output = std::process::Command::new("git")
            .args(nobody.as_flattened())
            .args(words)
            .current_dir(at)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
