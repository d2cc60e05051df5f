//! A remembered yes: a rule that a person added to one session, from a question that waited there.

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, Digest, Layer, PolicySource, RuleId, SessionOpened};

/// What every [`RuleId`] begins with.
const PREFIX: &str = "r-";

/// A yes that counts for more than the one call that it was given for: in its session, from the event that holds it to the one
/// that takes it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its name, for `approvals revoke`.
    pub rule: RuleId,
    /// The request that the yes answers.
    pub request: ApprovalId,
    /// The rules as the person was shown them: a policy file.
    pub text: String,
    /// Digest over all policy files, this one among them.
    pub policy_digest: Digest,
}

impl Remembered {
    /// The name of the yes to this request, were it remembered. A request is answered once, so no other has it.
    pub fn id(request: &ApprovalId) -> RuleId {
        let digest = Digest::of(format!("{request}/remembered").as_bytes());
        RuleId::new(format!("{PREFIX}{}", digest.as_str().get(..10).unwrap_or_default()))
    }

    /// The rules as a policy file, in the weakest layer.
    pub fn source(rule: &RuleId, text: &str) -> PolicySource {
        PolicySource {
            layer: Layer::Session,
            file: rule.as_str().to_owned(),
            text: text.to_owned(),
            only_tightens: false,
        }
    }
}

impl PolicySource {
    /// Whether a person's yes made it. What the harness itself supplies in that layer has other names.
    pub fn is_remembered(&self) -> bool {
        self.layer == Layer::Session && self.file.starts_with(PREFIX)
    }
}

/// Policy files without what a person's yes added to one session: what another session takes over.
pub fn without_remembered(policy: &[PolicySource]) -> Vec<PolicySource> {
    policy.iter().filter(|source| !source.is_remembered()).cloned().collect()
}

impl SessionOpened {
    /// Puts a remembered yes in force.
    pub fn remember(&mut self, remembered: &Remembered) {
        self.policy.push(Remembered::source(&remembered.rule, &remembered.text));
        self.policy_digest.clone_from(&remembered.policy_digest);
    }

    /// Takes one back.
    pub fn forget(&mut self, rule: &RuleId, policy_digest: &Digest) {
        self.policy.retain(|source| !source.is_remembered() || source.file != rule.as_str());
        self.policy_digest.clone_from(policy_digest);
    }
}
