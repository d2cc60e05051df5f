//! Facts: what the world looks like around a call. Gathered by the host before, passed in, and recorded with the decision.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tree;

/// A question about the world: a closed set, so that a decision can be recomputed from its recorded answers.
///
/// Paths are absolute. What can not be found out has no answer, which is never better than *ask*.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// What does this path lead to once every link and bind mount is followed? The last parts need not exist. A path.
    RealPath {
        /// Absolute path as written.
        path: String,
    },
    /// What is there? `folder`, `file` or `none`.
    Kind {
        /// Absolute path.
        path: String,
    },
    /// Which paths does this pattern match, as the shell would expand it? A list.
    Matches {
        /// Absolute pattern: `*`, `?`, `[..]`; a backslash makes a character literal.
        pattern: String,
    },
    /// Which files of this tree match one of these patterns? A list of paths.
    Holds {
        /// The tree as it is read.
        tree: Tree,
        /// Absolute patterns, `**` included.
        patterns: Vec<String>,
    },
    /// Do names that differ in case alone mean the same file there? `folds` or `exact`.
    CaseFolding {
        /// Absolute path of a folder.
        path: String,
    },
    /// Which addresses does a name have? A list.
    Addresses {
        /// The name.
        host: String,
    },
    /// Which settings of the repository that holds this folder name a program (or code) that git would start? A list.
    GitHelpers {
        /// Absolute path of a folder.
        folder: String,
    },
    /// Where is the data of the repository that holds this folder? A path.
    GitFolder {
        /// Absolute path of a folder.
        folder: String,
    },
    /// Where do these remotes of the repository that holds this folder lead? A list: URLs without user and password,
    /// `HOST:PATH`, absolute paths, and `NAME::REST` for a helper program. Empty where the settings speak of none.
    GitRemotes {
        /// Absolute path of a folder.
        folder: String,
        /// The person's home, whose settings of git count as well.
        home: String,
        /// Which of them.
        which: Remotes,
        /// For a push, which may lead elsewhere.
        push: bool,
    },
    /// Was this path changed since the session began? `changed` or `unchanged`.
    Changed {
        /// Absolute path of a file, or of a folder with everything below.
        path: String,
    },
    /// The digest of a file's content, or `none`.
    Digest {
        /// Absolute path.
        path: String,
    },
    /// Is a tool of a server the one that people agreed to? `approved`, `changed` or `new`.
    Definition {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

/// Remotes of a git repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remotes {
    /// The one that git takes where none is named.
    Usual,
    /// The one, or the group, of this name; or what becomes of an address under the rules that rewrite addresses.
    Named(String),
    /// Every one.
    All,
    /// Those of the submodules.
    Submodules,
}

/// What was found out: one text, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Finding {
    /// A word or a path.
    Text(String),
    /// Several.
    List(Vec<String>),
}

impl From<&str> for Finding {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    #[serde(flatten)]
    pub question: Question,
    /// The answer; `None` when it could not be found out.
    pub answer: Option<Finding>,
}

/// The answers around one call. Written as a list, ordered by question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Answered>", into = "Vec<Answered>")]
pub struct Facts(BTreeMap<Question, Option<Finding>>);

impl Facts {
    /// Adds an answer, or that there is none.
    pub fn add(&mut self, question: Question, answer: Option<Finding>) {
        self.0.insert(question, answer);
    }

    /// Whether it was asked, answered or not.
    pub fn has(&self, question: &Question) -> bool {
        self.0.contains_key(question)
    }

    /// The answer; `None` when nobody asked or nobody knew.
    pub fn answer(&self, question: &Question) -> Option<&Finding> {
        self.0.get(question)?.as_ref()
    }

    /// The answer, where it is one text.
    pub fn text(&self, question: &Question) -> Option<&str> {
        match self.answer(question)? {
            Finding::Text(text) => Some(text),
            Finding::List(_) => None,
        }
    }

    /// The answer, where it is a list.
    pub fn list(&self, question: &Question) -> Option<&[String]> {
        match self.answer(question)? {
            Finding::Text(_) => None,
            Finding::List(list) => Some(list),
        }
    }

    /// The real path behind a written one.
    pub fn real_path(&self, path: &str) -> Option<&str> {
        self.text(&Question::RealPath { path: path.to_owned() })
    }

    /// What a tree was found to hold of what rules speak of, whichever patterns they were asked about.
    pub fn holds(&self, tree: &Tree) -> Option<&[String]> {
        self.0.iter().find_map(|(question, answer)| match (question, answer) {
            (Question::Holds { tree: asked, .. }, Some(Finding::List(files))) if asked == tree => {
                Some(files.as_slice())
            }
            _ => None,
        })
    }

    /// Whether case counts in names; where any folder of the call folds case, it does for none.
    pub fn folds_case(&self) -> bool {
        let folding = |(question, answer): (&Question, &Option<Finding>)| {
            matches!(question, Question::CaseFolding { .. })
                && matches!(answer, Some(Finding::Text(text)) if text == "folds")
        };
        self.0.iter().any(folding)
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All questions with their answers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Question, Option<&Finding>)> {
        self.0.iter().map(|(question, answer)| (question, answer.as_ref()))
    }
}

impl From<Vec<Answered>> for Facts {
    fn from(answers: Vec<Answered>) -> Self {
        Self(answers.into_iter().map(|Answered { question, answer }| (question, answer)).collect())
    }
}

impl From<Facts> for Vec<Answered> {
    fn from(facts: Facts) -> Self {
        facts.0.into_iter().map(|(question, answer)| Answered { question, answer }).collect()
    }
}
