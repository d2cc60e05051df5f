//! What is in force can change between two events: a fork goes on in a place of its own, and whoever takes a session up
//! again may find other tools or rules than it began with.

use serde::{Deserialize, Serialize};

use crate::{Digest, Place, PolicySource, Price, SessionId, SessionOpened, Skill, ToolSpec};

/// Where a fork comes from: its events up to this number happened in another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// That session.
    pub session: SessionId,
    /// Its last event that counts here as well.
    pub seq: u64,
    /// The hash of that event in that session's chain: what it was, also where the session itself is not at hand.
    pub hash: Digest,
    /// Where that session was forked from itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Self>>,
}

/// What is in force from here on, where it is not what it was. Recorded by the person whose word it needed, else by code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recomposed {
    /// A fork begins here: what was asked and answered before about approvals counts in that other session only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forked: bool,
    /// The workspace is one in which nothing was changed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// What changes, one line each, for people.
    pub changes: Vec<String>,
    /// The tools that are registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolSpec>>,
    /// Those of them that requests only name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Vec<String>>,
    /// The skills on the menu.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<Skill>>,
    /// The instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What that model costs, where somebody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The policy files, with the digest over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Vec<PolicySource>>,
    /// Digest over the policy files; there whenever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<Digest>,
    /// Where calls happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Values that policies may name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<(String, String)>>,
}

impl SessionOpened {
    /// The session that the event of this number happened in: of a fork's first events another one.
    pub fn session_at(&self, seq: u64) -> &SessionId {
        let mut session = &self.session;
        let mut forked = self.forked.as_ref();
        while let Some(from) = forked.filter(|from| seq <= from.seq) {
            session = &from.session;
            forked = from.before.as_deref();
        }
        session
    }

    /// Puts in force what changes; everything else stays.
    pub fn recompose(&mut self, change: &Recomposed) {
        fn put<T: Clone>(into: &mut T, new: Option<&T>) {
            if let Some(new) = new {
                into.clone_from(new);
            }
        }
        put(&mut self.tools, change.tools.as_ref());
        put(&mut self.deferred, change.deferred.as_ref());
        put(&mut self.skills, change.skills.as_ref());
        put(&mut self.system, change.system.as_ref());
        if let Some(model) = &change.model {
            self.model.clone_from(model);
            self.price.clone_from(&change.price);
            self.cassette = None;
        }
        put(&mut self.policy, change.policy.as_ref());
        put(&mut self.policy_digest, change.policy_digest.as_ref());
        put(&mut self.place, change.place.as_ref());
        put(&mut self.variables, change.variables.as_ref());
    }
}
