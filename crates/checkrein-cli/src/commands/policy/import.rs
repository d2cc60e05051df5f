//! Rules of other agents, carried over.

use std::io::Write as _;

use checkrein::import::{Imported, import};
use checkrein::{HarnessError, replace_file};

use super::super::policy_file::read;
use super::super::usage;
use crate::arguments::PolicyImport;
use crate::context::Context;
use crate::view::printable;

pub(super) fn run(arguments: &PolicyImport, context: &Context) -> Result<u8, HarnessError> {
    let text = read(&arguments.file)?;
    let Imported { policy, rules, left } = import(arguments.agent.into(), &arguments.file, &text)?;
    let mut out = context.out();
    let Some(to) = &arguments.to else {
        _ = write!(out, "{}", printable(&policy));
        return Ok(0);
    };
    if to.exists() {
        return Err(usage(format!("{} is there already; name another file, and join them by hand", to.display())));
    }
    replace_file(to, &policy)?;
    let rules = if rules == 1 { "1 rule".to_owned() } else { format!("{rules} rules") };
    _ = writeln!(out, "{rules} written to {}", to.display());
    for one in &left {
        _ = writeln!(out, "not carried over: {}", printable(one));
    }
    Ok(0)
}
