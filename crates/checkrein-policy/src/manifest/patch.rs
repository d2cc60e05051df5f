//! Patches as other agents write them (`*** Begin Patch`): which files one adds, changes, moves and removes.
//!
//! A header counts wherever it begins a line, blanks before it or not. Only among the lines of an update do blanks make it a
//! line of context, which is how Codex reads it (0.171).

/// What a patch does to one path, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change<'p> {
    Write(&'p str),
    Delete(&'p str),
}

/// All changes in order; none at all: it is no patch.
pub(super) fn changes(patch: &str) -> Vec<Change<'_>> {
    let (mut changes, mut updated) = (Vec::new(), None);
    let mut in_update = false;
    for line in patch.lines() {
        if in_update && line.starts_with(char::is_whitespace) {
            continue;
        }
        let line = line.trim();
        in_update |= line.starts_with("*** Update File:");
        in_update &= !["*** Add File:", "*** Delete File:"].iter().any(|header| line.starts_with(header));
        let named = |header: &str| line.strip_prefix(header).map(|path| path.strip_prefix(' ').unwrap_or(path));
        if let Some(path) = named("*** Add File:") {
            changes.push(Change::Write(path));
        } else if let Some(path) = named("*** Update File:") {
            updated = Some(path);
            changes.push(Change::Write(path));
        } else if let Some(path) = named("*** Delete File:") {
            changes.push(Change::Delete(path));
        } else if let Some(path) = named("*** Move to:") {
            // The old name goes.
            changes.extend(updated.take().map(Change::Delete));
            changes.push(Change::Write(path));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_found() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt \n+x\n *** Delete File: gone\r\n*** Update File: old\n\
                     *** Move to: new\n@@\n-a\n+b\n*** End Patch\n";
        let found = [
            Change::Write("a b.txt"),
            Change::Delete("gone"),
            Change::Write("old"),
            Change::Delete("old"),
            Change::Write("new"),
        ];
        assert_eq!(changes(patch), found);
        let context = "*** Update File: a\n@@\n-a\n *** Delete File: b\n\t*** Move to: c\n*** Delete File: d";
        assert_eq!(changes(context), [Change::Write("a"), Change::Delete("d")]);
        assert!(changes("rm -rf /").is_empty());
    }
}
