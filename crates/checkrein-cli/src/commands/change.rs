//! A change to a person's file: shown as a diff, and made after a yes.

use std::io::Write as _;
use std::path::Path;

use checkrein::HarnessError;
use similar::TextDiff;

use crate::context::Context;
use crate::view::printable;

/// Shows the change and asks, unless the person said yes beforehand. Whether it is to be made.
pub(super) fn agreed(context: &Context, path: &Path, old: &str, new: &str, yes: bool) -> Result<bool, HarnessError> {
    let diff = TextDiff::from_lines(old, new);
    let name = path.display().to_string();
    _ = write!(context.out(), "{}", printable(&diff.unified_diff().header(&name, &name).to_string()));
    if yes { Ok(true) } else { context.confirmed("Make this change?") }
}
