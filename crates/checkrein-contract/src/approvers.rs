//! Who may say yes to a call. Everybody may say no.

use serde::{Deserialize, Serialize};

use crate::Identity;

/// Who may say yes, as the policy had it when the question was raised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvers {
    /// Four eyes: whoever the session acts for may not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
    /// What the rules that ask want of a person; each has to be met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RolesAsked>,
}

/// The roles of one rule: a person must have one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesAsked {
    /// The rule.
    pub rule: String,
    /// The roles.
    pub roles: Vec<String>,
    /// Who has one of them.
    pub people: Vec<String>,
}

impl Approvers {
    /// Whether anybody may.
    pub fn is_anybody(&self) -> bool {
        *self == Self::default()
    }

    /// Why this person may not say yes for a session that acts for `identity`; `None`: they may.
    pub fn refuses(&self, person: &str, identity: &Identity) -> Option<String> {
        if self.four_eyes {
            match identity.get("person") {
                None => {
                    return Some(
                        "it is not known for whom the session acts, and that person may not say yes".to_owned(),
                    );
                }
                // `Sam` is the one whom `sam` sent.
                Some(own) if own.trim().eq_ignore_ascii_case(person.trim()) => {
                    return Some(format!("the session acts for {own}, and the policy wants another pair of eyes"));
                }
                Some(_) => {}
            }
        }
        let unmet = self.roles.iter().find(|asked| !asked.people.iter().any(|known| known == person))?;
        Some(format!("rule `{}` wants the yes of a {}, and {person} is none", unmet.rule, unmet.roles.join(" or ")))
    }

    /// Who may, in words; empty where anybody may.
    pub fn words(&self) -> Vec<String> {
        let four_eyes = self.four_eyes.then(|| "not whoever the session acts for".to_owned());
        let roles =
            self.roles.iter().map(|asked| format!("{} ({})", asked.roles.join(" or "), asked.people.join(", ")));
        four_eyes.into_iter().chain(roles).collect()
    }
}
