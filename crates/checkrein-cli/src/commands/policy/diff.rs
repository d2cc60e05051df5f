//! Which recorded decisions change between two policies.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{Decision, PolicySource, SessionId};
use checkrein::journal::EventStore;
use checkrein::past::{Difference, Past, differences};
use checkrein::policy::fixtures::{self, Fixtures, Judge};
use checkrein::policy::{Models, Source, floor, foreign_tools};
use serde_json::json;

use super::super::policy_file::{read, source};
use crate::arguments::PolicyDiff;
use crate::context::Context;
use crate::view::{call_in_a_line, print_differences, recorded_call};

/// Calls with the decision that each policy gives.
#[derive(Default)]
struct Compared {
    names: Vec<String>,
    before: Vec<Decision>,
    after: Vec<Decision>,
}

pub(super) fn run(arguments: &PolicyDiff, context: &Context) -> Result<u8, HarnessError> {
    let (old, new) = (source(&arguments.old)?, source(&arguments.new)?);
    let mut all = Compared::default();
    let (files, names): (Vec<&String>, Vec<&String>) =
        arguments.against.iter().partition(|one| Path::new(one).is_file());
    for file in &files {
        recorded(Path::new(file), &old, &new, &mut all)?;
    }
    if files.is_empty() || !names.is_empty() {
        let store = context.store()?;
        let past = Past::read(&*store, &sessions(&*store, names.into_iter().map(String::as_str), context)?)?;
        all.names.extend(past.calls().iter().map(recorded_call));
        all.before.extend(past.judged(Some(&old))?);
        all.after.extend(past.judged(Some(&new))?);
    }
    let found = differences(&all.before, &all.after);
    let mut out = context.out();
    if arguments.json {
        print_json(&mut *out, &found, &all);
    } else {
        print_differences(&mut *out, &found, &all.names);
    }
    Ok(match (found.is_empty(), found.iter().any(Difference::loosens)) {
        (true, _) => 0,
        (false, false) => 10,
        (false, true) => 11,
    })
}

/// The sessions of these names; all that can be read where there is none, oldest first.
pub(super) fn sessions<'n>(
    store: &dyn EventStore,
    names: impl Iterator<Item = &'n str>,
    context: &Context,
) -> Result<Vec<SessionId>, HarnessError> {
    let named: Vec<SessionId> = names.map(|name| store.find(name)).collect::<Result<_, _>>()?;
    if !named.is_empty() {
        return Ok(named);
    }
    let mut all: Vec<SessionId> = store.sessions()?.into_iter().map(|row| row.id).collect();
    all.reverse();
    let pruned = checkrein::prune::pruned(store)?;
    if !pruned.is_empty() {
        let names: Vec<&str> = pruned.iter().map(SessionId::as_str).collect();
        context.complain(&format!("pruned, so they can not be judged again: {}", names.join(", ")));
    }
    all.retain(|session| !pruned.contains(session));
    Ok(all)
}

/// Judges the calls of a file by both.
fn recorded(path: &Path, old: &PolicySource, new: &PolicySource, all: &mut Compared) -> Result<(), HarnessError> {
    let (text, name) = (read(path)?, path.display().to_string());
    let Fixtures { world, all: calls, .. } = fixtures::read(Source { file: &name, text: &text })?;
    let judge = |policy: &PolicySource| -> Result<Judge, HarnessError> {
        let policies = BTreeMap::from([(String::new(), vec![floor(), policy.clone()])]);
        Ok(Judge::new(policies, foreign_tools()?, Models::built_in().clone(), world.clone()))
    };
    let (mut one, mut other) = (judge(old)?, judge(new)?);
    for mut fixture in calls {
        // Whichever policy it was recorded under, these two are compared.
        fixture.policy = None;
        if let (Some(before), Some(after)) = (one.judge(&fixture)?, other.judge(&fixture)?) {
            let call = fixture.call();
            all.names.push(format!("{}  {} {}", fixture.note, call.tool, call_in_a_line(&call.args)));
            all.before.push(before.decision);
            all.after.push(after.decision);
        }
    }
    Ok(())
}

fn print_json(out: &mut dyn Write, found: &[Difference], all: &Compared) {
    for one in found {
        let calls: Vec<&String> = one.calls.iter().filter_map(|call| all.names.get(*call)).collect();
        let line = json!({
            "from": one.from, "to": one.to, "looser": one.loosens(), "old": one.old, "new": one.new, "calls": calls,
        });
        _ = writeln!(out, "{line}");
    }
    let changed: usize = found.iter().map(|one| one.calls.len()).sum();
    _ = writeln!(out, "{}", json!({ "total": all.names.len(), "changed": changed }));
}
