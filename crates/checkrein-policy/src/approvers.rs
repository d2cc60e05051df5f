//! Who may say yes: `[approvals]` of a policy file, and `approvers` of a rule that asks.
//!
//! Every layer may demand more and none takes anything back: four eyes are demanded where one file says so, and a person must
//! be let in by each rule that asks. Who has a role is said once: two files that say it are a mistake of one of them.

use std::collections::BTreeMap;

use checkrein_contract::{Approvers, Decision, RolesAsked, Verdict, Winner};
use checkrein_toml::{FileError, Source, Spanned, nearest};
use serde::Deserialize;

use crate::Policy;
use crate::file::RuleFile;
use crate::policy::Rule;

/// The table, as `serde` reads it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalsFile {
    #[serde(default)]
    four_eyes: bool,
    #[serde(default)]
    roles: BTreeMap<Spanned<String>, Vec<String>>,
}

/// What all files together say.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    four_eyes: bool,
    /// The people who have a role, and the file that says so.
    roles: BTreeMap<String, (Vec<String>, String)>,
}

impl Approvals {
    /// Takes the table of one file.
    pub(crate) fn add(&mut self, source: Source<'_>, table: &ApprovalsFile) -> Result<(), FileError> {
        self.four_eyes |= table.four_eyes;
        for (role, people) in &table.roles {
            let (name, at) = (role.get_ref(), role.span().start);
            if people.is_empty() || people.iter().any(|person| person.trim().is_empty()) {
                return Err(source.error(at, format!("role `{name}` needs the names of people who have it")));
            }
            if let Some((_, file)) = self.roles.get(name) {
                return Err(source.error(at, format!("who has the role `{name}` is said in {file} already")));
            }
            self.roles.insert(name.clone(), (people.clone(), source.file.to_owned()));
        }
        Ok(())
    }

    /// Whether every role that a rule names has people. Asked when all files are read.
    pub(crate) fn check<'a>(&self, rules: impl Iterator<Item = &'a Rule>) -> Result<(), FileError> {
        for Rule { origin, approvers, .. } in rules {
            if let Some(role) = approvers.iter().find(|role| !self.roles.contains_key(*role)) {
                let near = nearest(role, self.roles.keys().map(String::as_str));
                let message = format!(
                    "rule `{}` wants the yes of a `{role}`, and no `[approvals]` says who that is, so nobody could give it",
                    origin.rule
                );
                return Err(FileError { file: origin.file.clone(), line: origin.line, message, near });
            }
        }
        Ok(())
    }
}

/// The roles of a rule, one of which a person must have.
pub(crate) fn of_rule(source: Source<'_>, rule: &RuleFile, verdict: Verdict) -> Result<Vec<String>, FileError> {
    let Some(roles) = &rule.approvers else { return Ok(Vec::new()) };
    let (id, at) = (rule.id.get_ref(), roles.span().start);
    if verdict != Verdict::Ask {
        return Err(source.error(at, format!("rule `{id}`: `approvers` is for `decision = \"ask\"`")));
    }
    if roles.get_ref().is_empty() {
        return Err(source.error(at, format!("rule `{id}`: `approvers` is empty, so nobody could say yes")));
    }
    Ok(roles.get_ref().clone())
}

impl Policy {
    /// Whether whoever a session acts for may not say yes to its calls.
    pub fn wants_four_eyes(&self) -> bool {
        self.approvals.four_eyes
    }

    /// Who may say yes to a call that was decided so: whoever every rule lets in that asks, be it the one that won or one
    /// that asked as well.
    pub fn approvers(&self, decision: &Decision) -> Approvers {
        let mut roles: Vec<RolesAsked> = Vec::new();
        for step in decision.trace.iter().filter(|step| step.decision == Verdict::Ask) {
            let winner = match &step.winner {
                Winner::Rule(rule) => Some(rule),
                _ => None,
            };
            for asking in winner.into_iter().chain(&step.also) {
                let rules = self.layers.iter().flat_map(|layer| &layer.rules);
                let wanted = rules.filter(|rule| rule.origin == *asking).flat_map(|rule| &rule.approvers);
                let wanted: Vec<String> = wanted.cloned().collect();
                let known = wanted.iter().filter_map(|role| self.approvals.roles.get(role));
                let mut people: Vec<String> = known.flat_map(|(people, _)| people.clone()).collect();
                people.sort();
                people.dedup();
                let asked = RolesAsked { rule: asking.rule.clone(), roles: wanted, people };
                if !asked.roles.is_empty() && !roles.contains(&asked) {
                    roles.push(asked);
                }
            }
        }
        Approvers { four_eyes: self.approvals.four_eyes, roles }
    }
}
