//! What changes between two policies over the same calls, grouped, the worst first.

use checkrein_contract::{Decision, RuleRef, Verdict, Winner};

/// Calls that change in the same way, for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The verdict before.
    pub from: Verdict,
    /// The verdict after.
    pub to: Verdict,
    /// The rule that decided before; `None`: no rule.
    pub old: Option<RuleRef>,
    /// The rule that decides after.
    pub new: Option<RuleRef>,
    /// Which calls, by number.
    pub calls: Vec<usize>,
}

impl Difference {
    /// Whether less is refused than before.
    pub fn loosens(&self) -> bool {
        self.to < self.from
    }

    /// Worst first: what was denied and is allowed, ..., what was allowed and is denied.
    fn rank(&self) -> (u8, std::cmp::Reverse<usize>) {
        let rank = match (self.from, self.to) {
            (Verdict::Deny, Verdict::Allow) => 0,
            (Verdict::Ask, Verdict::Allow) => 1,
            (Verdict::Deny, Verdict::Ask) => 2,
            (Verdict::Allow, Verdict::Deny) => 3,
            (Verdict::Ask, Verdict::Deny) => 4,
            _ => 5,
        };
        (rank, std::cmp::Reverse(self.calls.len()))
    }
}

/// Compares two lists of decisions on the same calls.
pub fn differences(before: &[Decision], after: &[Decision]) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for (number, (old, new)) in before.iter().zip(after).enumerate() {
        if old.verdict == new.verdict {
            continue;
        }
        // Where one part of a call makes the difference, its rules are the reason.
        let changed = old
            .trace
            .iter()
            .zip(&new.trace)
            .position(|(one, other)| (one.decision, other.decision) == (old.verdict, new.verdict));
        let (from, to, old, new) = (old.verdict, new.verdict, decided(old, changed), decided(new, changed));
        match found.iter_mut().find(|one| (one.from, one.to) == (from, to) && one.old == old && one.new == new) {
            Some(group) => group.calls.push(number),
            None => found.push(Difference { from, to, old, new, calls: vec![number] }),
        }
    }
    found.sort_by_key(Difference::rank);
    found
}

/// The rule behind a verdict: of this step, else of the first that has one.
fn decided(decision: &Decision, at: Option<usize>) -> Option<RuleRef> {
    if let Some(step) = at.and_then(|at| decision.trace.get(at)) {
        return match &step.winner {
            Winner::Rule(rule) => Some(rule.clone()),
            _ => None,
        };
    }
    let mut steps = decision.trace.iter().filter(|step| step.decision == decision.verdict);
    steps.find_map(|step| match &step.winner {
        Winner::Rule(rule) => Some(rule.clone()),
        _ => None,
    })
}
