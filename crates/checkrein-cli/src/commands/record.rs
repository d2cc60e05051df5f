//! `record`: a session's calls as fixtures.

use std::io::Write as _;

use checkrein::HarnessError;
use checkrein::past::{Past, fixtures};

use crate::arguments::Record;
use crate::context::Context;

pub(super) fn run(arguments: &Record, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let session = store.find(&arguments.session)?;
    let past = Past::read(&*store, &[session])?;
    let mut out = context.out();
    for line in fixtures(&past)? {
        _ = writeln!(out, "{line}");
    }
    Ok(0)
}
