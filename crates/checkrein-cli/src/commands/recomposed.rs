//! What a session is made of is not what it was: shown as a diff, and asked about where a person sits.

use std::io::Write as _;

use checkrein::contract::SessionId;
use checkrein::{Counts, Difference, Harness, HarnessError};
use similar::TextDiff;

use crate::context::Context;
use crate::view::printable;

/// Whether the person says that all of it may count. What is stricter counts anyway.
pub(super) fn accepted(
    harness: &Harness,
    session: &SessionId,
    said: bool,
    json: bool,
    context: &Context,
) -> Result<bool, HarnessError> {
    let differences = harness.differences(session)?;
    let waiting: Vec<&Difference> = differences.iter().filter(|one| one.counts != Counts::AtOnce).collect();
    if waiting.is_empty() || json {
        return Ok(said);
    }
    let blocks = waiting.iter().any(|one| one.counts == Counts::Blocks);
    if said || context.interactive || blocks {
        show(&waiting, context);
    }
    if said {
        return Ok(true);
    }
    if context.interactive {
        return context.confirmed("This is not what the session began with. Let it count from here on?");
    }
    if !blocks {
        let mut out = context.out();
        for one in waiting {
            _ = writeln!(out, "not counted: {}", printable(&one.what));
        }
        _ = writeln!(out, "  to let it count: {} resume {session} --accept-changes", context.program);
    }
    Ok(false)
}

fn show(differences: &[&Difference], context: &Context) {
    let mut out = context.out();
    for one in differences {
        _ = writeln!(out, "{}", printable(&one.what));
        let diff = TextDiff::from_lines(&one.old, &one.new);
        for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
            for line in hunk.to_string().lines().filter(|line| !line.starts_with("@@")) {
                _ = writeln!(out, "  {}", printable(line));
            }
        }
    }
}
