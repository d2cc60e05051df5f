//! Unified diffs for people, bounded. The model does not get them: it knows what it wrote.

use std::time::Duration;

use similar::TextDiff;

use crate::lines::beginning;

/// Longest diff, bytes; what is longer is cut at a line and says so. About two screens.
pub(crate) const MAX_DIFF_BYTES: usize = 8_000;
/// Time for the best diff; after it a coarser one is taken.
const PATIENCE: Duration = Duration::from_millis(500);

/// The diff between two texts; `None` when there is no difference.
pub(crate) fn unified(shown: &str, old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let whole = diff.unified_diff().header(&format!("a/{shown}"), &format!("b/{shown}")).to_string();
    Some(bounded(whole))
}

fn bounded(mut text: String) -> String {
    if text.len() <= MAX_DIFF_BYTES {
        return text;
    }
    let end = beginning(&text, MAX_DIFF_BYTES);
    let left_out = text.len() - end;
    text.truncate(end);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[diff cut at {MAX_DIFF_BYTES} bytes: {left_out} more bytes left out]\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a", "x\n", "x\n"), None);
    }

    /// Shows R69, R74.
    #[test]
    fn a_long_diff_is_cut_at_a_line_and_says_so() {
        let old: String = (0..4_000).map(|n| format!("é {n}\n")).collect();
        let diff = unified("a", &old, &old.replace('é', "ü")).unwrap();
        assert!(diff.len() < MAX_DIFF_BYTES + 100, "{}", diff.len());
        let last = diff.lines().last().unwrap();
        assert!(last.starts_with("[diff cut at 8000 bytes: ") && last.ends_with(" more bytes left out]"), "{last}");
        let one_line = unified("a", "", &"é".repeat(20_000)).unwrap();
        assert!(one_line.contains("diff cut") && one_line.len() < MAX_DIFF_BYTES + 100, "{}", one_line.len());
    }
}
