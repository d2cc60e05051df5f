//! Answers the policy's questions about the world, one file per kind of question.
//!
//! It only looks: nothing here changes the world, decides anything, or guesses. What can not be found out is `None`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod real_path;

use checkrein_contract::{BoxFuture, Question};
use checkrein_gate::FactSource;

/// Answers from the machine this process runs on. Needs a tokio runtime: a slow disk must not hold up the session.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFacts;

impl FactSource for HostFacts {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        let question = question.clone();
        Box::pin(async move { tokio::task::spawn_blocking(move || look(&question)).await.ok().flatten() })
    }
}

/// One arm for each kind of question.
fn look(question: &Question) -> Option<String> {
    match question {
        Question::RealPath { path } => real_path::real_path(path),
    }
}
