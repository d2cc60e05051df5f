//! Lint: rules that do nothing. Each rule is asked about the plainest calls that it was written for.

use checkrein_contract::{Facts, RuleRef, Verdict, Winner};

use crate::Policy;
use crate::rules::Cover;

/// A rule that does nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The rule.
    pub rule: RuleRef,
    /// Why it does nothing, for people.
    pub problem: String,
}

impl Policy {
    /// Rules that can never match, and rules that others always win against, in the order of the files.
    pub fn lint(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        for rule in self.layers.iter().flat_map(|layer| &layer.rules) {
            let lint = |problem: String| Lint { rule: rule.origin.clone(), problem };
            if let Some(why) = rule.matcher.never() {
                lints.push(lint(format!("it can never match: {why}")));
                continue;
            }
            let samples = rule.matcher.samples();
            let facts = Facts::default();
            if samples.is_empty() || rule.verdict == Verdict::Deny {
                continue;
            }
            if samples.iter().all(|effect| matches!(rule.matcher.covers(effect, &facts), Ok(Cover::None))) {
                lints.push(lint("it can never match: not even what it names fits its other keys".to_owned()));
                continue;
            }
            let mut winners: Vec<RuleRef> = Vec::new();
            for effect in &samples {
                let judged = self.judge(effect, std::slice::from_ref(effect), &facts);
                match judged.winner {
                    Winner::Rule(winner) if winner != rule.origin && judged.verdict > rule.verdict => {
                        winners.push(winner)
                    }
                    _ => break,
                }
            }
            if winners.len() == samples.len()
                && let Some(winner) = winners.first()
            {
                let problem = format!(
                    "it never decides: everything it {}s is decided by `{}` ({}:{})",
                    rule.verdict, winner.rule, winner.file, winner.line
                );
                lints.push(lint(problem));
            }
        }
        lints
    }
}
