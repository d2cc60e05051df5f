//! Who answers the policy's questions about the world.

use checkrein_contract::{BoxFuture, Finding, Question};

/// Answers questions. Its answers are recorded with the decision they led to.
pub trait FactSource: Send + Sync {
    /// The answer; `None` when it can not be found out, which is never better than *ask*.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>>;
}
