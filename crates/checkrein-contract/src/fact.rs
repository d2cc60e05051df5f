//! Facts: what the world looks like around a call. Gathered by the host before, passed in, and recorded with the decision.

use serde::{Deserialize, Serialize};

/// A question about the world: a closed set, so that a decision can be recomputed from its recorded answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// What does this path lead to once every link is followed? The last parts need not exist.
    RealPath {
        /// Absolute path as written.
        path: String,
    },
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    #[serde(flatten)]
    pub question: Question,
    /// The answer; `None` when it could not be found out, which is never better than *ask*.
    pub answer: Option<String>,
}

/// The answers around one call, in the order they were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub Vec<Answered>);

impl Facts {
    /// The real path behind a written one; `None` when nobody asked or nobody knew.
    pub fn real_path(&self, path: &str) -> Option<&str> {
        self.0.iter().find_map(|answered| match &answered.question {
            Question::RealPath { path: asked } if asked == path => answered.answer.as_deref(),
            Question::RealPath { .. } => None,
        })
    }
}
