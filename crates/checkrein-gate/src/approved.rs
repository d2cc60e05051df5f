//! The token. Whoever holds an [`Approved`] may run exactly one call, once.
//!
//! Its fields are private, it can not be cloned, and the only way to one is [`Judged::admit`](crate::Judged::admit).
//! Tools and sandboxes demand a reference to one. This guards against our own mistakes, not against code in the same
//! process that calls the operating system by itself; the sandbox is for that.

use std::sync::Arc;

use checkrein_contract::{
    ApprovalId, Call, CallKind, Decision, Digest, Effect, EffectWord, Facts, Foreseen, Place, Question, Verdict, Winner,
};
use checkrein_policy::{Policy, decide};

use crate::registry::Entry;

/// One call that may run, with what it was granted.
pub struct Approved {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) kind: CallKind,
    pub(crate) key: Digest,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) grant: Grant,
}

/// What a call may touch.
pub struct Grant {
    pub(crate) effects: Vec<Effect>,
    pub(crate) facts: Facts,
    pub(crate) policy: Arc<Policy>,
    pub(crate) place: Place,
    /// A person approved it, so what the policy asks about is granted as well.
    pub(crate) by_person: bool,
}

impl Approved {
    /// The call, with its final arguments.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// What may be repeated.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// Idempotency key: the same for every attempt at this call, and for no other call.
    pub fn key(&self) -> &Digest {
        &self.key
    }

    /// The approval it uses up.
    pub fn approval(&self) -> Option<&ApprovalId> {
        self.approval.as_ref()
    }

    /// What it may touch.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

impl Grant {
    /// The effects that were judged.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Where.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The real path behind one that was judged; tools open this one.
    pub fn real_path<'a>(&'a self, written: &'a str) -> &'a str {
        self.facts.real_path(written).unwrap_or(written)
    }

    /// Whether a file met while walking a granted tree may be read. `real` is absolute, without links. The policy is asked
    /// about each; a secret inside a tree that may be read is left out.
    pub fn may_read(&self, real: &str) -> bool {
        match self.judged(Effect::read(real), real).verdict {
            Verdict::Allow => true,
            Verdict::Ask => self.by_person,
            Verdict::Deny => false,
        }
    }

    /// Whether a rule keeps this file out of a tree that is given to be read.
    pub fn is_kept_from_reading(&self, real: &str) -> bool {
        self.is_kept(Effect::read(real), real)
    }

    /// Whether a rule keeps this file from being changed in a tree that is given to be written.
    pub fn is_kept_from_writing(&self, real: &str) -> bool {
        self.is_kept(Effect::write(real), real)
    }

    /// Whether the rules alone allow writing there, whoever approved the call.
    pub fn rules_allow_writing(&self, real: &str) -> bool {
        self.judged(Effect::write(real), real).verdict == Verdict::Allow
    }

    /// The patterns of paths that some rule asks about or denies for this word.
    pub fn guarded(&self, word: EffectWord) -> Vec<String> {
        self.policy.guarded(word)
    }

    /// Whether some rule says no, or wants to be asked and nobody was: what no rule speaks of is not kept from a tree
    /// that was given.
    fn is_kept(&self, effect: Effect, real: &str) -> bool {
        let decision = self.judged(effect, real);
        let by_rule = decision.trace.iter().any(|step| matches!(step.winner, Winner::Rule(_)));
        match decision.verdict {
            Verdict::Allow => false,
            Verdict::Ask => by_rule && !self.by_person,
            Verdict::Deny => by_rule,
        }
    }

    fn judged(&self, effect: Effect, real: &str) -> Decision {
        let foreseen = Foreseen { effects: vec![effect], ..Foreseen::default() };
        // What the call was judged by holds for each file of it, such as whether names fold case there.
        let mut facts = self.facts.clone();
        facts.add(Question::RealPath { path: real.to_owned() }, Some(real.into()));
        decide(&self.policy, &foreseen, &facts)
    }
}

impl std::fmt::Debug for Approved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approved").field("call", &self.call).field("kind", &self.kind).finish_non_exhaustive()
    }
}
