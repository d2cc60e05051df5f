//! What a session is made of, held against what it would be made of now: tools, instructions, skills, rules.
//!
//! A session goes on as it began, with one exception: what is stricter counts at once. Whatever else is different counts only
//! with a person's word, and where a session can not go on without it (a tool is gone, or takes other arguments), it is
//! refused until then. What counts is recorded, with the name of whoever said so.

mod rules;

use std::collections::BTreeSet;

use checkrein_contract::{Layer, PolicySource, Recomposed, SessionOpened, Skill, ToolSpec};
use checkrein_session::tools::name_deferred;
use serde_json::Value;

use crate::HarnessError;
use crate::deferral::follows;
use crate::setup::policy_of;

/// The name of what is each session's own, also a sub-session's.
const SPILL: &str = "spill";

/// Something that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What, in a line.
    pub what: String,
    /// When it counts.
    pub counts: Counts,
    /// The text as it was; empty where there was none.
    pub old: String,
    /// The text as it is; empty where there is none.
    pub new: String,
}

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// At once: it is stricter, or harmless.
    AtOnce,
    /// Once a person says so; the session goes on without it.
    WithYourWord,
    /// Once a person says so; the session does not go on before.
    Blocks,
}

/// What a session would be made of if it began now.
pub(crate) struct Now {
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) deferred: Vec<String>,
    pub(crate) skills: Vec<Skill>,
    pub(crate) system: String,
    pub(crate) policy: Vec<PolicySource>,
    /// What rules may name, with the harness's own folders as they are now.
    pub(crate) variables: Vec<(String, String)>,
}

/// All differences, and what becomes of them.
pub(crate) struct Comparison {
    pub(crate) differences: Vec<Difference>,
    /// What counts without anybody's word; `None`: nothing changes.
    pub(crate) at_once: Option<Recomposed>,
    /// What counts with a person's word; `None`: nothing waits for one.
    pub(crate) accepted: Option<Recomposed>,
}

/// Compares. A sub-session has its own choice of tools and its own instructions, from the session that gave it its part;
/// only its rules are compared.
pub(crate) fn compare(opened: &SessionOpened, now: &Now) -> Result<Comparison, HarnessError> {
    let whole = opened.parent.is_none();
    let mut differences = Vec::new();
    let merged = policies(&opened.policy, &now.policy, &mut differences)?;
    let mut at_once = Recomposed::default();
    let mut accepted = Recomposed::default();
    tools(opened, now, whole, &mut differences);
    let mut kept: Vec<ToolSpec> = opened.tools.iter().map(|old| described(old, &now.tools).clone()).collect();
    if kept != opened.tools {
        name_deferred(&mut kept, &opened.skills, &opened.deferred);
    }
    at_once.tools = (kept != opened.tools).then_some(kept);
    if merged != opened.policy {
        at_once.policy = Some(merged);
    }
    if now.variables != opened.variables {
        let what = "the harness keeps its things in other folders, which are guarded now".to_owned();
        differences.push(Difference { what, counts: Counts::AtOnce, old: String::new(), new: String::new() });
        at_once.variables = Some(now.variables.clone());
        accepted.variables.clone_from(&at_once.variables);
    }
    if whole {
        deferred(opened, now, &mut differences);
        words(opened, now, &mut differences);
        accepted.deferred = (now.deferred != opened.deferred).then(|| now.deferred.clone());
        accepted.tools = (now.tools != opened.tools).then(|| now.tools.clone());
        accepted.skills = (now.skills != opened.skills).then(|| now.skills.clone());
        accepted.system = (now.system != opened.system).then(|| now.system.clone());
    }
    if differences.iter().any(|one| one.counts != Counts::AtOnce) {
        // The rules of a session's own layer (of a sub-session, of what the harness supplies) stay as they are.
        let own = opened.policy.iter().filter(|source| source.layer == Layer::Session);
        let others = now.policy.iter().filter(|source| source.layer != Layer::Session);
        let policy: Vec<PolicySource> = others.chain(own).cloned().collect();
        accepted.policy = (policy != opened.policy).then_some(policy);
    }
    let said = |which: fn(Counts) -> bool| -> Vec<String> {
        differences.iter().filter(|one| which(one.counts)).map(|one| one.what.clone()).collect()
    };
    let waits = differences.iter().any(|one| one.counts != Counts::AtOnce);
    (at_once.changes, accepted.changes) = (said(|counts| counts == Counts::AtOnce), said(|_| true));
    let at_once = finished(opened, at_once)?;
    let accepted = if waits { finished(opened, accepted)? } else { None };
    Ok(Comparison { differences, at_once, accepted })
}

/// With the digest of its policy; `None` where it changes nothing.
fn finished(opened: &SessionOpened, mut change: Recomposed) -> Result<Option<Recomposed>, HarnessError> {
    if change.policy.is_some() {
        let mut then = opened.clone();
        then.recompose(&change);
        change.policy_digest = Some(policy_of(&then)?.digest().clone());
    }
    let nothing = Recomposed { changes: change.changes.clone(), ..Recomposed::default() };
    Ok((change != nothing).then_some(change))
}

/// The tool in the words of today, where its arguments are the same.
fn described<'a>(old: &'a ToolSpec, now: &'a [ToolSpec]) -> &'a ToolSpec {
    if follows(&old.name) {
        return old;
    }
    now.iter().find(|new| new.name == old.name && new.parameters == old.parameters).unwrap_or(old)
}

fn tools(opened: &SessionOpened, now: &Now, whole: bool, differences: &mut Vec<Difference>) {
    for old in opened.tools.iter().filter(|old| !follows(&old.name)) {
        let new = now.tools.iter().find(|new| new.name == old.name);
        let (how, counts) = match new {
            None => ("is gone", Counts::Blocks),
            Some(new) if new.parameters != old.parameters => ("takes other arguments", Counts::Blocks),
            Some(new) if new.description != old.description => ("is described in other words", Counts::AtOnce),
            Some(_) => continue,
        };
        let (what, spec) = (format!("tool `{}` {how}", old.name), new.map(spec).unwrap_or_default());
        differences.push(Difference { what, counts, old: self::spec(old), new: spec });
    }
    let added = now
        .tools
        .iter()
        .filter(|new| whole && !follows(&new.name) && !opened.tools.iter().any(|old| old.name == new.name));
    for new in added {
        let what = format!("tool `{}` is new", new.name);
        differences.push(Difference { what, counts: Counts::WithYourWord, old: String::new(), new: spec(new) });
    }
}

/// Which tools are only named, among those that there were and are.
fn deferred(opened: &SessionOpened, now: &Now, differences: &mut Vec<Difference>) {
    let both = |name: &&String| {
        let has = |tools: &[ToolSpec]| tools.iter().any(|spec| spec.name == **name);
        has(&opened.tools) && has(&now.tools)
    };
    let of = |names: &[String]| names.iter().filter(both).map(|name| format!("{name}\n")).collect::<String>();
    let (old, new) = (of(&opened.deferred), of(&now.deferred));
    if old != new {
        let what = "which tools are only named until they are looked up is another choice".to_owned();
        differences.push(Difference { what, counts: Counts::WithYourWord, old, new });
    }
}

fn words(opened: &SessionOpened, now: &Now, differences: &mut Vec<Difference>) {
    if opened.system != now.system {
        let (old, new) = (format!("{}\n", opened.system), format!("{}\n", now.system));
        let what = "the instructions are others".to_owned();
        differences.push(Difference { what, counts: Counts::WithYourWord, old, new });
    }
    let named = |skills: &[Skill], name: &str| skills.iter().find(|skill| skill.name == name).cloned();
    let names: BTreeSet<&String> = opened.skills.iter().chain(&now.skills).map(|skill| &skill.name).collect();
    for name in names {
        let (old, new) = (named(&opened.skills, name), named(&now.skills, name));
        let how = match (&old, &new) {
            (Some(_), None) => "is gone",
            (None, _) => "is new",
            (old, new) if old != new => "is another one",
            _ => continue,
        };
        let text =
            |skill: Option<Skill>| skill.map(|skill| format!("tools: {}\n{}\n", skill.tools.join(", "), skill.body));
        let (old, new) = (text(old).unwrap_or_default(), text(new).unwrap_or_default());
        let what = format!("skill `{name}` {how}");
        differences.push(Difference { what, counts: Counts::WithYourWord, old, new });
    }
}

/// The specification as people compare it: the description, then the arguments line by line.
fn spec(spec: &ToolSpec) -> String {
    let parameters: &Value = &spec.parameters;
    format!("{}\n{}\n", spec.description, serde_json::to_string_pretty(parameters).unwrap_or_default())
}

/// The rules as they hold now: file by file, in the order of the session.
fn policies(
    old: &[PolicySource],
    new: &[PolicySource],
    differences: &mut Vec<Difference>,
) -> Result<Vec<PolicySource>, HarnessError> {
    let same = |a: &PolicySource, b: &PolicySource| a.layer == b.layer && a.file == b.file;
    let mut merged: Vec<PolicySource> = Vec::new();
    let mut names: Vec<&PolicySource> = Vec::new();
    for source in old.iter().chain(new) {
        if source.layer == Layer::Session {
            continue;
        }
        if !names.iter().any(|known| same(known, source)) {
            names.push(source);
        }
    }
    for name in names {
        let before: Vec<&PolicySource> = old.iter().filter(|source| same(source, name)).collect();
        let found = rules::merge(&before, new.iter().find(|source| same(source, name)))?;
        merged.extend(found.sources);
        differences.extend(found.differences);
    }
    merged.extend(old.iter().filter(|source| source.layer == Layer::Session).cloned());
    Ok(merged)
}

/// What a sub-session that is taken up takes over from the session that gave it its part: the rules that are in force
/// there, under its own.
pub(crate) fn inherited(child: &SessionOpened, parent: &SessionOpened) -> Result<Option<Recomposed>, HarnessError> {
    let others = parent.policy.iter().filter(|source| source.layer != Layer::Session);
    let own = child.policy.iter().filter(|source| source.layer == Layer::Session);
    let policy: Vec<PolicySource> = others.chain(own).cloned().collect();
    let of_child = child.variables.iter().filter(|(name, _)| name == SPILL);
    let of_parent = parent.variables.iter().filter(|(name, _)| name != SPILL);
    let variables: Vec<(String, String)> = of_parent.chain(of_child).cloned().collect();
    let (policy, variables) =
        ((policy != child.policy).then_some(policy), (variables != child.variables).then_some(variables));
    if policy.is_none() && variables.is_none() {
        return Ok(None);
    }
    let changes = vec![format!("the rules are those of {} as they are now", parent.session)];
    finished(child, Recomposed { policy, variables, changes, ..Recomposed::default() })
}
