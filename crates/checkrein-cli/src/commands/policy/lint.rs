//! Rules that do nothing.

use std::io::Write as _;
use std::path::PathBuf;

use checkrein::contract::{Identity, PolicySource};
use checkrein::{HarnessError, PolicyFiles, PolicyFolder, policy_for};
use serde_json::json;

use super::super::policy_file::source;
use crate::arguments::PolicyLint;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyLint, context: &Context) -> Result<u8, HarnessError> {
    let place = context.place(context.folder());
    let mut policies: Vec<(PolicyFiles, Vec<PolicySource>)> = Vec::new();
    for path in &arguments.files {
        if path.is_dir() {
            policies.extend(PolicyFolder::read(path)?.policies.into_values().map(|own| (PolicyFiles::default(), own)));
        } else {
            policies.push((PolicyFiles::default(), vec![source(path)?]));
        }
    }
    if policies.is_empty() {
        let own = PathBuf::from(".checkrein/policy.toml");
        let own = if own.is_file() { vec![source(&own)?] } else { Vec::new() };
        policies.push((context.policies()?, own));
    }
    let mut out = context.out();
    let (mut rules, mut found) = (0, 0);
    for (files, own) in &policies {
        let policy = policy_for(files, own, &place, &Identity::default())?;
        rules += policy.rule_count();
        for lint in policy.lint() {
            found += 1;
            let (rule, problem) = (&lint.rule, printable(&lint.problem));
            if arguments.json {
                let line = json!({"rule": rule.rule, "file": rule.file, "line": rule.line, "layer": rule.layer, "problem": problem});
                _ = writeln!(out, "{line}");
            } else {
                _ = writeln!(out, "{}:{}: rule `{}`: {problem}", rule.file, rule.line, rule.rule);
            }
        }
    }
    if !arguments.json {
        _ = writeln!(out, "{rules} rules looked at, {found} that do nothing");
    }
    Ok(u8::from(found > 0))
}
