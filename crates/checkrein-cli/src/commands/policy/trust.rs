//! Trust: a policy that a project brings along may only tighten, until a person has read it and says otherwise.

use std::io::Write as _;
use std::path::PathBuf;

use checkrein::HarnessError;
use checkrein::contract::{Digest, Identity};

use super::super::policy_file::{read, source};
use crate::arguments::PolicyTrust;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyTrust, context: &Context) -> Result<u8, HarnessError> {
    let path = arguments.file.clone().unwrap_or_else(|| PathBuf::from(".checkrein/policy.toml"));
    let text = read(&path)?;
    let digest = Digest::of(text.as_bytes());
    let place = context.place(context.folder());
    // Nobody is asked to trust a file with a mistake in it.
    let policy =
        checkrein::policy_for(&checkrein::PolicyFiles::default(), &[source(&path)?], &place, &Identity::default())?;
    let mut out = context.out();
    _ = writeln!(out, "{}\n{}", path.display(), printable(&text));
    let question = format!("Trust this policy of {} rules, as it is, to allow things as well?", policy.rule_count());
    if !arguments.yes && !context.confirmed(&question)? {
        return Ok(1);
    }
    let path = path.canonicalize().unwrap_or(path);
    context.trust(&path, &digest)?;
    _ = writeln!(out, "trusted  {}  {digest}", path.display());
    _ = writeln!(out, "A change to the file ends this.");
    Ok(0)
}
