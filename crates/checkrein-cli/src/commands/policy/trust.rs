//! Trust: a policy that a project brings along may only tighten, until a person has read it and says otherwise.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;

use checkrein::HarnessError;
use checkrein::contract::Digest;

use super::super::usage;
use super::{read, source};
use crate::arguments::PolicyTrust;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyTrust, context: &Context) -> Result<u8, HarnessError> {
    let path = arguments.file.clone().unwrap_or_else(|| PathBuf::from(".checkrein/policy.toml"));
    let text = read(&path)?;
    let digest = Digest::of(text.as_bytes());
    let place = context.place(context.folder());
    // Nobody is asked to trust a file with a mistake in it.
    let policy = checkrein::policy_for(&checkrein::PolicyFiles::default(), &[source(&path)?], &place)?;
    let mut out = context.out();
    _ = writeln!(out, "{}\n{}", path.display(), printable(&text));
    if !arguments.yes {
        if !context.interactive {
            return Err(usage("nobody can be asked here; read the file, then say --yes"));
        }
        _ = write!(
            out,
            "Trust this policy of {} rules, as it is, to allow things as well? [y/N] ",
            policy.rule_count()
        );
        _ = out.flush();
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        if read.is_err() || !matches!(answer.trim(), "y" | "yes") {
            _ = writeln!(out, "not trusted");
            return Ok(1);
        }
    }
    let path = path.canonicalize().unwrap_or(path);
    context.trust(&path, &digest)?;
    _ = writeln!(out, "trusted  {}  {digest}", path.display());
    _ = writeln!(out, "A change to the file ends this.");
    Ok(0)
}
